"""Follows a file that another process appends lines to. It knows bytes, not what they mean."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from agentls.errors import LogUnreadable

POLL_SECONDS = 0.25
BATCH_BYTES = 1 << 20
LONGEST_LINE = 64 << 20
"""Bytes; what is longer is damage, and would fill the memory."""
_REMEMBERED = 64
"""How many of the bytes before its place a tail looks at again, to know the file."""


class FileReplaced(Exception):
    """The file is not the one that was followed, or lost some of it: it has to be loaded anew."""


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a tail has come."""

    offset: int
    """Where the first line begins that was not returned."""
    searched: int
    """Up to here no newline is behind `offset`."""
    before: bytes | None = None
    """The last bytes before `offset`; None until the file was seen."""


class Tail:
    """Returns the whole lines that come behind `offset`, each once, without their newline.

    `offset` is where a line begins: where the last one that was loaded ended, or 0. A line without
    its newline waits. Nothing before `offset` is read but 64 bytes, by which the file is known.
    """

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self._place = _Place(offset, offset)
        self._file: BinaryIO | None = None
        # A thread whose follower was cancelled may still be reading.
        self._lock = threading.Lock()

    @property
    def offset(self) -> int:
        """Where the next line begins: a tail that is made there goes on where this one is."""
        return self._place.offset

    def read_new(self) -> list[bytes]:
        """Return all whole lines that are new; blocks.

        Raises `FileReplaced`; `LogUnreadable` where a line has no end; OSError. A file that is not
        there has no lines, and is replaced if it was there.
        """
        lines: list[bytes] = []
        while batch := self._advance(*self._look(self._place)):
            lines += batch
        return lines

    async def follow(self, poll_seconds: float = POLL_SECONDS) -> AsyncGenerator[list[bytes], None]:
        """Yield new lines as they come, in batches of about a mebibyte at most, without end.

        A batch counts as returned when it is yielded: one that a cancellation kept back is yielded
        by the next `follow`. Raises what `read_new` raises.
        """
        while True:
            batch = self._advance(*await asyncio.to_thread(self._look, self._place))
            if batch:
                yield batch
            else:
                await asyncio.sleep(poll_seconds)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __enter__(self) -> "Tail":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _advance(self, lines: list[bytes], place: _Place) -> list[bytes]:
        self._place = place
        return lines

    def _look(self, place: _Place) -> tuple[list[bytes], _Place]:
        """Return the next batch and the place behind it; changes no place itself."""
        with self._lock:
            file = self._opened(place)
            if file is None:
                return [], place
            size = os.fstat(file.fileno()).st_size
            if size < place.searched:
                raise FileReplaced(f"{self._path} is shorter than it was")
            if place.before is None or size > place.searched:
                place = self._recognise(file, place)
            return _next_lines(file, place, self._path)

    def _opened(self, place: _Place) -> BinaryIO | None:
        """Return the file, which stays open: its number could else be given to another one."""
        try:
            if self._file is None:
                self._file = self._path.open("rb", buffering=0)
            there = self._path.stat()
        except FileNotFoundError:
            if self._file is None and place.offset == 0:
                return None
            raise FileReplaced(f"{self._path} is gone") from None
        if not os.path.samestat(there, os.fstat(self._file.fileno())):
            raise FileReplaced(f"{self._path} is another file")
        return self._file

    def _recognise(self, file: BinaryIO, place: _Place) -> _Place:
        """Check that the bytes before the place are what they were, or, at first, a line's end."""
        start = max(0, place.offset - _REMEMBERED)
        found = _read(file, start, place.offset - start)
        known = found == place.before if place.before is not None else found[-1:] in (b"", b"\n")
        if not known or len(found) < place.offset - start:
            raise FileReplaced(f"{self._path} was written over")
        return _Place(place.offset, place.searched, found)


def _next_lines(file: BinaryIO, place: _Place, path: Path) -> tuple[list[bytes], _Place]:
    start = place.searched
    chunk = _read(file, start, BATCH_BYTES)
    while b"\n" not in chunk:
        start += len(chunk)
        if not chunk:
            return [], _Place(place.offset, start, place.before)
        if start - place.offset > LONGEST_LINE:
            raise LogUnreadable(
                f"{path} holds a line of more than {LONGEST_LINE >> 20} MiB at byte {place.offset}"
            )
        chunk = _read(file, start, BATCH_BYTES)
    data = _read(file, place.offset, start - place.offset) + chunk[: chunk.rindex(b"\n") + 1]
    offset = place.offset + len(data)
    before = ((place.before or b"") + data[-_REMEMBERED:])[-_REMEMBERED:]
    return data[:-1].split(b"\n"), _Place(offset, offset, before)


def _read(file: BinaryIO, start: int, length: int) -> bytes:
    """Return the bytes at `start`; fewer than `length` only where the file ends."""
    file.seek(start)
    data = file.read(length)
    while data and len(data) < length:
        more = file.read(length - len(data))
        if not more:
            break
        data += more
    return data
