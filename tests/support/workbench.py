"""A folder in which one tool call follows another, as in a session."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentls.protocol.events.conversation import SessionMeta
from agentls.protocol.session_state import SessionState
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files
from agentls.tools.registry import parse_input
from agentls.tools.tool import Tool, ToolContext, ToolResult

META = SessionMeta(id="s1", created_at="2026-11-30T14:56:35.123Z", cwd=".", agentls_version="0.1.0")


class Workbench:
    """Runs tools in `cwd` and keeps the variables that they set."""

    def __init__(self, cwd: Path, files: Files | None = None) -> None:
        self.cwd = cwd
        self.variables: dict[str, Any] = {}
        self.progress: list[str] = []
        self._files = files or DiskFiles()

    def context(self, progress: Callable[[str], None] | None = None) -> ToolContext:
        """Return what a tool is given now."""
        return ToolContext(
            session_id="s1",
            call_id="c1",
            state=SessionState(meta=META, variables=dict(self.variables)),
            cwd=self.cwd,
            roots=(self.cwd,),
            files=self._files,
            progress=progress or self.progress.append,
        )

    async def run(self, tool: Tool[Any], **raw: Any) -> ToolResult:
        """Run a call, with its arguments as the model would write them."""
        arguments = parse_input(tool, raw)
        result = (
            arguments
            if isinstance(arguments, ToolResult)
            else await tool.execute(arguments, self.context())
        )
        for name, value in result.variables.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
        # Whatever a tool says must be fit to be sent and kept.
        for block in result.content:
            block.text.encode()
        result.summary.encode()
        return result

    def write(self, name: str, data: bytes | str) -> Path:
        """Put a file into the folder."""
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


def told(result: ToolResult) -> str:
    """Return what the model reads."""
    return "\n".join(block.text for block in result.content)
