from agentls.protocol.content import Todo
from agentls.tools.todo import TodoWrite
from tests.support.workbench import Workbench, told

tool = TodoWrite()


def item(content: str, status: str) -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": f"Doing {content}"}


async def test_plan_is_returned_in_the_words_of_the_protocol(bench: Workbench) -> None:
    result = await bench.run(
        tool, todos=[item("a", "completed"), item("b", "in_progress"), item("c", "pending")]
    )
    assert result.todos == (
        Todo(content="a", active_form="Doing a", status="completed"),
        Todo(content="b", active_form="Doing b", status="inProgress"),
        Todo(content="c", active_form="Doing c", status="pending"),
    )
    assert told(result) == "The plan has 3 steps: 1 pending, 1 in_progress, 1 completed."
    assert result.summary == "Planned: 1 of 3 done"


async def test_two_steps_in_progress_are_advised_against_and_kept(bench: Workbench) -> None:
    result = await bench.run(tool, todos=[item("a", "in_progress"), item("b", "in_progress")])
    assert not result.is_error
    assert result.todos is not None
    assert len(result.todos) == 2
    assert told(result).endswith("Better have one step in progress at a time.")


async def test_empty_plan_clears_the_list(bench: Workbench) -> None:
    result = await bench.run(tool, todos=[])
    assert result.todos == ()
    assert told(result) == "The plan is empty now."


async def test_wrong_status_is_an_error_and_changes_nothing(bench: Workbench) -> None:
    result = await bench.run(tool, todos=[item("a", "inProgress")])
    assert result.is_error
    assert result.todos is None
    assert "todos[0].status: input should be 'pending', 'in_progress' or 'completed'" in told(
        result
    )


def test_step_that_is_being_done_is_announced() -> None:
    todos = [item("a", "completed"), item("b", "in_progress")]
    assert tool.invocation(tool.input_type.model_validate({"todos": todos})) == "Planning: Doing b"
    assert tool.invocation(tool.input_type(todos=())) == "Planning"
