import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from agentls.tasks.guard import Guard
from tests.support.commands import lives

REPOSITORY = Path(__file__).parents[2]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def guard() -> Iterator[Guard]:
    guard = Guard()
    yield guard
    guard.close()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_watched_group_ends_with_the_guard(guard: Guard, sleeper: subprocess.Popen[bytes]) -> None:
    guard.watch(sleeper.pid)
    guard.close()
    assert sleeper.wait(10) == -15


def test_group_that_was_forgotten_is_left_alone(
    guard: Guard, sleeper: subprocess.Popen[bytes]
) -> None:
    guard.watch(sleeper.pid)
    guard.watch(999_999_999)
    guard.forget(sleeper.pid)
    guard.forget(999_999_999)
    guard.close()
    assert sleeper.poll() is None


def test_command_that_announces_itself_ends_with_the_guard(guard: Guard) -> None:
    arguments, stdin = guard.announcing(["/bin/sh", "-c", "cat; echo begun; exec sleep 1000"])
    command = subprocess.Popen(
        arguments, stdin=stdin, stdout=subprocess.PIPE, start_new_session=True
    )
    with command:
        assert command.stdout is not None
        assert command.stdout.readline() == b"begun\n"
        # Told again, it is still watched once, so that forgetting it once is enough.
        guard.watch(command.pid)
        guard.close()
        assert command.wait(10) == -15


def test_command_that_announced_itself_can_be_forgotten(guard: Guard) -> None:
    arguments, stdin = guard.announcing(["sleep", "1000"])
    with subprocess.Popen(arguments, stdin=stdin, start_new_session=True) as command:
        guard.watch(command.pid)
        until(lambda: psutil.Process(command.pid).name() == "sleep")
        guard.forget(command.pid)
        guard.close()
        assert command.poll() is None
        command.kill()


def test_guard_that_was_ended_begins_anew_and_knows_all(
    guard: Guard, sleeper: subprocess.Popen[bytes]
) -> None:
    guard.watch(sleeper.pid)
    assert guard._shell is not None
    guard._shell.kill()
    guard._shell.wait()
    guard.watch(999_999_999)
    guard.forget(999_999_999)
    guard.close()
    assert sleeper.wait(10) == -15


def test_commands_end_where_the_server_was_killed(tmp_path: Path) -> None:
    """SIGKILL gives nobody a chance to clean up; only another process can."""
    script = f"""
import asyncio, os
from pathlib import Path
from tests.support.commands import run
asyncio.run(run(
    "trap '' TERM; sleep 1000 & "
    "(setsid sh -c 'trap \\"\\" TERM; echo $$ > escaped; while :; do sleep 0.1; done' &); "
    "until [ -s escaped ]; do sleep 0.05; done; "
    "echo $$ $! $(cat escaped) > pids.part; mv pids.part pids; wait; sleep 1000",
    Path({str(tmp_path)!r}), seconds=100,
))
"""
    server = subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY)
    pids_file = tmp_path / "pids"
    until(pids_file.exists)
    pids = [int(pid) for pid in pids_file.read_text().split()]
    assert len(pids) == 3
    assert all(map(lives, pids))
    os.kill(server.pid, 9)
    server.wait()
    until(lambda: not any(map(lives, pids)))
