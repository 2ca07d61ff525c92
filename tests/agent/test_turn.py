import pytest

from tests.support.agents import PersonHost, check, results
from tests.support.scenarios import calls, calls_together, fails, says


async def test_a_prompt_is_answered(folder):
    await check(
        folder,
        script=[says("Hello.")],
        expect="""
            turn started
            text: Hello.
            turn finished
        """,
    )


async def test_readers_run_and_their_results_reach_the_model(folder):
    session = await check(
        folder,
        script=[
            calls_together(calls("Read", file_path="a.txt"), calls("Read", file_path="b.txt")),
            says("Read."),
        ],
        expect="""
            turn started
            Read: ok
            Read: ok
            text: Read.
            turn finished
        """,
    )
    assert "alpha" in results(session)[0]
    assert "gamma" in results(session)[1]


async def test_an_edit_waits_for_a_yes_and_changes_the_file(folder):
    await check(
        folder,
        script=[
            calls("Read", file_path="a.txt"),
            calls("Edit", file_path="a.txt", old_string="beta", new_string="delta"),
            says("Edited."),
        ],
        answers=["allow"],
        expect="""
            turn started
            Read: ok
            Edit: asked, ok
            text: Edited.
            turn finished
        """,
    )
    assert (folder / "a.txt").read_text() == "alpha\ndelta\n"


async def test_a_denied_command_tells_the_model_why(folder):
    session = await check(
        folder,
        script=[calls("Bash", command="rm a.txt"), says("Stopped.")],
        answers=["deny: keep that file"],
        expect="""
            turn started
            Bash: asked, denied
            text: Stopped.
            turn finished
        """,
    )
    assert "keep that file" in results(session)[0]
    assert (folder / "a.txt").exists()


async def test_where_nobody_can_be_asked_the_answer_is_no(folder):
    session = await check(
        folder,
        script=[calls("Bash", command="rm a.txt"), says("Stopped.")],
        host=PersonHost(can_ask=False),
        expect="""
            turn started
            Bash: denied
            text: Stopped.
            turn finished
        """,
    )
    assert "nobody is there" in results(session)[0]
    assert (folder / "a.txt").exists()


async def test_an_answer_for_the_session_is_asked_once(folder):
    await check(
        folder,
        script=[
            calls("Bash", command="echo one"),
            calls("Bash", command="echo one"),
            says("Twice."),
        ],
        answers=["allowSession"],
        expect="""
            turn started
            Bash: asked, ok
            Bash: ok
            text: Twice.
            turn finished
        """,
    )


async def test_an_edit_before_a_read_is_seen_by_the_read(folder):
    session = await check(
        folder,
        script=[
            calls("Read", file_path="b.txt"),
            calls_together(
                calls("Edit", file_path="b.txt", old_string="gamma", new_string="omega"),
                calls("Read", file_path="b.txt"),
            ),
            says("Done."),
        ],
        mode="acceptEdits",
        expect="""
            turn started
            Read: ok
            Edit: ok
            Read: ok
            text: Done.
            turn finished
        """,
    )
    assert "omega" in results(session)[2]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (calls("Teleport", to="mars"), "There is no tool 'Teleport'. The tools are: Read"),
        (calls("Read", path="a.txt"), "path"),
        ({"calls": [{"name": "Read", "rawInput": '{"file_path": '}]}, "not a JSON object"),
        ({"calls": [{"name": "Read", "rawInput": "[1]"}]}, "not a JSON object"),
    ],
)
async def test_a_call_that_cannot_be_made_sense_of_is_told_to_the_model(folder, call, told):
    session = await check(
        folder,
        script=[call, says("Sorry.")],
        expect=f"""
            turn started
            {call["calls"][0]["name"]}: error
            text: Sorry.
            turn finished
        """,
    )
    assert told in results(session)[0]


async def test_todos_are_state(folder):
    todos = [
        {"content": "Look", "status": "completed", "activeForm": "Looking"},
        {"content": "Leap", "status": "in_progress", "activeForm": "Leaping"},
    ]
    session = await check(
        folder,
        script=[calls("TodoWrite", todos=todos), says("Planned.")],
        expect="""
            turn started
            todos: 1 of 2
            TodoWrite: ok
            text: Planned.
            turn finished
        """,
    )
    assert [todo.status for todo in session.state.todos] == ["completed", "inProgress"]


@pytest.mark.parametrize(
    ("kind", "name", "retryable"),
    [
        ("keyRefused", "KeyRefused", False),
        ("requestRefused", "RequestRefused", False),
        ("promptTooLong", "PromptTooLong", False),
        ("connectionLost", "ConnectionLost", True),
    ],
)
async def test_a_failing_model_ends_the_turn_and_the_session_takes_the_next_prompt(
    folder, kind, name, retryable
):
    session = await check(
        folder,
        script=[{**fails(kind, "as scripted"), "repeat": True}],
        expect=f"""
            turn started
            turn failed: {name}
        """,
    )
    error = session.state.last_turn.error
    assert error.retryable is retryable
    assert "as scripted" in error.message
    assert session.state.turn is None


async def test_what_was_streamed_before_a_failure_is_kept_and_marked_as_cut(folder):
    session = await check(
        folder,
        script=[{"text": "Half an ans", "error": {"kind": "requestRefused"}}],
        expect="""
            turn started
            text: Half an ans
            turn failed: RequestRefused
        """,
    )
    assert session.state.history[-1].stop_reason == "cut"


async def test_a_turn_ends_at_the_limit_of_answers(folder):
    await check(
        folder,
        script=[calls("LS", path="."), calls("LS", path="."), says("never")],
        max_rounds=2,
        expect="""
            turn started
            LS: ok
            LS: ok
            turn maxTurns
        """,
    )


async def test_plan_mode_reads_and_refuses_to_change(folder):
    session = await check(
        folder,
        script=[
            calls("Read", file_path="a.txt"),
            calls("Write", file_path="new.txt", content="x"),
            says("A plan."),
        ],
        mode="plan",
        expect="""
            turn started
            Read: ok
            Write: denied
            text: A plan.
            turn finished
        """,
    )
    assert "plan" in results(session)[1]
    assert not (folder / "new.txt").exists()


async def test_usage_is_counted_once_per_response_and_by_model(folder):
    session = await check(
        folder,
        script=[
            {**calls("LS", path="."), "inputTokens": 10, "outputTokens": 2},
            says("Done.", inputTokens=20, outputTokens=3),
        ],
        expect="""
            turn started
            LS: ok
            text: Done.
            turn finished
        """,
    )
    usage = session.state.usage
    assert (usage.total.input_tokens, usage.total.output_tokens, usage.responses) == (30, 5, 2)
    assert list(usage.by_model) == [session.state.model.effective]


async def test_a_search_leaves_out_what_the_rules_deny_to_read(folder):
    (folder / ".env").write_text("alpha=secret\n")
    session = await check(
        folder,
        script=[calls("Grep", pattern="alpha", output_mode="content"), says("Found.")],
        denied=("Read(.env)",),
        expect="""
            turn started
            Grep: ok
            text: Found.
            turn finished
        """,
    )
    assert "a.txt" in results(session)[0]
    assert "secret" not in results(session)[0]


async def test_the_settings_of_the_user_are_not_edited_unasked(folder, tmp_path):
    settings = tmp_path / "config" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    await check(
        folder,
        script=[
            calls("Read", file_path=str(settings)),
            calls("Write", file_path=str(settings), content='{"model": "evil"}'),
            says("No."),
        ],
        mode="bypassPermissions",
        answers=["deny"],
        expect="""
            turn started
            Read: ok
            Write: asked, denied
            text: No.
            turn finished
        """,
    )
    assert settings.read_text() == "{}"
