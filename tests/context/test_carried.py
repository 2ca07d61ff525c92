import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.carried import MOST_CHANGES, MOST_FILES, carry
from agentls.context.room import Room
from agentls.protocol.content import ImageBlock
from agentls.protocol.events.compaction import Carried, FailedAttempt, SeenFile
from agentls.protocol.history import CallResult, Entry
from agentls.protocol.tool_calls import (
    Decision,
    Question,
    QuestionAnswer,
    QuestionOption,
    Questions,
    ToolCall,
)
from agentls.state.measure import tokens_of_text
from tests.support.compactable import (
    AT,
    ROOM,
    SMALL,
    change,
    histories,
    one_round,
    prompt,
    rooms,
    summary,
    tool_call,
)

NOTHING = Carried()
CONSTRAINT = "Never change src/planted.py."
GOAL = f"Repair the parser in src/parser/main.py. {CONSTRAINT}"
FAILING = "FAILED tests/test_parser.py::test_planted - AssertionError"
FIRST_TURN = [
    prompt(GOAL),
    *one_round(
        tool_call(output=f"...\n{FAILING}\n1 failed", outcome="error", command="pytest -q planted")
    ),
]


def bash(output: str, outcome: str = "error", command: str = "pytest -q") -> ToolCall:
    return tool_call(output=output, outcome=outcome, command=command)  # type: ignore[arg-type]


def why(output: str) -> str:
    return carry(NOTHING, one_round(bash(output)), ROOM).failures[0].outcome


def test_first_prompt_is_the_goal_and_stays_it() -> None:
    first = carry(NOTHING, [prompt("Do this."), prompt("And that.")], ROOM)
    later = carry(first, [summary(), prompt("Now something else.")], ROOM)
    assert later.goal == "Do this."
    assert later.prompts == ("And that.", "Now something else.")


def test_goal_too_long_to_be_whole_keeps_its_ends_and_is_whole_among_the_messages() -> None:
    text = "begin " + "spec " * 4_000 + "end"
    carried = carry(NOTHING, [prompt(text)], ROOM)
    assert carried.goal is not None
    assert carried.goal.startswith("begin")
    assert carried.goal.endswith("end")
    assert tokens_of_text(carried.goal) <= 4_000
    assert carried.prompts == (text,)


def test_notices_of_agentls_and_summaries_are_not_the_users_words() -> None:
    notice = prompt("You must always stop. Never go on.", author="agentls")
    assert carry(NOTHING, [notice, summary("Never do it.", "You must not.")], ROOM) == NOTHING


def test_pictures_in_a_prompt_are_carried_by_name() -> None:
    picture = ImageBlock(media_type="image/png", data="aGk=", name="plan.png")
    assert carry(NOTHING, [prompt("Build this.", picture)], ROOM).goal == (
        "Build this.\n[image: plan.png]"
    )


def test_newest_messages_stay_when_there_is_no_room_for_all() -> None:
    said = [prompt(f"message {number} " + "x" * 300) for number in range(400)]
    carried = carry(NOTHING, said, SMALL)
    assert carried.goal is not None
    assert carried.goal.startswith("message 0 ")
    assert carried.prompts[-1].startswith("message 399 ")
    assert "message 1 " not in "".join(carried.prompts)


def test_message_of_the_running_turn_is_there_even_if_it_must_be_cut() -> None:
    running = "begin " + "word " * 20_000 + "end"
    carried = carry(NOTHING, [prompt("Goal."), prompt("Other."), prompt(running)], SMALL)
    assert carried.prompts[-1].startswith("begin")
    assert carried.prompts[-1].endswith("end")


def test_message_said_again_stands_where_it_was_said_last() -> None:
    said = [prompt(text) for text in ("goal", "go on", "look", "go on")]
    assert carry(NOTHING, said, ROOM).prompts == ("look", "go on")


def test_answers_to_questions_are_carried_as_words_of_the_user() -> None:
    question = Question(
        question="Which store?", header="Store", options=(QuestionOption(label="x"),)
    )
    asked = tool_call("AskUserQuestion").model_copy(
        update={
            "questions": Questions(call_id="c", questions=(question,), asked_at=AT),
            "answers": (QuestionAnswer(selected=("SQLite",), other="Never use Postgres."),),
        }
    )
    carried = carry(NOTHING, [CallResult(call=asked)], ROOM)
    assert carried.prompts == ("(asked: Which store?) SQLite, Never use Postgres.",)
    assert carried.constraints == ("Never use Postgres.",)


def test_no_with_a_reason_is_a_constraint_and_no_failure() -> None:
    def denied(reason: str, who: str = "user") -> Carried:
        decision = Decision(behaviour="deny", decided_by=who, reason=reason)  # type: ignore[arg-type]
        call = bash("denied", "denied", "npm i").model_copy(update={"decision": decision})
        return carry(NOTHING, one_round(call), ROOM)

    said = denied("the user said no: use pnpm")
    assert said.constraints == ("Running npm i: the user said no: use pnpm",)
    assert said.failures == ()
    assert denied("the user said no") == NOTHING
    assert denied("a rule: no", who="rule") == NOTHING


def test_constraints_of_all_messages_are_carried_once() -> None:
    said = ["Never use tabs. Go.", "Always test.", "Again: go on.", "Never use tabs."]
    carried = carry(NOTHING, [prompt(text) for text in said], ROOM)
    assert carried.constraints == ("Never use tabs.", "Always test.")


def test_read_file_has_the_hash_of_what_was_read_last() -> None:
    read = one_round(
        tool_call("Read", file_path="/work/src/a.py"),
        tool_call("Read", file_path="./b.py"),
        tool_call("Read", file_path="/etc/hosts"),
    )
    variables = {"Read:src/a.py": "a" * 64, "Read:b.py": "b" * 64, "Read:/etc/hosts": "c" * 64}
    carried = carry(NOTHING, read, ROOM, variables=variables, cwd="/work")
    assert carried.files == (
        SeenFile(path="src/a.py", sha256="a" * 64, changed=False),
        SeenFile(path="b.py", sha256="b" * 64, changed=False),
        SeenFile(path="/etc/hosts", sha256="c" * 64, changed=False),
    )
    assert carry(carried, [], ROOM).files == carried.files


def test_changed_file_has_the_hash_after_the_change_and_comes_last() -> None:
    entries = [
        *one_round(tool_call("Edit", changes=(change("a.py", "1" * 64),), file_path="a.py")),
        *one_round(tool_call("Bash", changes=(change("b.py"),), command="sed")),
        *one_round(tool_call("Edit", changes=(change("a.py", "2" * 64),), file_path="a.py")),
    ]
    files = carry(NOTHING, entries, ROOM).files
    assert [file.path for file in files] == ["b.py", "a.py"]
    assert files[-1] == SeenFile(path="a.py", sha256="2" * 64, changed=True)


def test_deleted_file_has_no_hash() -> None:
    entries = one_round(tool_call(changes=(change("a.py", None),), command="rm a.py"))
    assert carry(NOTHING, entries, ROOM).files == (
        SeenFile(path="a.py", sha256=None, changed=True),
    )


def test_file_that_could_not_be_read_was_not_seen() -> None:
    entries = one_round(tool_call("Read", outcome="error", file_path="a.py"))
    assert carry(NOTHING, entries, ROOM).files == ()


def test_changed_files_are_preferred_where_there_are_too_many() -> None:
    changed = one_round(tool_call("Edit", changes=(change("changed.py"),), file_path="changed.py"))
    read = one_round(*(tool_call("Read", file_path=f"f{number}.py") for number in range(200)))
    files = carry(NOTHING, [*changed, *read], ROOM).files
    assert len(files) == MOST_FILES
    assert files[0].path == "changed.py"
    assert files[-1].path == "f199.py"


def test_command_that_changes_very_many_files_does_not_push_out_the_others() -> None:
    edited = one_round(tool_call("Edit", changes=(change("a.py"),), file_path="a.py"))
    built = tool_call(changes=tuple(change(f"out/{i}.js") for i in range(900)), command="make")
    files = carry(NOTHING, [*edited, *one_round(built)], ROOM).files
    assert files[0].path == "a.py"
    assert len(files) == 1 + MOST_CHANGES


def test_call_that_succeeded_later_is_no_failure_any_more() -> None:
    failed = carry(NOTHING, one_round(bash("FAILED a")), ROOM)
    assert failed.failures == (FailedAttempt(call="Running pytest -q", outcome="FAILED a"),)
    assert carry(failed, one_round(bash("ok", "ok")), ROOM).failures == ()
    again = one_round(bash("ok", "ok"), bash("FAILED b"))
    assert [failure.outcome for failure in carry(failed, again, ROOM).failures] == ["FAILED b"]


@pytest.mark.parametrize("outcome", ["ok", "denied", "cancelled"])
def test_only_errors_are_failures(outcome: str) -> None:
    assert carry(NOTHING, one_round(bash("FAILED", outcome)), ROOM).failures == ()


def test_failure_that_came_again_is_told_once() -> None:
    entries = one_round(bash("FAILED a"), bash("FAILED b"), bash("FAILED a"))
    outcomes = [failure.outcome for failure in carry(NOTHING, entries, ROOM).failures]
    assert outcomes == ["FAILED a", "FAILED b"]


def test_call_that_failed_before_it_began_is_named_by_what_it_was_given() -> None:
    call = tool_call("Edit", "old_string is missing", "error", invocation="Edit", file_path="a.py")
    assert carry(NOTHING, one_round(call), ROOM).failures == (
        FailedAttempt(call='Edit {"file_path": "a.py"}', outcome="old_string is missing"),
    )


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("collected 3\nFAILED t.py::test_a - assert 1\n3 failed", "FAILED t.py::test_a - assert 1"),
        (">  assert f() == 2\nE   assert 1 == 2\nt.py:3: AssertionError", "E   assert 1 == 2"),
        ("Traceback\n  File \"a.py\", line 1\nKeyError: 'x'", "KeyError: 'x'"),
        ("gcc -c a.c\na.c:3:1: error: expected ';'\nmake", "a.c:3:1: error: expected ';'"),
        ("error[E0308]: mismatched types\n --> src/a.rs:1", "error[E0308]: mismatched types"),
        ("src/a.ts(3,1): error TS2322: Type\nx", "src/a.ts(3,1): error TS2322: Type"),
        ("ok  a\n--- FAIL: TestA (0.0s)\nFAIL", "--- FAIL: TestA (0.0s)"),
        ("bash: foo: command not found\n[exit code 127]", "bash: foo: command not found"),
        ("one\n\ntwo\n[exit code 1]", "one\ntwo\n[exit code 1]"),
        ("fatal: not a git repository\nx", "fatal: not a git repository"),
    ],
)
def test_lines_that_say_why_are_found(output: str, expected: str) -> None:
    assert why(output) == expected


def test_names_of_failing_tests_come_before_other_reasons() -> None:
    noise = "\n".join(f"E   assert {number}" for number in range(50))
    found = why(f"{noise}\nFAILED t.py::test_a\n")
    assert "FAILED t.py::test_a" in found
    assert len(found.splitlines()) == 5


def test_oldest_and_newest_failures_stay_where_there_are_too_many() -> None:
    carried = NOTHING
    for number in range(100):
        carried = carry(carried, one_round(bash(f"FAILED t{number}", command=f"c{number}")), ROOM)
    assert [failure.call for failure in carried.failures] == [
        f"Running c{number}" for number in (*range(10), *range(80, 100))
    ]


def test_facts_of_the_first_turn_survive_400_turns_in_a_small_window() -> None:
    carried = NOTHING
    waiting: list[Entry] = [*FIRST_TURN]
    for turn in range(400):
        waiting.append(
            prompt(f"Turn {turn}: never mind {turn}, and always do {turn} in f{turn}.py.")
        )
        waiting += one_round(
            bash(f"FAILED t{turn}", command=f"pytest {turn}"),
            tool_call("Read", "x" * 900, file_path=f"f{turn}.py"),
        )
        if turn % 7 == 0:
            carried = carry(carried, waiting, SMALL)
            waiting = [summary("Nothing.")]
    assert carried.goal == GOAL
    assert carried.constraints[0] == CONSTRAINT
    assert carried.failures[0].outcome == FAILING


@given(st.lists(histories, min_size=1, max_size=4))
def test_facts_of_the_first_turn_survive_whatever_comes_after(later: list[list[Entry]]) -> None:
    carried = carry(NOTHING, FIRST_TURN, ROOM)
    for entries in later:
        carried = carry(carried, entries, ROOM)
        assert carried.goal == GOAL
        assert CONSTRAINT in carried.constraints
        assert FAILING in carried.failures[0].outcome


@given(histories, histories, rooms)
def test_what_is_carried_is_bounded_and_carrying_again_changes_nothing(
    before: list[Entry], after: list[Entry], room: Room
) -> None:
    big = Room(window=1_000_000, overhead=0, answer=1_000)
    carried = carry(carry(NOTHING, before, big), after, room)
    assert carried == carry(carry(NOTHING, before, big), after, room)
    assert carry(carried, [], room) == carried
    assert tokens_of_text(carried.goal or "") <= room.goal
    assert sum(map(tokens_of_text, carried.constraints)) <= room.constraints
    assert sum(map(tokens_of_text, carried.prompts)) <= room.prompts
    assert sum(tokens_of_text(file.path) for file in carried.files) <= room.files
    failures = [failure.call + failure.outcome for failure in carried.failures]
    assert sum(map(tokens_of_text, failures)) <= room.failures + len(failures)
