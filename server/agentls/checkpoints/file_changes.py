"""Says in the protocol's terms what became of a file."""

from collections.abc import Callable
from dataclasses import dataclass

from agentls.checkpoints.contents import Contents
from agentls.checkpoints.names import raw, shown
from agentls.errors import ContentMissing
from agentls.protocol.content import FileChange

CountLines = Callable[[bytes, bytes], tuple[int, int]]
"""Returns how many lines were added and removed."""
COUNTED = 512 * 1024
"""Bytes; of a larger file, or a binary one, no lines are counted."""
SNIFFED = 8_000
"""Bytes in which a NUL says that a file is binary."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file at one moment."""

    mode: int
    """`st_mode`."""
    sha256: str | None
    """None where the content is not kept, and for what has none."""
    size: int


class ChangeMaker:
    """Makes `FileChange`s."""

    def __init__(self, contents: Contents, cwd: str, count_lines: CountLines) -> None:
        self._contents = contents
        self._cwd = cwd
        self._count_lines = count_lines

    def change(
        self,
        path: str,
        before: FileState | None,
        after: FileState | None,
        made_folders: int | None = None,
    ) -> FileChange:
        """Return what became of the file at an absolute path; None stands for no file."""
        added, removed = self._lines(before, after)
        return FileChange(
            path=shown(path, self._cwd),
            kind="created" if before is None else "modified" if after else "deleted",
            before_sha256=before.sha256 if before else None,
            after_sha256=after.sha256 if after else None,
            added_lines=added,
            removed_lines=removed,
            before_mode=before.mode if before else None,
            after_mode=after.mode if after else None,
            restorable=before is None or before.sha256 is not None,
            made_folders=made_folders if before is None else None,
            raw_path=raw(path, self._cwd),
        )

    def _lines(self, before: FileState | None, after: FileState | None) -> tuple[int, int]:
        if before and after and before.sha256 == after.sha256:
            return 0, 0
        old, new = self._text(before), self._text(after)
        return (0, 0) if old is None or new is None else self._count_lines(old, new)

    def _text(self, state: FileState | None) -> bytes | None:
        """Return a text whose lines can be counted; no file has none."""
        if state is None:
            return b""
        if state.sha256 is None or state.size > COUNTED:
            return None
        try:
            data = self._contents.get(state.sha256)
        except ContentMissing:
            return None
        return None if b"\0" in data[:SNIFFED] else data
