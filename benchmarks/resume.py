"""What resuming a long session costs, against reading the same lines as JSON and no more.

python benchmarks/resume.py [--old-megabytes 256] [--quick]
"""

import argparse
import contextlib
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import cast

import orjson
from table import Fact, Row, render

from agentls.protocol.content import TextBlock, TextPart, ToolCallPart, Usage
from agentls.protocol.events import conversation, envelope
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.kinds import MessageEvent
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import Decision
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import load
from agentls.sessions.raw_log import read_file
from agentls.sessions.records import envelope_line, header_line
from agentls.sessions.store import RawLog, SessionStore
from agentls.state.reduce_compaction import boundary_state

MESSAGES = 20_000
MEGABYTE = 1 << 20
LOG_BYTES = 50 * MEGABYTE
CALLS_PER_TURN = 3
ENTRIES_PER_TURN = 2 + 2 * CALLS_PER_TURN
PAIRS = 15
MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from resume import loaded, peak_bytes
idle = peak_bytes()
state = loaded(Path({path!r})).state
print(peak_bytes() - idle, len(state.history))
"""


class OneLog:
    """The store of a single log file, as far as loading needs one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, session_id: str, chat_id: str = "main", *, whole: bool = False) -> RawLog:
        return read_file(self._path, whole)

    def blob(self, session_id: str, sha256: str) -> bytes:
        raise FileNotFoundError(sha256)


def loaded(path: Path) -> LoadedSession:
    """Load the session of a log file."""
    return load(cast("SessionStore", OneLog(path)), "s1")


class Writer:
    """Writes turns as the agent would log them."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._file.write(header_line("s1"))
        self._seq = 0
        self._head: str | None = None
        self.first_of_turn = 0

    def close(self) -> None:
        self._file.close()

    def emit(self, event: envelope.SessionEvents, turn_id: str | None = None) -> None:
        self._seq += 1
        stamped = envelope.Envelope(
            seq=self._seq,
            session_id="s1",
            turn_id=turn_id,
            origin=envelope.Origin(client_id="c1", client_seq=self._seq),
            at="2026-11-30T12:00:00.000Z",
            event=event,
        )
        self._file.write(envelope_line(stamped))
        if isinstance(event, MessageEvent):
            self._head = event.id

    def turn(self, number: int, result: str) -> None:
        turn_id, prompt_id = f"turn{number}", f"msg{number}"
        content = (TextBlock(text=f"Look at file {number} and say what is in it."),)
        self.emit(conversation.PromptQueued(item_id=turn_id, content=content), turn_id)
        self.emit(conversation.PromptDequeued(item_id=turn_id, reason="started"), turn_id)
        self.first_of_turn = self._seq + 1
        self.emit(
            conversation.UserMessageReceived(id=prompt_id, parent=self._head, content=content),
            turn_id,
        )
        self.emit(conversation.TurnStarted(parent=prompt_id, model="claude"), turn_id)
        for round_ in range(CALLS_PER_TURN):
            self._answer(f"msg{number}.{round_}", turn_id, calls=True)
            self._call(f"msg{number}.{round_}", turn_id, result)
        self._answer(f"msg{number}.end", turn_id, calls=False)
        count = (number + 1) * ENTRIES_PER_TURN
        self.emit(
            conversation.TurnFinished(
                parent=prompt_id, status="completed", message_count=count, duration_ms=900
            ),
            turn_id,
        )

    def _answer(self, message_id: str, turn_id: str, *, calls: bool) -> None:
        text = "I read the file and look for what was asked. " * 8
        parts: list[TextPart | ToolCallPart] = [TextPart(id=f"{message_id}.0", text=text)]
        if calls:
            path = {"file_path": f"src/{message_id}.py", "offset": 1}
            parts.append(ToolCallPart(id=f"call.{message_id}", name="Read", input=path))
        usage = Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=90_000)
        self.emit(
            conversation.AnswerFinished(
                id=message_id,
                parent=self._head,
                model="claude",
                parts=tuple(parts),
                stop_reason="toolUse" if calls else "endTurn",
                response_id=f"resp.{message_id}",
                usage=usage,
            ),
            turn_id,
        )
        self.emit(
            conversation.UsageRecorded(
                response_id=f"resp.{message_id}", model="claude", usage=usage
            ),
            turn_id,
        )

    def _call(self, message_id: str, turn_id: str, result: str) -> None:
        call_id = f"call.{message_id}"
        allowed = Decision(behaviour="allow", decided_by="mode", reason="reading is allowed")
        self.emit(
            conversation.ToolCallStarted(
                parent=message_id, call_id=call_id, invocation="Reading a file", decision=allowed
            ),
            turn_id,
        )
        self.emit(
            conversation.ToolCallFinished(
                parent=message_id,
                call_id=call_id,
                outcome="ok",
                summary="Read 120 lines",
                content=(TextBlock(text=result),),
            ),
            turn_id,
        )

    def compact(self, state: SessionState) -> None:
        """Put a summary in place of all but the last turn."""
        self.emit(
            ConversationCompacted(
                id=f"sum{self._seq}",
                parent=None,
                logical_parent=self._head,
                kept_from=next(e.id for e in reversed(state.history) if e.type == "user"),
                kept_from_seq=self.first_of_turn,
                summary="The files were read.",
                message_count=len(state.history),
                state=boundary_state(state),
            )
        )


def write_long(path: Path, size: int = LOG_BYTES, messages: int = MESSAGES) -> None:
    """Write a session of so many messages and about so many bytes, without a compaction."""
    turns = messages // ENTRIES_PER_TURN
    overhead = 8_600
    per_result = max(100, (size // turns - overhead) // CALLS_PER_TURN)
    line = "    return the value that was read from the file, or None where there is none\n"
    result = (line * (per_result // len(line) + 1))[:per_result]
    writer = Writer(path)
    meta = conversation.SessionMeta(
        id="s1", created_at="2026-11-30T12:00:00.000Z", cwd=".", agentls_version="0"
    )
    writer.emit(conversation.SessionCreated(session=meta, model="claude"))
    for number in range(turns):
        writer.turn(number, result)
    writer.close()


def write_old(path: Path, long_log: Path, megabytes: int) -> None:
    """Write a log of this size whose last compaction stands before its last ten turns.

    What is before is the long session's lines again and again: nobody is to read them.
    """
    whole = long_log.read_bytes()
    body = whole[whole.index(b"\n") + 1 :]
    with path.open("wb") as file:
        file.write(header_line("s1"))
        while file.tell() < megabytes * MEGABYTE:
            file.write(body)
    tail = path.with_suffix(".tail")
    writer = Writer(tail)
    writer._seq = 10_000_000
    writer.turn(0, "short")
    writer.compact(_state_of(long_log))
    for number in range(1, 11):
        writer.turn(number, "a result of some length\n" * 40)
    writer.close()
    with path.open("ab") as file:
        file.write(tail.read_bytes().split(b"\n", 1)[1])


def _state_of(long_log: Path) -> SessionState:
    state = loaded(long_log).state
    last = state.history[-ENTRIES_PER_TURN]
    history = type(state.history)([last.model_copy(update={"id": "msg0"})])
    return state.model_copy(update={"history": history})


def seconds(action: Callable[[], object]) -> float:
    """Return how long an action takes; letting go of what it returns is not counted."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        result = action()
        taken = time.perf_counter() - start
        del result
        return taken
    finally:
        gc.enable()


def parse_file(path: Path) -> None:
    """Read the lines of a log as JSON, and keep nothing."""
    with path.open("rb", buffering=MEGABYTE) as file:
        parse(file)


def parse(lines: Iterable[bytes]) -> None:
    """Parse lines that are in memory, and keep nothing."""
    for line in lines:
        orjson.loads(line)


@contextlib.contextmanager
def logs(old_megabytes: int) -> Generator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory(prefix="agentls-resume-") as folder:
        long_log, old_log = Path(folder) / "long.jsonl", Path(folder) / "old.jsonl"
        write_long(long_log)
        write_old(old_log, long_log, old_megabytes)
        yield long_log, old_log


def measure(*, old_megabytes: int = 256, pairs: int = PAIRS) -> list[Row | Fact]:
    """Return the rows on resuming, for the table of all."""
    with logs(old_megabytes) as (long_log, old_log):
        lines = long_log.read_bytes().splitlines()
        read, parsed, long, old = [], [], [], []
        for _ in range(pairs):
            read.append(seconds(lambda: parse_file(long_log)) * 1e3)
            parsed.append(seconds(lambda: parse(lines)) * 1e3)
            long.append(seconds(lambda: loaded(long_log)) * 1e3)
            old.append(seconds(lambda: loaded(old_log)) * 1e3)
        size = long_log.stat().st_size
        used, messages = peak(long_log)
        old_size = old_log.stat().st_size
        old_used, _ = peak(old_log)
    name = f"resume of {messages:,} messages, {size / MEGABYTE:.0f} MB"
    return [
        Row(f"{name} / reading it with orjson alone", "ms", read, long, target=3.0),
        Row("  / orjson.loads of its lines, read before", "ms", parsed, long),
        Row(
            f"resume of a compacted log of {old_size / MEGABYTE:.0f} MB / of the one above",
            "ms",
            long,
            old,
            target=0.2,
        ),
        Fact(
            "memory that resuming takes at most",
            used <= 3 * size,
            f"{used / size:.2f} x the file ({used / MEGABYTE:.0f} MB), target 3",
        ),
        Fact(
            "memory of the compacted one",
            old_used <= size,
            f"{old_used / MEGABYTE:.1f} MB for a log of {old_size / MEGABYTE:.0f} MB",
        ),
    ]


def peak(path: Path) -> tuple[int, int]:
    """Return by how many bytes a process grows that resumes a log, and the messages found."""
    code = MEMORY.format(here=str(Path(__file__).parent), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    used, messages = map(int, done.stdout.split())
    return used, messages


def peak_bytes() -> int:
    """Return the most memory this process has had; `ru_maxrss` would start with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old-megabytes", type=int, default=256)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    pairs = 5 if arguments.quick else PAIRS
    rows = measure(old_megabytes=arguments.old_megabytes, pairs=pairs)
    print(render(rows))
    met = [row.met if isinstance(row, Fact) else row.verdict != "NOT MET" for row in rows]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
