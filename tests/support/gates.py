"""Things that wait until a test lets them go on: files that are read, answers that stream."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from agentls.errors import ServerFailed
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.stream_events import WrittenAnswer, closing_events, opening_events
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import FileContent
from tests.support.agents import PersonHost


class GatedFiles(DiskFiles):
    """Files that are read when `gate` is open, and not before."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.waiting = 0

    async def read(self, path: Path) -> FileContent:
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        return await super().read(path)


class GatedHost(PersonHost):
    """A host whose files are read when it lets them be."""

    def __init__(self) -> None:
        super().__init__()
        self._files = self.gated = GatedFiles()


class BrokenFiles(DiskFiles):
    """Files of an editor that has a fault of its own."""

    async def read(self, path: Path) -> FileContent:
        raise RuntimeError("the editor's answer makes no sense")


class BrokenHost(PersonHost):
    """A host whose files cannot be read for a fault."""

    def __init__(self) -> None:
        super().__init__()
        self._files = BrokenFiles()


class GatedModel:
    """A model that says one text, and ends its answer when `gate` is open."""

    def __init__(self, text: str = "Done.") -> None:
        self.gate = asyncio.Event()
        self.asked: list[ModelRequest] = []
        self._text = text

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked.append(request)
        usage = {"input_tokens": 10, "output_tokens": 5}
        block = {"type": "text", "text": self._text}
        name = f"msg_{len(self.asked)}"
        answer = WrittenAnswer(name, request.model, (block,), "end_turn", usage)
        for event in opening_events(answer):
            yield event
        await self.gate.wait()
        for event in closing_events(answer):
            yield event


class FailingModel:
    """A model whose server fails."""

    def __init__(self) -> None:
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.asked += 1
        raise ServerFailed("as it happens")
        yield {}
