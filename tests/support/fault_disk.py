"""A server in a workspace on a disk of its own that is small: a tmpfs of bubblewrap's."""

import errno
import os
import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from io import RawIOBase
from pathlib import Path

import psutil
import pytest

from tests.e2e.observed import until
from tests.support.servers import AGENTLS, Editor, editor

SIZE = 1 << 20


def needs_bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed here: bash scripts/install_bubblewrap.sh")


def on_small_disk(folder: Path, *, size: int = SIZE) -> tuple[str, ...]:
    """Return what is put before a command for `folder` to be a small empty disk to it."""
    needs_bubblewrap()
    return (
        "bwrap", "--die-with-parent", "--dev-bind", "/", "/", "--size", str(size),
        "--tmpfs", str(folder), "--",
    )  # fmt: skip


class SmallDisk:
    """The small disk as its server sees it, reached from outside through the process."""

    def __init__(self, pid: int, folder: Path) -> None:
        self.folder = Path(f"/proc/{pid}/root", *folder.parts[1:])
        self.agentls = self.folder / ".agentls"

    def fill(self) -> int:
        """Fill it to the last byte; return how many it took."""
        with (self.folder / "filler").open("ab", buffering=0) as file:
            with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
                _write_for_ever(file)
            return os.fstat(file.fileno()).st_size

    def make_room(self) -> None:
        """Take the filler away."""
        (self.folder / "filler").unlink()

    def save(self, to: Path) -> Path:
        """Copy all of it to where it stays when the server ends."""
        shutil.copytree(self.folder, to)
        return to


def _write_for_ever(file: RawIOBase) -> None:
    while True:
        file.write(bytes(4096))


@asynccontextmanager
async def small_disk(
    folder: Path, model: Sequence[str]
) -> AsyncGenerator[tuple[Editor, SmallDisk]]:
    """Start a server whose workspace is a small disk; afterwards both are gone."""
    command = (*on_small_disk(folder), str(AGENTLS), "lsp", "--stdio", *model)
    async with editor(folder, program=command, greet=False) as it:
        bwrap = psutil.Process(it.client.pid)
        # Between its start and its becoming the server the child is bubblewrap's own.
        await until(lambda: [c for c in bwrap.children() if c.name() != "bwrap"])
        await it.start()
        [server] = bwrap.children()
        yield it, SmallDisk(server.pid, folder)
