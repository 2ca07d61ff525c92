"""A command's output: both ends in bounded memory, and all of it in a file once it is long."""

import threading
from pathlib import Path

from agentls.tasks.output_file import MOST_ON_DISK, OutputFile
from agentls.tasks.utf8 import begun_at_end, left_at_beginning


class BoundedOutput:
    """Takes any amount of bytes; keeps at most `most`, half of them from either end."""

    def __init__(self, most: int) -> None:
        self._room = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def size(self) -> int:
        """How many bytes came, those not kept included."""
        return self._total

    def append(self, data: bytes) -> None:
        """Add what came."""
        self._total += len(data)
        space = self._room - len(self._head)
        self._head += data[:space]
        self._tail += data[space:]
        # Not at each append: to move the kept bytes costs as much as they are long.
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    def is_whole(self, more: int = 0) -> bool:
        """Whether nothing is left out, and nothing would be with so many bytes more."""
        return self._total + more <= 2 * self._room

    def data(self) -> bytes:
        """Return the output; where some is missing, a line says how much."""
        if self.is_whole():
            return bytes(self._head + self._tail)
        head, tail = bytes(self._head), bytes(self._tail[-self._room :])
        head = head[: len(head) - begun_at_end(head)]
        tail = tail[left_at_beginning(tail) :]
        left_out = self._total - len(head) - len(tail)
        return b"".join((head, f"\n[... {left_out:,} bytes left out ...]\n".encode(), tail))

    def text(self) -> str:
        """Return the output as valid Unicode; where some is missing, a line says how much."""
        return self.data().decode("utf-8", "replace")

    def last_lines(self, lines: int = 5, most: int = 1_000) -> str:
        """Return the end of the output, at most `most` bytes, to show while it grows."""
        kept = self._head + self._tail if self.is_whole() else self._tail[-self._room :]
        end = bytes(kept)[-most:]
        text = end[left_at_beginning(end) :].decode("utf-8", "replace")
        return "\n".join(text.rstrip("\n").split("\n")[-lines:])


class CommandOutput:
    """What a command has written so far; one thread appends, any may look.

    To append, to spill and to finish may wait for a disk; nothing else does.
    """

    def __init__(
        self,
        most: int,
        *,
        folder: Path | None = None,
        name: str = "",
        most_on_disk: int = MOST_ON_DISK,
    ) -> None:
        """Keep `most` bytes in memory; what is longer goes to `<folder>/<name>.output`, whole."""
        self._kept = BoundedOutput(most)
        self._place = None if folder is None else output_path(folder, name)
        self._most_on_disk = most_on_disk
        self._file: OutputFile | None = None
        self._begun = False
        self._memory = threading.Lock()
        self._disk = threading.Lock()

    @property
    def file(self) -> OutputFile | None:
        """The file that holds all of it; None while memory does."""
        return self._file

    @property
    def size(self) -> int:
        """How many bytes the command has written."""
        return self._kept.size

    @property
    def is_cut(self) -> bool:
        """Whether `text` leaves something out."""
        with self._memory:
            return not self._kept.is_whole()

    def text(self) -> str:
        """Return it as valid Unicode; where the middle is missing, a line says how much."""
        with self._memory:
            return self._kept.text()

    def last_lines(self) -> str:
        """Return its last few lines, to show while it grows."""
        with self._memory:
            return self._kept.last_lines()

    def keep_whole(self, folder: Path, name: str) -> OutputFile:
        """Have all of it in a file from here on, in this one unless there is one already.

        The file is made by the next `append`, `spill` or `finish`, whichever comes first.
        """
        with self._memory:
            if self._file is None:
                self._file = OutputFile(output_path(folder, name), self._most_on_disk)
            return self._file

    def append(self, data: bytes) -> None:
        """Add what came."""
        with self._disk:
            with self._memory:
                if self._file is None and self._place and not self._kept.is_whole(len(data)):
                    self._file = OutputFile(self._place, self._most_on_disk)
            file = self._begin()
            with self._memory:
                self._kept.append(data)
            if file is not None:
                file.append(data)

    def spill(self) -> None:
        """Write to the file, where there is to be one, what came before it was wanted."""
        with self._disk:
            self._begin()

    def finish(self) -> None:
        """Note that nothing more comes, and let go of the file."""
        with self._disk:
            file = self._begin()
            if file is not None:
                file.finish()

    def _begin(self) -> OutputFile | None:
        """Return the file if it takes what comes, with what came before already in it."""
        with self._memory:
            file = self._file
            earlier = b"" if file is None or self._begun else self._kept.data()
        if file is not None and not self._begun:
            self._begun = True
            file.append(earlier)
        return file


def output_path(folder: Path, name: str) -> Path:
    """Return the file that holds what is called `name`."""
    return folder / f"{name}.output"
