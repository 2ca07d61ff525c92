"""Reading a log file from its last compaction on, without reading what comes before."""

import os
import re
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import orjson

from agentls.sessions.store import RawLog

_MARK = b':"conversationCompacted"'
_SEQ = re.compile(rb'\{"seq":(\d+),')
_CHUNK = 1 << 18
_BUFFER = 1 << 20


def read_file(path: Path, whole: bool) -> RawLog:
    """Read a log file up to where it ends by then. Raises OSError.

    Unless `whole`, the lines begin where the last compaction needs them to, if there is one;
    `first_line` is then 0: counting the lines before would mean reading them.
    """
    with path.open("rb", buffering=_BUFFER) as opened:
        file = cast(BufferedReader, opened)
        header = file.readline()
        begin = None if whole else _needed_from(file, len(header), os.fstat(file.fileno()).st_size)
        file.seek(len(header) if begin is None else begin)
        lines = [line[:-1] for line in file]
        position = file.tell()
        rest = b""
        if position > 0:
            file.seek(position - 1)
            rest = file.read(1)
    if rest not in (b"", b"\n"):
        rest = lines.pop() + rest if lines else header
        lines += [rest] if position > len(header) else []
        position -= len(rest)
    else:
        rest = b""
    return RawLog(
        header=header.removesuffix(b"\n"),
        lines=tuple(lines),
        first_line=2 if begin is None else 0,
        complete=begin is None,
        position=position,
        torn=rest != b"",
    )


def _needed_from(file: BufferedReader, begin: int, end: int) -> int | None:
    """Return where the first line begins that the last compaction needs; None: at `begin`."""
    while True:
        mark = _last_mark(file, begin, end)
        if mark is None:
            return None
        start, line = next(_lines_backwards(file, begin, _end_of_line(file, mark)))
        event = _compaction(line)
        if event is not None:
            return _kept_from(file, begin, start, event)
        end = start


def _kept_from(
    file: BufferedReader, begin: int, boundary: int, event: dict[str, Any]
) -> int | None:
    """Return where the first message begins that a compaction keeps; None where it is not found."""
    wanted = event.get("keptFromSeq")
    if wanted is None:
        return boundary
    for start, line in _lines_backwards(file, begin, boundary):
        seq = _SEQ.match(line)
        if seq is None or int(seq[1]) > wanted:
            continue
        record = _record(line)
        if int(seq[1]) < wanted or record is None:
            return None
        if record["event"].get("id") == event.get("keptFrom"):
            return start
    return None


def _compaction(line: bytes) -> dict[str, Any] | None:
    record = _record(line)
    if record is None or record["event"].get("type") != "conversationCompacted":
        return None
    wanted = record["event"].get("keptFromSeq")
    return record["event"] if wanted is None or type(wanted) is int else None


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict):
        return None
    record = cast(dict[str, Any], record)
    return record if isinstance(record.get("event"), dict) else None


def _last_mark(file: BufferedReader, begin: int, end: int) -> int | None:
    """Return where `_MARK` stands last between two places of the file."""
    overlap = len(_MARK) - 1
    chunk = bytearray(
        _CHUNK + overlap
    )  # one for all: a large one anew for each costs as much again
    view = memoryview(chunk)
    while end > begin:
        start = max(begin, end - _CHUNK)
        file.seek(start)
        size = end - start
        chunk[size : size + overlap] = chunk[:overlap]
        file.readinto(view[:size])
        found = chunk.rfind(_MARK, 0, size + overlap)
        if found >= 0:
            return start + found
        end = start
    return None


def _end_of_line(file: BufferedReader, place: int) -> int:
    file.seek(place)
    file.readline()
    return file.tell()


def _lines_backwards(file: BufferedReader, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines between two beginnings of lines, the last first, with where each begins."""
    rest = b""
    size = _CHUNK
    while end > begin:
        start = max(begin, end - size)
        file.seek(start)
        block = file.read(end - start) + rest
        first = block.find(b"\n") + 1 if start > begin else 0
        end = start
        if start > begin and first == 0:
            rest, size = block, size * 2
            continue
        place = start + len(block)
        for line in reversed(block[first:].split(b"\n")):
            place -= len(line)
            if line:
                yield place, line
            place -= 1
        rest = block[:first]
