import re
from pathlib import Path
from typing import get_args

import orjson

from agentls.cli.sessions_plain import as_text
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.events.kinds import (
    AttachedEvent,
    EphemeralEvent,
    MessageEvent,
    RecordEvent,
    SessionEvent,
)
from agentls.sessions.folder import FolderStore
from agentls.sessions.loading import load
from agentls.sessions.records import envelope_line, header_line, summary_line
from agentls.state.selectors import summary

GUIDE = Path(__file__).parents[2] / "protocol-docs" / "session-format.md"
ID = "20261130-145635-9f2c41"


def example() -> list[bytes]:
    """The lines of the guide's example log."""
    [block] = re.findall(r"^```jsonl\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    return block.encode().splitlines()


def stored(folder: Path, lines: list[bytes]) -> FolderStore:
    sessions = folder / ".agentls" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / f"{ID}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return FolderStore(folder / ".agentls")


def named(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def test_example_loads_without_damage_as_it_says(tmp_path: Path) -> None:
    store = stored(tmp_path, example())
    loaded = load(store, ID, whole=True)
    assert (loaded.damage, loaded.message_count_difference, loaded.seq) == ((), None, 15)
    assert as_text(loaded.state).split("\n")[0] == "Lines of a.txt"
    assert as_text(loaded.state).split("\n")[-2] == "  How many words has a.txt?"
    [shown] = store.list()
    assert (shown.id, shown.title, shown.message_count) == (ID, "Lines of a.txt", 1)


def test_example_before_the_rewind_is_the_other_branch(tmp_path: Path) -> None:
    rewound = load(stored(tmp_path / "rewound", example()[:15]), ID, whole=True)
    assert [point.head for point in rewound.state.redo] == ["msg_3"]
    assert len(rewound.state.history) == 0
    loaded = load(stored(tmp_path, example()[:14]), ID, whole=True)
    assert [line.strip() for line in as_text(loaded.state).split("\n")[3:] if line] == [
        "You · 2026-11-30 14:56 · msg_1",
        "How many lines has a.txt?",
        "Agent · a-model",
        "I count them.",
        "- Bash: Ran wc -l a.txt (done)",
        "Three.",
    ]


def test_example_is_what_is_written(tmp_path: Path) -> None:
    header, *lines, last = example()
    assert header + b"\n" == header_line(ID)
    for line in lines:
        assert envelope_line(Envelope.model_validate_json(line)) == line + b"\n"
    state = load(stored(tmp_path, example()), ID, whole=True).state
    at = orjson.loads(last)["at"]
    assert summary_line(summary(state, at), at) == last + b"\n"


def test_every_event_is_in_the_guide_under_its_kind() -> None:
    """Adding an event means adding it to the table in protocol-docs/session-format.md."""
    guide = GUIDE.read_text()
    rows = dict(
        re.findall(r"^\| (message|attached|session|record)\b.*?\|.*?\| (.*) \|$", guide, re.M)
    )
    passing = re.search(r"never kept: (.*?)\.", guide)
    assert passing is not None
    kinds = {
        "message": MessageEvent, "attached": AttachedEvent, "record": RecordEvent,
        "session": SessionEvent,
    }  # fmt: skip
    told = {name: named(rows[name]) for name in kinds} | {"passing": named(passing[1])}
    found: dict[str, set[str]] = {name: set() for name in told}
    for event in get_args(SessionEvents):
        kind = next((name for name, base in kinds.items() if issubclass(event, base)), "passing")
        assert kind != "passing" or issubclass(event, EphemeralEvent)
        found[kind].add(event.model_fields["type"].default)
    assert told == found
