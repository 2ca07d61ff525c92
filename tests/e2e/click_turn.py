"""A turn of six tool calls in the source of click, and all that must come of it.

The task: click says "Aborted!" where the user stops it, and shall say it in other words.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.mocks import Answer

PROMPT = "Let click say that the user stopped it, in place of Aborted!"
CORE = "src/click/core.py"
EXCEPTIONS = "src/click/exceptions.py"
OLD = 'echo(_("Aborted!"), file=sys.stderr)'
NEW = 'echo(_("Stopped by the user · at once."), file=sys.stderr)'
COMMAND = "rm -rf docs"
WHY_NOT = "the documentation stays"
TODO_INPUT = [
    {"content": "Find the text", "activeForm": "Finding the text", "status": "completed"},
    {"content": "Change it", "activeForm": "Changing it", "status": "in_progress"},
    {"content": "Tidy up", "activeForm": "Tidying up", "status": "pending"},
]
TODOS = [
    {"content": "Find the text", "activeForm": "Finding the text", "status": "completed"},
    {"content": "Change it", "activeForm": "Changing it", "status": "inProgress"},
    {"content": "Tidy up", "activeForm": "Tidying up", "status": "pending"},
]
LAST_WORDS = (
    "Done: where the user stops it, click now says “Stopped by the user · at once.”. "
    "I left `docs` alone, as you wished.\n\n"
) + "Nothing else in src/click/core.py has changed. " * 8

ANSWERS: list[Answer] = [
    {
        "text": "I will look at where click aborts.",
        "calls": [
            {
                "id": "toolu_read_core",
                "name": "Read",
                "input": {"file_path": CORE, "offset": 1410, "limit": 30},
            },
            {
                "id": "toolu_read_exceptions",
                "name": "Read",
                "input": {"file_path": EXCEPTIONS, "offset": 285, "limit": 24},
            },
        ],
        "usage": (2101, 61),
    },
    {
        "calls": [
            {
                "id": "toolu_grep",
                "name": "Grep",
                "input": {"pattern": "Aborted!", "output_mode": "content"},
            }
        ],
        "usage": (3202, 32),
    },
    {
        "calls": [{"id": "toolu_todo", "name": "TodoWrite", "input": {"todos": TODO_INPUT}}],
        "usage": (3303, 93),
    },
    {
        "text": "Now the edit.",
        "calls": [
            {
                "id": "toolu_edit",
                "name": "Edit",
                "input": {"file_path": CORE, "old_string": OLD, "new_string": NEW},
            }
        ],
        "usage": (3404, 74),
    },
    {
        "calls": [{"id": "toolu_bash", "name": "Bash", "input": {"command": COMMAND}}],
        "usage": (3505, 25),
    },
    {"text": LAST_WORDS, "usage": (3606, 106)},
]
MORE_PROMPT = "And is there anything else to do?"
MORE_ANSWERS: list[Answer] = [{"text": "Nothing else. " * 5, "usage": (3707, 17)}]
SPLIT_PROMPT = "Wave at me."
SPLIT_ANSWER = "Hello 👋👋👋 and 👋👋👋, or 👋👋👋👋."
"""aimock cuts answers into pieces of six UTF-16 units, and so some of these in two."""
SPLIT_ANSWERS: list[Answer] = [{"text": SPLIT_ANSWER, "usage": (11, 22)}]

CALLS = [call for answer in ANSWERS for call in answer.get("calls", ())]
TOOLS_CALLED = [call["name"] for call in CALLS]
INPUT_TOKENS = sum(answer["usage"][0] for answer in ANSWERS)
OUTPUT_TOKENS = sum(answer["usage"][1] for answer in ANSWERS)


class ClickTree:
    """A copy of the source, and what it held before the turn."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.before = self._contents()

    def changed(self) -> dict[str, bytes | None]:
        """Return the files that differ from before, with what they hold now; None: gone."""
        now = self._contents()
        names = self.before.keys() | now.keys()
        return {name: now.get(name) for name in names if now.get(name) != self.before.get(name)}

    def edited_core(self) -> bytes:
        """Return what core.py must hold: the one span changed, every other byte as it was."""
        before = self.before[CORE]
        assert before.count(OLD.encode()) == 1
        return before.replace(OLD.encode(), NEW.encode())

    def page(self, name: str, first: int, count: int) -> list[str]:
        """Return lines of a file as it was before, each with its number and a tab."""
        lines = self.before[name].decode().splitlines()[first - 1 : first - 1 + count]
        return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]

    def found(self, text: str) -> set[str]:
        """Return the lines that hold `text` as Grep shows them: name, number, line."""
        return {
            f"{name}:{number}:{line}"
            for name, data in self.before.items()
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1)
            if text in line
        }

    def _contents(self) -> dict[str, bytes]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        named = {path.relative_to(self.folder).as_posix(): path for path in files}
        return {
            name: path.read_bytes()
            for name, path in named.items()
            if not name.startswith(".agentls/")
        }


def check_results(results: list[tuple[str, str]], tree: ClickTree, *, why_denied: str) -> None:
    """Check what the model was told of each call, as (tool, text), in the order of the calls."""
    assert [name for name, _ in results] == TOOLS_CALLED
    read_core, read_exceptions, grep, todo, edit, bash = (text for _, text in results)
    assert read_core.splitlines()[:30] == tree.page(CORE, 1410, 30)
    assert read_exceptions.splitlines()[:24] == tree.page(EXCEPTIONS, 285, 24)
    assert tree.found("Aborted!") <= set(grep.splitlines())
    assert todo == "The plan has 3 steps: 1 pending, 1 in_progress, 1 completed."
    assert edit.startswith(f"Edited {CORE} in 1 place (+1 -1 lines).")
    assert NEW in edit
    assert bash == f"{why_denied} Do not try it in another way."


def check_requests_of_the_api(bodies: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Check that the bodies are what the Messages API takes; return the last one's results."""
    for before, after in pairwise(bodies):
        assert _plain(after["messages"])[: len(before["messages"])] == _plain(before["messages"])
    for body in bodies:
        assert body["stream"] is True
        assert body["max_tokens"] > 0
        assert {tool["name"] for tool in body["tools"]} >= set(TOOLS_CALLED)
        assert all(tool["input_schema"]["type"] == "object" for tool in body["tools"])
        assert body["system"][0]["text"]
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        for message, answer in zip(body["messages"][1::2], body["messages"][2::2], strict=True):
            called = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
            given = answer["content"][: len(called)]
            assert [block.get("tool_use_id") for block in given] == called
            rest = answer["content"][len(called) :]
            assert all(block["type"] == "text" for block in rest)
    return _results_in(bodies[-1]["messages"])


def _results_in(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    blocks = [block for message in messages for block in message["content"]]
    names = {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
    return [
        (names[block["tool_use_id"]], "".join(part["text"] for part in block["content"]))
        for block in blocks
        if block["type"] == "tool_result"
    ]


def _plain(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages without the marks that say how far a cache may reach."""
    return [
        message
        | {"content": [{k: v for k, v in b.items() if k != "cache_control"} for b in content]}
        for message in messages
        for content in [message["content"]]
    ]
