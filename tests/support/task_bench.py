"""A session's conversation without an agent around it: its events, its files, its tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from agentls.agent.background import BackgroundTasks
from agentls.agent.chat import Chat
from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.events.tasks import TaskFinished
from agentls.protocol.session_state import SessionState
from agentls.protocol.tasks import Task
from agentls.sessions.loaded import LoadedSession
from agentls.state.changed import changed
from agentls.tools.disk_files import DiskFiles
from agentls.tools.registry import parse_input
from agentls.tools.tool import Tool, ToolContext, ToolResult
from agentls.tools.variables import named
from tests.support.agents import PersonHost
from tests.support.workbench import META


class TaskBench:
    """Runs tasks in `folder`, and hears what is told of them."""

    def __init__(self, folder: Path, tasks: Iterable[Task] = ()) -> None:
        environment = {"AGENTLS_CONFIG_DIR": str(folder.parent / "config")}
        self.workspace = open_workspace(
            WorkspaceOptions(roots=(folder,), environment=environment), PersonHost()
        )
        state = SessionState(meta=META, tasks=tuple(tasks))
        self.events: list[SessionEvents] = []
        self.chat = Chat(
            LoadedSession(state, 0), None, self.workspace.surroundings, lambda new, old: None
        )
        self.chat.subscribe(
            lambda new, old: self.events.append(new.envelope.event) if new.envelope else None
        )
        self.folder = folder
        self.variables: dict[str, Any] = {}
        self.output_folder = folder.parent / "output"
        self.background = self.made()

    def made(self, secure: Callable[[], Awaitable[None]] | None = None) -> BackgroundTasks:
        """Return the session's tasks; `secure` says when events are on disk."""

        async def at_once() -> None:
            await asyncio.sleep(0)

        return BackgroundTasks(self.chat, self.output_folder, secure or at_once)

    async def call(self, tool: Tool[Any], call_id: str = "c1", **raw: Any) -> ToolResult:
        """Run a call as a turn does, with its arguments as the model would write them."""
        arguments = parse_input(tool, raw)
        if isinstance(arguments, ToolResult):
            return arguments
        context = ToolContext(
            session_id="s1",
            call_id=call_id,
            state=changed(self.chat.state, variables=dict(self.variables)),
            cwd=self.folder,
            roots=(self.folder,),
            files=DiskFiles(),
            background=self.background,
            output_folder=self.output_folder,
        )
        result = await self.chat.files.around(call_id, lambda: tool.execute(arguments, context))
        self.variables |= named(tool.name, result.variables)
        return result

    async def start(self, command: str, call_id: str = "c1") -> Task:
        """Start a task."""
        return await self.background.start(command, description="a task", call_id=call_id)

    async def ended(self, task_id: str) -> Task:
        """Wait for a task's end."""
        async with asyncio.timeout(60):
            return await self.background.wait(task_id, 60)

    async def text(self, task_id: str, limit: int = 1 << 30) -> str:
        """Return all that a task has written."""
        return (await self.background.output(task_id, 0, limit)).text

    def finished(self, task_id: str) -> list[TaskFinished]:
        """Return what was told of a task's end."""
        return [
            event
            for event in self.events
            if isinstance(event, TaskFinished) and event.task_id == task_id
        ]

    async def aclose(self) -> None:
        """End everything."""
        await self.background.aclose()
        await self.workspace.aclose()
