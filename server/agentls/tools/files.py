"""The port through which tools see files, so that an editor's unsaved text can count.

`DiskFiles` is the whole truth where no editor is connected.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file's bytes at one moment."""

    data: bytes
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> "FileContent":
        """Return `data` with its hash."""
        return cls(data, hashlib.sha256(data).hexdigest())


class Files(Protocol):
    """Reads and writes whole files. Paths are absolute."""

    async def read(self, path: Path) -> FileContent:
        """Return the file as the user sees it. Raises OSError."""
        ...

    async def write(self, path: Path, data: bytes, *, expected_sha256: str | None) -> FileContent:
        """Replace the file's content and return what is there now.

        `expected_sha256` is what the file held when it was read, None for a file that must not be
        there yet. Raises `FileChangedMeanwhile` where that is not so, and OSError.
        """
        ...


class FileChangedMeanwhile(Exception):
    """A file is not what it was when it was read."""
