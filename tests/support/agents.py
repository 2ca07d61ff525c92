"""A whole agent in a temporary workspace, driven by a scripted model: most agent tests are data."""

import asyncio
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.checkpoints.present import NoBuffers
from agentls.protocol.content import TextPart
from agentls.protocol.events import approvals, conversation
from agentls.state.event_store import Moment
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files
from tests.support.scenarios import write_scenario

WAIT_SECONDS = 20


class PersonHost:
    """A host where somebody can be asked, or nobody."""

    def __init__(self, can_ask: bool = True) -> None:
        self._files = DiskFiles()
        self.buffers = NoBuffers()
        self.present = can_ask

    @property
    def files(self) -> Files:
        return self._files

    def can_ask(self) -> bool:
        return self.present


def open_agent(
    folder: Path, *script: dict[str, Any], host: PersonHost | None = None, **options: Any
) -> Workspace:
    """Open the agent over `folder`, its model playing `script`."""
    config = folder.parent / "config"
    environment = {"AGENTLS_CONFIG_DIR": str(config), **options.pop("environment", {})}
    if script:
        scenario = write_scenario(folder.parent / f"scenario-{folder.name}.json", *script)
        options.setdefault("model", f"scripted:{scenario}")
    return open_workspace(
        WorkspaceOptions(roots=(folder,), environment=environment, **options), host or PersonHost()
    )


class Story:
    """Follows a session and tells, a line an event, what a reader would say happened."""

    def __init__(self, session: Session, answers: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.moments: list[Moment] = []
        self._session = session
        self._answers = list(answers)
        session.subscribe(self._hear)

    def _hear(self, new: Moment, old: Moment) -> None:
        self.moments.append(new)
        if new.envelope is None:
            return
        match new.envelope.event:
            case conversation.TurnStarted():
                self.lines.append("turn started")
            case conversation.TurnFinished() as turn:
                ended = "finished" if turn.status == "completed" else turn.status
                why = f": {turn.error.kind}" if turn.error else ""
                self.lines.append(f"turn {ended}{why}")
            case conversation.AnswerFinished() as answer:
                texts = [part.text for part in answer.parts if isinstance(part, TextPart)]
                self.lines += [f"text: {text}" for text in texts]
            case conversation.TodosChanged() as changed:
                done = sum(todo.status == "completed" for todo in changed.todos)
                self.lines.append(f"todos: {done} of {len(changed.todos)}")
            case approvals.ApprovalRequested() as asked:
                self._answer(asked.approval.call_id)
            case conversation.ToolCallFinished() as finished:
                call = new.state.calls[finished.call_id]
                was_asked = "asked, " if call.approval else ""
                self.lines.append(f"{call.name}: {was_asked}{finished.outcome}")
            case _:
                pass

    def _answer(self, call_id: str) -> None:
        if not self._answers:
            return
        option, _, reason = self._answers.pop(0).partition(": ")
        asyncio.get_running_loop().call_soon(
            lambda: self._session.answer_approval(call_id, option, reason=reason or None)
        )


async def check(
    folder: Path,
    *,
    script: Sequence[dict[str, Any]],
    expect: str,
    answers: Sequence[str] = (),
    prompt: str = "Do it.",
    host: PersonHost | None = None,
    **options: Any,
) -> Session:
    """Run one prompt against a script and compare what happened, a line an event."""
    workspace = open_agent(folder, *script, host=host, **options)
    session = await workspace.new_session()
    story = Story(session, answers)
    session.prompt(prompt)
    async with asyncio.timeout(WAIT_SECONDS):
        await session.idle()
    await workspace.aclose()
    assert "\n".join(story.lines) == textwrap.dedent(expect).strip()
    return session


async def until(condition: Callable[[], Any]) -> None:
    """Wait until `condition` holds; fail where it does not within `WAIT_SECONDS`."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)


def results(session: Session) -> list[str]:
    """Return what the model was told of each tool call, in order."""
    return [
        "\n".join(block.text for block in entry.call.content)
        for entry in session.state.history
        if entry.type == "callResult"
    ]
