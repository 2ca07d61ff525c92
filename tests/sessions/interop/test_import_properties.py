"""Whatever is lost, repeated or moved of a file of Claude Code, what is imported is a session."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.errors import ImportRefused
from agentls.llm.normalise import Conversation
from agentls.protocol.content import ToolCallPart
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    AnswerFinished,
    ToolCallFinished,
    TurnFinished,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import AttachedEvent, MessageEvent
from agentls.sessions.chain import replay
from agentls.sessions.interop.imports import read_import
from tests.support.api_rules import violations

FILES = Path(__file__).parent / "claude_code"
LINES = tuple(
    line
    for name in ("plain", "many_shapes", "branches", "compacted", "subagents")
    for line in (FILES / f"{name}.jsonl").read_bytes().splitlines()
)
COMPACTED = tuple((FILES / "compacted.jsonl").read_bytes().splitlines())


def check_is_a_session(envelopes: Sequence[Envelope]) -> None:
    """Numbers, ids, parents and results are as in a session that was never damaged."""
    assert [envelope.seq for envelope in envelopes] == [*range(1, len(envelopes) + 1)]
    messages: set[str] = set()
    calls: set[str] = set()
    finished: set[str] = set()
    for envelope in envelopes:
        match envelope.event:
            case MessageEvent() as message:
                assert message.id not in messages
                messages.add(message.id)
            case AttachedEvent() as attached:
                assert attached.parent in messages
            case _:
                pass
        match envelope.event:
            case AnswerFinished() as answer:
                own = {part.id for part in answer.parts if isinstance(part, ToolCallPart)}
                assert not own & calls
                calls |= own
            case ToolCallFinished() as end:
                assert end.call_id in calls - finished
                finished.add(end.call_id)
            case ConversationCompacted() as cut:
                assert cut.logical_parent is None or cut.logical_parent in messages
            case _:
                pass
    assert calls == finished
    _check_counts(envelopes)


def _check_counts(envelopes: Sequence[Envelope]) -> None:
    """Each turn that ends has counted what a reader finds who stops there, and can be sent."""
    for place, envelope in enumerate(envelopes):
        if isinstance(envelope.event, TurnFinished):
            state = replay(envelopes[: place + 1])
            assert envelope.event.message_count == len(state.history)
            assert state.turn is None
            assert violations(Conversation().messages(state.history)) == []


def imported(lines: Sequence[bytes]) -> bool:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(b"\n".join(lines))
        try:
            logs, report = read_import(path)
        except ImportRefused:
            return False
    for envelopes in logs.values():
        check_is_a_session(envelopes)
    assert report.prompts > 0
    return True


def test_files_as_they_are_make_sessions() -> None:
    for path in sorted(FILES.glob("*.jsonl")):
        logs, _ = read_import(path)
        for envelopes in logs.values():
            check_is_a_session(envelopes)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_lines_of_several_files_in_any_order_make_a_session(lines: list[bytes]) -> None:
    imported(lines)


@settings(max_examples=150, deadline=None)
@given(st.sets(st.integers(0, len(COMPACTED) - 1)), st.integers(0, 200))
def test_file_with_holes_and_a_torn_end_makes_a_session(holes: set[int], cut: int) -> None:
    kept = [line for number, line in enumerate(COMPACTED) if number not in holes]
    if kept and cut:
        kept[-1] = kept[-1][:-cut]
    imported(kept)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=6)), max_size=12))
def test_file_with_bytes_overwritten_makes_a_session(writes: list[tuple[int, bytes]]) -> None:
    data = bytearray(b"\n".join(COMPACTED))
    for place, written in writes:
        data[place % len(data) : place % len(data) + len(written)] = written
    imported([bytes(data)])
