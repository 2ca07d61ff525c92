"""The LS tool: what lies in one folder."""

import asyncio
import os
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agentls.tools.globs import compile_glob
from agentls.tools.paths import absolute, printable, shown
from agentls.tools.read import unreadable
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

MOST_ENTRIES = 1_000


class ListFolderInput(ToolInput):
    """What LS takes."""

    path: str = Field(min_length=1)
    """The folder, absolute or relative to the working folder."""
    ignore: tuple[str, ...] = ()
    """Globs of names to leave out, such as `*.pyc`."""


class ListFolder(Tool[ListFolderInput]):
    """Lists one folder, not what is deeper."""

    name: ClassVar[str] = "LS"
    description: ClassVar[str] = (
        "Lists the files and folders in one folder, hidden ones too; a folder's name ends in `/`. "
        f"At most {MOST_ENTRIES:,} come. To find files by name use Glob, by content Grep."
    )
    input_type = ListFolderInput
    verbs: ClassVar[tuple[str, str]] = ("List", "Listing")
    read_only: ClassVar[bool] = True

    async def execute(self, arguments: ListFolderInput, context: ToolContext) -> ToolResult:
        """Return the folder's path and its entries, one a line, folders first."""
        folder = absolute(arguments.path, context.cwd)
        try:
            entries = await asyncio.to_thread(_entries, folder, arguments.ignore)
        except NotADirectoryError:
            name = shown(folder, context.cwd)
            return ToolResult.error(f"{name} is a file, not a folder. Use Read to see it.")
        except (OSError, ValueError) as error:
            return unreadable(folder, error, context.cwd)
        return _result(folder, entries, context.cwd)

    def subject(self, arguments: ListFolderInput) -> str:
        """Name the folder."""
        return arguments.path

    def read_paths(self, arguments: ListFolderInput) -> tuple[str, ...]:
        """Return the folder."""
        return (arguments.path,)


def _entries(folder: Path, ignore: tuple[str, ...]) -> list[str]:
    globs = [compile_glob(glob) for glob in ignore]
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = printable(entry.name)
            if any(glob.fullmatch(name) for glob in globs):
                continue
            if entry.is_dir():
                folders.append(f"{name}/")
            else:
                files.append(name)
    return sorted(folders) + sorted(files)


def _result(folder: Path, entries: list[str], cwd: Path) -> ToolResult:
    lines = [f"{printable(folder).rstrip('/')}/", *(f"  {e}" for e in entries[:MOST_ENTRIES])]
    if not entries:
        lines.append("[The folder is empty, or all in it is left out.]")
    if len(entries) > MOST_ENTRIES:
        lines.append(f"[The first {MOST_ENTRIES:,} of {len(entries):,} entries; use Glob.]")
    noun = "entry" if len(entries) == 1 else "entries"
    return ToolResult.ok(
        "\n".join(lines), f"Listed {len(entries):,} {noun} of {shown(folder, cwd)}"
    )
