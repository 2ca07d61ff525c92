from collections.abc import Callable
from typing import Any

import pytest

from agentls.llm.model import ModelRequest, ToolSpec
from agentls.llm.offline import BANNER, OfflineModel
from agentls.tools.registry import default_tools
from tests.support.scenarios import calls_of, collect, text_of

TOOLS = ("Read", "Write", "Edit", "Bash", "Grep", "Glob", "LS", "TodoWrite")
Result = str | tuple[str, bool]
"""What a tool says, and whether it failed."""


def request(messages: list[dict[str, Any]], tools: tuple[str, ...] = TOOLS) -> ModelRequest:
    specs = tuple(ToolSpec(name, f"The tool {name}.", {}) for name in tools)
    return ModelRequest("offline", "Be brief.", tuple(messages), specs)


async def converse(
    prompt: str,
    tools: Callable[[str, dict[str, Any]], Result] = lambda name, arguments: "fine",
    *,
    before: tuple[dict[str, Any], ...] = (),
) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return each answer of a turn: its text and its calls."""
    messages = [*before, {"role": "user", "content": [{"type": "text", "text": prompt}]}]
    answers: list[tuple[str, list[tuple[str, Any]]]] = []
    registry = {tool.name: tool for tool in default_tools()}
    while not answers or answers[-1][1]:
        events = await collect(OfflineModel(), request(messages))
        answers.append((text_of(events), calls_of(events)))
        starts = [e["content_block"] for e in events if e["type"] == "content_block_start"]
        ids = [block["id"] for block in starts if block["type"] == "tool_use"]
        content: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for call_id, (name, arguments) in zip(ids, answers[-1][1], strict=True):
            registry[name].input_type.model_validate(arguments)
            said = tools(name, arguments)
            text, failed = said if isinstance(said, tuple) else (said, False)
            call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            result = [{"type": "text", "text": text}]
            content.append(call)
            results.append({
                "type": "tool_result", "tool_use_id": call_id, "content": result,
                "is_error": failed,
            })  # fmt: skip
        messages += [
            {"role": "assistant", "content": content},
            {"role": "user", "content": results},
        ]
    return answers


def statuses(call: tuple[str, Any]) -> list[str]:
    assert call[0] == "TodoWrite"
    return [todo["status"] for todo in call[1]["todos"]]


async def test_first_line_says_what_it_is_and_later_answers_do_not_repeat_it() -> None:
    first, last = await converse("read a.py", lambda name, arguments: "1\tprint()")

    assert first == (f"{BANNER}\n\nReading a.py.", [("Read", {"file_path": "a.py"})])
    assert last == ("Read a.py:\n\n```\n1\tprint()\n```", [])


async def test_next_turn_says_it_again() -> None:
    before = (
        {"role": "user", "content": "list"},
        {"role": "assistant", "content": [{"type": "text", "text": "Listed."}]},
    )
    first, *_ = await converse("run ls", before=before)

    assert first == (f"{BANNER}\n\nRunning `ls`.", [("Bash", {"command": "ls"})])


async def test_find_searches_for_the_text_and_not_for_a_pattern() -> None:
    first, _ = await converse("find a.b(c) in src/*.py")

    assert first[1] == [
        ("Grep", {"pattern": r"a\.b\(c\)", "output_mode": "content", "glob": "src/*.py"})
    ]


async def test_replace_reads_first() -> None:
    read, edit, last = await converse('replace "a" with "b" in x.py')

    assert [read[1], edit[1]] == [
        [("Read", {"file_path": "x.py"})],
        [("Edit", {"file_path": "x.py", "old_string": "a", "new_string": "b"})],
    ]
    assert last[0] == 'Replace "a" with "b" in x.py: done.'


async def test_replace_does_not_edit_what_it_cannot_read() -> None:
    _, last = await converse(
        'replace "a" with "b" in x.py', lambda name, arguments: ("No such file.\nTry LS.", True)
    )

    assert last[0] == 'Replace "a" with "b" in x.py: not done. No such file.'


async def test_neighbours_that_read_go_together() -> None:
    answers = await converse("read a.py, b.py; find x; list src; run ls; read c.py")

    assert [[name for name, _ in calls] for _, calls in answers] == [
        ["TodoWrite"],
        ["Read", "Read", "Grep", "LS"],
        ["TodoWrite", "Bash"],
        ["TodoWrite", "Read"],
        ["TodoWrite"],
        [],
    ]


async def test_plan_follows_the_steps() -> None:
    answers = await converse('create a.txt with "a"\nrun cat a.txt\nread a.txt')
    plans = [call for _, calls in answers for call in calls if call[0] == "TodoWrite"]

    assert [statuses(plan) for plan in plans] == [
        ["in_progress", "pending", "pending"],
        ["completed", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]
    assert plans[0][1]["todos"][1] == {
        "content": "Run `cat a.txt`",
        "activeForm": "Running `cat a.txt`",
        "status": "pending",
    }
    assert answers[0][0].endswith("1. Create a.txt\n2. Run `cat a.txt`\n3. Read a.txt")
    assert answers[-1][0].startswith("3 of 3 steps are done.\n\nCreate a.txt: done.")


async def test_denied_change_is_the_last_step() -> None:
    def deny(name: str, arguments: dict[str, Any]) -> Result:
        return ("The user denied this call.", True) if name == "Bash" else "fine"

    answers = await converse("read a.py; run rm a.py; read a.py", deny)

    assert [name for _, calls in answers for name, _ in calls] == [
        "TodoWrite", "Read", "TodoWrite", "Bash", "TodoWrite",
    ]  # fmt: skip
    assert statuses(answers[-2][1][0]) == ["completed", "pending", "pending"]
    assert answers[-1][0] == (
        "1 of 3 steps are done.\n\nRead a.py:\n\n```\nfine\n```\n\n"
        "Run `rm a.py`: not done. The user denied this call.\n\n"
        "I stopped there. Not begun:\n\n- Read a.py"
    )


async def test_failed_reading_is_told_and_the_rest_goes_on() -> None:
    def missing(name: str, arguments: dict[str, Any]) -> Result:
        return ("No such file: a.py", True) if arguments.get("file_path") == "a.py" else "fine"

    answers = await converse("read a.py; read b.py; run ls", missing)

    assert "2 of 3 steps are done." in answers[-1][0]
    assert "Read a.py: not done. No such file: a.py" in answers[-1][0]
    assert statuses(answers[-2][1][0]) == ["pending", "completed", "completed"]


async def test_plan_in_the_users_words_is_only_written_down() -> None:
    first, _ = await converse("plan: tidy up; ship it")

    assert first[1] == [
        (
            "TodoWrite",
            {
                "todos": [
                    {"content": "tidy up", "activeForm": "tidy up", "status": "pending"},
                    {"content": "ship it", "activeForm": "ship it", "status": "pending"},
                ]
            },
        )
    ]


async def test_plan_with_one_step_plans_it() -> None:
    answers = await converse("plan, then run ls")

    assert [[name for name, _ in calls] for _, calls in answers] == [
        ["TodoWrite"], ["Bash"], ["TodoWrite"], [],
    ]  # fmt: skip


async def test_plan_that_is_refused_does_not_stop_the_work() -> None:
    def no_plans(name: str, arguments: dict[str, Any]) -> Result:
        return ("Not allowed.", True) if name == "TodoWrite" else "fine"

    answers = await converse("run a; run b", no_plans)

    assert [name for _, calls in answers for name, _ in calls] == ["TodoWrite", "Bash", "Bash"]


@pytest.mark.parametrize("prompt", ["Write me a poem", "plan", "run ls; then be nice"])
async def test_what_it_cannot_do_it_says_and_leaves(prompt: str) -> None:
    [(text, calls)] = await converse(prompt)

    assert text.startswith(BANNER)
    assert calls == []


async def test_it_names_the_requests_it_understands() -> None:
    [(text, _)] = await converse("Write me a poem")

    assert 'I do not understand "Write me a poem"' in text
    for word in ("find TEXT", "read PATH", "replace", "create", "run COMMAND", "list", "plan:"):
        assert word in text


async def test_tool_that_is_not_offered_is_named() -> None:
    messages = [{"role": "user", "content": "run ls; read a"}]
    events = await collect(OfflineModel(), request(messages, tools=("Read",)))

    assert "This takes Bash, which is not to be had here" in text_of(events)
    assert calls_of(events) == []


async def test_turn_of_another_model_is_not_misread() -> None:
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
    messages = [
        {"role": "user", "content": "run ls"},
        {"role": "assistant", "content": [call, {**call, "id": "u"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]
    events = await collect(OfflineModel(), request(messages))

    assert "Another model began this turn" in text_of(events)


async def test_long_results_are_cut() -> None:
    output = "\n".join(f"line {n}" for n in range(100))
    _, (run, _) = await converse("run make", lambda name, arguments: output)
    _, (read, _) = await converse("read log", lambda name, arguments: output)

    assert "(80 more lines)\nline 80\n" in run
    assert "line 19\n(80 more lines)" in read


async def test_text_streams_in_several_deltas_and_usage_is_not_zero() -> None:
    messages = [{"role": "user", "content": "hello"}]
    events = await collect(OfflineModel(), request(messages))

    assert sum(event["type"] == "content_block_delta" for event in events) > 3
    assert events[-2]["usage"]["input_tokens"] > 0
    assert events[-2]["usage"]["output_tokens"] > 0


async def test_same_request_has_the_same_answer() -> None:
    messages = [{"role": "user", "content": "read a.py; run ls"}]

    assert await collect(OfflineModel(), request(messages)) == await collect(
        OfflineModel(), request(messages)
    )
