"""A workspace whose files prompts mention, and what the prompts bring along."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentls.context.mentions import expand, find_mentions
from agentls.protocol.content import Content, FileBlock
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files


class Folder:
    """A workspace whose files prompts mention."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.roots: tuple[Path, ...] = (cwd,)
        self.files: Files = DiskFiles()
        self.unreadable: Callable[[Path], bool] = lambda path: False

    def write(self, name: str, data: str | bytes) -> Path:
        """Put a file there."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    async def blocks(self, text: str, budget_tokens: int = 100_000) -> tuple[Content, ...]:
        """Return what a prompt brings along."""
        found = await expand(
            find_mentions(text),
            cwd=self.cwd,
            roots=self.roots,
            files=self.files,
            unreadable=self.unreadable,
            budget_tokens=budget_tokens,
        )
        for block in found:
            # It must be fit to be sent and kept.
            block.model_dump_json().encode()
        return found

    async def block(self, text: str, budget_tokens: int = 100_000) -> FileBlock:
        """Return the one block of a file, symbol or folder that a prompt brings along."""
        [block] = await self.blocks(text, budget_tokens)
        assert isinstance(block, FileBlock)
        return block


def said(block: FileBlock) -> dict[str, Any]:
    """Return what a block says beyond the defaults."""
    return block.model_dump(exclude_defaults=True, exclude={"type"}, by_alias=False)
