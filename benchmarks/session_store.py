"""What the folder of sessions costs, against the same bytes read and written with nothing else.

    python benchmarks/session_store.py             1,000 sessions, 10,000 events
    python benchmarks/session_store.py --quick

The other side is measured by turns in the same run: a plain `os.write` per line; `open` and `read`
of the heads and tails that a list has to look at.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from table import Fact, Row, render

from agentls.protocol.content import TextBlock, TextPart, Usage
from agentls.protocol.events.conversation import (
    AnswerFinished,
    PromptQueued,
    SessionCreated,
    SessionMeta,
    ToolCallFinished,
)
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.requests import SessionSummary
from agentls.sessions.catalog import HEAD_BYTES, WINDOW_BYTES
from agentls.sessions.folder import FolderLog, FolderStore
from agentls.sessions.log_file import LogFile
from agentls.sessions.records import envelope_line, header_line, summary_line
from agentls.sessions.writer import LogWriter

AT = "2026-11-30T12:00:00.000Z"
APPEND_TARGET = 1.5
LIST_TARGET = 3.0


def measure(*, sessions: int = 1000, events: int = 10_000, pairs: int = 12) -> list[Row | Fact]:
    """Return the rows of the table; what is written lies beside the sources, on a real disk."""
    folder = Path(tempfile.mkdtemp(prefix=".bench-", dir=Path(__file__).parent))
    try:
        return [
            *_append_rows(folder / "append", events, pairs),
            _flush_row(folder / "flush", pairs),
            *_list_rows(folder / "list", sessions, pairs),
        ]
    finally:
        shutil.rmtree(folder)


def _append_rows(folder: Path, count: int, pairs: int) -> list[Row | Fact]:
    # Nothing is written before a prompt.
    prompt = PromptQueued(item_id="t", content=(TextBlock(text="Fix the parser"),))
    events = [prompt, *(_event(seq) for seq in range(2, count + 1))]
    envelopes = [_envelope(seq, event) for seq, event in enumerate(events, start=1)]
    lines = [envelope_line(envelope) for envelope in envelopes]
    size = sum(map(len, lines)) / count
    raw, queue, log, making = _readings(
        [
            lambda number: _write_raw(folder / f"raw{number}", lines),
            lambda number: _append_lines(folder / f"lines{number}", lines),
            lambda number: _append_events(folder / f"log{number}", envelopes),
            lambda _: _timed(lambda: [envelope_line(envelope) for envelope in envelopes]),
        ],
        folder,
        pairs,
    )
    both = [write + make for write, make in zip(raw, making, strict=True)]
    name = f"append {count:,} events of {size:.0f} bytes"
    return [
        Row(f"{name}: lines", "ms", raw, queue, target=APPEND_TARGET),
        Row(f"{name}: envelopes, against ready lines", "ms", raw, log),
        Row("the same, where both make the lines", "ms", both, log, target=APPEND_TARGET),
    ]


def _write_raw(path: Path, lines: list[bytes]) -> float:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write() -> None:
        for line in lines:
            os.write(descriptor, line)

    try:
        return _timed(write)
    finally:
        os.close(descriptor)


def _append_lines(path: Path, lines: list[bytes]) -> float:
    async def run() -> float:
        writer = LogWriter(LogFile(path))
        started = time.perf_counter()
        for line in lines:
            writer.append(line)
        await writer.flush()
        taken = time.perf_counter() - started
        writer.close()
        return taken * 1e3

    return asyncio.run(run())


def _append_events(folder: Path, envelopes: list[Envelope]) -> float:
    async def run() -> float:
        log: FolderLog = FolderStore(folder).create("s")
        started = time.perf_counter()
        for envelope in envelopes:
            log.append(envelope)
        await log.flush()
        taken = time.perf_counter() - started
        await log.aclose()
        return taken * 1e3

    return asyncio.run(run())


def _flush_row(folder: Path, pairs: int) -> Row:
    """One line at a time, each awaited: the price of a thread that may hang in our place."""
    lines = [envelope_line(_envelope(seq, _event(seq))) for seq in range(1, 301)]

    def flush_each(number: int) -> float:
        async def run() -> float:
            writer = LogWriter(LogFile(folder / f"ours{number}"))
            writer.append(b"first\n")
            await writer.flush()
            started = time.perf_counter()
            for line in lines:
                writer.append(line)
                await writer.flush()
            taken = time.perf_counter() - started
            writer.close()
            return taken * 1e3

        return asyncio.run(run())

    raw, ours = _readings(
        [lambda number: _write_raw(folder / f"raw{number}", lines), flush_each], folder, pairs
    )
    return Row(
        "one event, awaited in the file",
        "us",
        [reading / len(lines) * 1e3 for reading in raw],
        [reading / len(lines) * 1e3 for reading in ours],
    )


def _list_rows(folder: Path, count: int, pairs: int) -> list[Row | Fact]:
    rows: list[Row | Fact] = []
    for name, described in (("with summaries", True), ("without any", False)):
        store = _make_sessions(folder / str(described), count, described=described)
        paths = sorted((store.folder / "sessions").glob("*.jsonl"))
        found = len(store.list())
        raw, ours = _readings(
            [
                lambda _, paths=paths: _timed(lambda: _read_ends(paths)),
                lambda _, store=store: _timed(store.list),
            ],
            folder,
            pairs,
        )
        target = LIST_TARGET if described else None
        rows.append(Row(f"list {count:,} sessions {name}", "ms", raw, ours, target=target))
        rows.append(Fact(f"sessions listed {name}", found == count, f"{found} of {count}"))
    return rows


def _read_ends(paths: list[Path]) -> int:
    total = 0
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(descriptor).st_size
            total += len(os.pread(descriptor, HEAD_BYTES, 0))
            total += len(os.pread(descriptor, WINDOW_BYTES, max(0, size - WINDOW_BYTES)))
        finally:
            os.close(descriptor)
    return total


def _make_sessions(folder: Path, count: int, *, described: bool) -> FolderStore:
    """Make logs of 10 to 300 KB; each ends in a summary and up to twenty events after it."""
    pick = random.Random(1)
    sessions = folder / "sessions"
    sessions.mkdir(parents=True)
    turn = b"".join(envelope_line(_envelope(seq, _event(seq))) for seq in range(2, 22))
    for number in range(count):
        name = f"20261130-{number:06d}"
        meta = SessionMeta(id=name, created_at=AT, cwd=".", agentls_version="0")
        prompt = PromptQueued(item_id="t", content=(TextBlock(text="Fix the parser"),))
        created = _envelope(1, SessionCreated(session=meta, model="m"))
        parts = [header_line(name), envelope_line(created), envelope_line(_envelope(2, prompt))]
        parts.append(turn * pick.randrange(1, 30))
        if described:
            parts.append(summary_line(_summary(name), AT))
            parts += [envelope_line(_envelope(3, _event(3)))] * pick.randrange(20)
        (sessions / f"{name}.jsonl").write_bytes(b"".join(parts))
    return FolderStore(folder)


def _envelope(seq: int, event: SessionEvents) -> Envelope:
    return Envelope(seq=seq, session_id="s", turn_id="turn", origin=None, at=AT, event=event)


def _event(seq: int) -> SessionEvents:
    text = "the quick brown fox jumps over the lazy dog " * (1 + seq % 12)
    if seq % 2:
        return ToolCallFinished(
            parent=f"msg_{seq - 1:016x}",
            call_id=f"toolu_{seq:020x}",
            outcome="ok",
            summary="Read src/parser.py",
            content=(TextBlock(text=text),),
        )
    return AnswerFinished(
        id=f"msg_{seq:016x}",
        parent=f"msg_{seq - 2:016x}",
        model="claude-sonnet-4-5",
        parts=(TextPart(id=f"part{seq}", text=text),),
        stop_reason="endTurn",
        response_id=f"resp_{seq:020x}",
        usage=Usage(input_tokens=1000, output_tokens=100),
    )


def _summary(name: str) -> SessionSummary:
    return SessionSummary(
        id=name,
        title="Fix the parser",
        tag=None,
        last_prompt="Fix the parser",
        created_at=AT,
        updated_at=AT,
        message_count=42,
        model="claude-sonnet-4-5",
        git_branch="main",
        usage=Usage(input_tokens=100_000, output_tokens=5000),
        forked_from=None,
        open=False,
    )


def _readings(
    subjects: list[Callable[[int], float]], folder: Path, pairs: int
) -> list[list[float]]:
    """Measure each subject once a round, forth and back; the first round only warms up."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[list[float]] = [[] for _ in subjects]
    for number in range(pairs + 1):
        order = list(enumerate(subjects))
        for index, subject in order if number % 2 else reversed(order):
            reading = subject(number)
            if number:
                found[index].append(reading)
    return found


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer sessions, events and readings")
    quick = parser.parse_args().quick
    rows = measure(sessions=200, events=2000, pairs=5) if quick else measure()
    print(render(rows))
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
