"""Processes that write logs and end, are killed, lose their rights, or write side by side."""

import json
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.log_faults import line, whole_lines
from tests.support.log_lines import can_be_nobody, give_to_nobody, run_script


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


WRITES_AND = """
import asyncio, os, signal, sys
from pathlib import Path
from agentls.sessions.log_file import LogFile
from agentls.sessions.writer import LogWriter, write_all_now

path, how = Path(sys.argv[1]), sys.argv[2]
writer = LogWriter(LogFile(path))

def on_signal(number, frame):
    write_all_now()
    os._exit(3)

async def main():
    writer.append(b"one\\n")
    await writer.flush()
    writer.append(b"two\\n")
    if how == "exit":
        sys.exit(3)
    if how == "raise":
        raise RuntimeError("oh")
    if how == "signal":
        signal.signal(signal.SIGTERM, on_signal)
        print("ready", flush=True)
        while True:
            writer.append(b"more\\n")

if how == "fork":
    writer.append(b"one\\ntwo\\n")
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    sys.exit(3)
if how == "no loop":
    writer.append(b"one\\ntwo\\n")
    sys.exit(3)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["exit", "raise", "no loop", "fork"])
def test_what_waits_is_written_when_the_interpreter_ends(path, how):
    process = run_script(WRITES_AND, path, how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == (1 if how == "raise" else 3), errors
    assert path.read_bytes() == b"one\ntwo\n"


def test_what_waits_is_written_by_a_signal_handler_that_asks_for_it(path):
    process = run_script(WRITES_AND, path, "signal")
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    lines = path.read_bytes().split(b"\n")
    assert lines[:2] == [b"one", b"two"]
    assert set(lines[2:-1]) <= {b"more"}
    assert lines[-1] == b""


needs_nobody = pytest.mark.skipif(not can_be_nobody(), reason="setpriv is missing")


WRITES = """
import asyncio, sys
from pathlib import Path
from agentls.errors import LogNotWritten
from agentls.sessions.log_file import LogFile
from agentls.sessions.writer import LogWriter

def line(number):
    return b'{"n":%d,"text":"%s"}\\n' % (number, b"x" * (number % 40))

def say(*words):
    print(*words, flush=True)
"""


@needs_nobody
@pytest.mark.parametrize("what", ["folder", "file"])
def test_permission_lost_midway_is_told_and_nothing_is_lost(what):
    """A descriptor stays usable; so the file is closed to it by being replaced."""
    script = (
        WRITES
        + """
async def main():
    path = Path(sys.argv[1])
    writer = LogWriter(LogFile(path))
    for number in range(1, 4):
        writer.append(line(number))
        try:
            await writer.flush()
            say("written")
        except LogNotWritten as error:
            say("refused", error)
        sys.stdin.readline()

asyncio.run(main())
"""
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "sessions"
        folder.mkdir()
        give_to_nobody(folder)
        path = folder / "log"
        process = run_script(script, path, as_nobody=True)
        assert process.stdout.readline() == "written\n", process.stderr.read()
        path.unlink()
        if what == "file":
            path.write_bytes(b"")
            path.chmod(0)
        else:
            folder.chmod(0o500)
        answer(process)
        refusal = process.stdout.readline()
        assert "refused" in refusal
        assert f"{path}: permission is denied" in refusal
        if what == "file":
            path.unlink()
        else:
            folder.chmod(0o700)
        answer(process)
        assert process.stdout.readline() == "written\n"
        assert path.read_bytes() == line(1) + line(2) + line(3)
        answer(process)
        ended, errors = finish(process)
        assert ended == 0
        assert "deleted while in use" in errors


@needs_nobody
def test_a_folder_that_cannot_be_written_is_told_at_the_first_line():
    script = (
        WRITES
        + """
async def main():
    writer = LogWriter(LogFile(Path(sys.argv[1])))
    writer.append(line(1))
    try:
        await writer.flush()
    except LogNotWritten as error:
        say(error)

asyncio.run(main())
"""
    )
    with tempfile.TemporaryDirectory() as made:
        give_to_nobody(Path(made))
        Path(made).chmod(0o500)
        process = run_script(script, f"{made}/log", as_nobody=True)
        out, errors = process.communicate(timeout=60)
        assert "permission is denied" in out, errors
        assert f"{len(line(1))} bytes wait in memory" in out
        assert process.returncode == 0
        Path(made).chmod(0o700)


def test_a_limit_on_file_sizes_is_told_and_lifted_without_loss(tmp_path):
    script = (
        WRITES
        + """
import resource

async def main():
    path = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    writer = LogWriter(LogFile(path))
    for number in range(1, 21):
        writer.append(line(number))
    try:
        await writer.flush()
    except LogNotWritten as error:
        say(path.stat().st_size, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await writer.flush()

asyncio.run(main())
"""
    )
    path = tmp_path / "log"
    process = run_script(script, path)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert out.startswith("100 ")
    assert "the file may not grow larger here" in out
    assert path.read_bytes() == b"".join(map(line, range(1, 21)))


def test_a_kill_at_any_moment_loses_no_line_that_was_acknowledged(tmp_path):
    script = (
        WRITES
        + """
import random

async def main():
    writer = LogWriter(LogFile(Path(sys.argv[1])))
    number = 0
    while True:
        for _ in range(random.randrange(1, 40)):
            number += 1
            writer.append(line(number))
        await writer.flush(durable=number % 7 == 0)
        say(number)

asyncio.run(main())
"""
    )
    pick = random.Random(3)
    for life in range(6):
        path = tmp_path / f"log{life}"
        process = run_script(script, path)
        acknowledged = int(process.stdout.readline())
        time.sleep(pick.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        acknowledged = int(out.split()[-1]) if out.endswith("\n") else acknowledged
        kept = whole_lines(path)
        assert kept == [line(number) for number in range(1, len(kept) + 1)]
        assert len(kept) >= acknowledged


def test_two_processes_that_write_one_log_never_splice_their_lines(tmp_path):
    script = (
        WRITES
        + """
import random

async def main():
    name = sys.argv[2]
    writer = LogWriter(LogFile(Path(sys.argv[1]), after=0))
    say("ready")
    sys.stdin.readline()
    for number in range(3000):
        writer.append(b'{"by":"%s","n":%d,"x":"%s"}\\n'
            % (name.encode(), number, b"x" * random.randrange(300)))
        if random.random() < 0.1:
            await writer.flush()
    await writer.flush()

asyncio.run(main())
"""
    )
    path = tmp_path / "log"
    processes = [run_script(script, path, name) for name in "ab"]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        answer(process)
    for process in processes:
        assert finish(process) == (0, "")
    # Where one saw the other's line half-way it began on a fresh one: an empty line may be there.
    found = [json.loads(data) for data in path.read_bytes().split(b"\n") if data]
    for name in "ab":
        assert [each["n"] for each in found if each["by"] == name] == list(range(3000))


def answer(process):
    process.stdin.write("\n")
    process.stdin.flush()


def finish(process):
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors
