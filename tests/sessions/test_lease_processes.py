"""Leases between real processes, which are killed, stopped and continued."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentls.errors import SessionInUse
from agentls.sessions.lease import FolderLeases
from agentls.sessions.owner import Owner
from tests.support.lease_owners import age, dead_owner, owner_elsewhere, put_lease

SECONDS = 60
"""More than anything takes on a busy machine."""
ROOT = Path(__file__).parents[2]


class Holder:
    def __init__(self, folder: Path, *host: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.lease_holder", str(folder), *host],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
            bufsize=1,
        )
        self.pid = self.process.pid

    def tell(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")

    def hear(self) -> str:
        assert self.process.stdout
        readable, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        assert readable, "no answer"
        return self.process.stdout.readline().strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        with self.process:
            pass


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Holder]]:
    holders: list[Holder] = []

    def start_one(*host: str) -> Holder:
        holders.append(Holder(tmp_path, *host))
        return holders[-1]

    yield start_one
    for holder in holders:
        if holder.process.returncode is None:
            holder.process.send_signal(signal.SIGCONT)
            holder.kill()


def started(start: Callable[..., Holder]) -> Holder:
    holder = start()
    assert holder.hear() == "ready"
    return holder


@pytest.mark.parametrize("hosts", [[], ["one", "two"]], ids=["one machine", "two machines"])
def test_eight_processes_race_and_one_gets_each_lease(start, tmp_path, hosts):
    """Some leases are free, some a dead owner's, some damaged."""
    free = [f"free-{number}" for number in range(30)]
    dead = [f"dead-{number}" for number in range(100)]
    garbage = [f"garbage-{number}" for number in range(30)]
    owner = dead_owner()
    for each in dead:
        put_lease(tmp_path / f"{each}.lease", owner.for_new_lease(), silent_for=100)
    for each in garbage:
        put_lease(tmp_path / f"{each}.lease", b"\0" * 100, silent_for=100)
    ids = [*free, *dead, *garbage]
    holders = [start(*hosts[number % 2 : number % 2 + 1]) for number in range(8)]
    assert [holder.hear() for holder in holders] == ["ready"] * 8
    for holder in holders:
        holder.tell(f"acquire {' '.join(ids)}")
    got = [[int(one) for one in holder.hear().split()] for holder in holders]
    assert [sum(each) for each in zip(*got, strict=True)] == [1] * len(ids)
    for number, each in enumerate(ids):
        winner = next(h for h, mine in zip(holders, got, strict=True) if mine[number])
        assert winner.ask(f"still {each}") == "True"
        holder = FolderLeases(tmp_path).holder(each)
        assert holder is not None
        assert holder.pid == winner.pid
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{e}.lease" for e in ids)


def test_processes_killed_at_any_moment_never_leave_two_owners_or_none(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.lease_storm", str(tmp_path), "6", "80", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    killed = {str(pid) for pid in json.loads(run.stdout)["killed"]}
    holder, taken_over = None, 0
    for line in (tmp_path / "log").read_text().split():
        mark, name = line[0], line[1:]
        if mark == "+":
            if holder is not None:
                assert holder.partition(".")[0] in killed, f"{name} got what {holder} had"
                taken_over += 1
            holder = name
        else:
            assert line == f"-{holder}"
            holder = None
    assert taken_over > 0
    # Whatever they left on the way, the next one gets it at once.
    lease = FolderLeases(tmp_path).acquire("it", Owner.here("cli"))
    assert lease.still_mine()
    lease.release()
    assert not (tmp_path / "it.lease").exists()


def test_session_of_a_killed_process_is_taken_over_at_once(start, tmp_path):
    first = started(start)
    assert first.ask("acquire it") == "1"
    second = started(start)
    assert second.ask("acquire it") == "0"
    first.kill()
    assert second.ask("acquire it") == "1"
    assert second.ask("still it") == "True"


def test_zombie_is_dead(start, tmp_path):
    holder = started(start)
    assert holder.ask("acquire it") == "1"
    holder.process.send_signal(signal.SIGKILL)
    # Waits for the end, and leaves the zombie.
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    assert FolderLeases(tmp_path).holder("it") is None
    assert FolderLeases(tmp_path).acquire("it", Owner.here("lsp")).still_mine()


def test_owner_that_is_stopped_keeps_its_session_on_its_own_machine(start, tmp_path):
    holder = started(start)
    assert holder.ask("acquire it") == "1"
    os.kill(holder.pid, signal.SIGSTOP)
    age(tmp_path / "it.lease", 3600)
    with pytest.raises(SessionInUse, match=f"process {holder.pid} on "):
        FolderLeases(tmp_path).acquire("it", Owner.here("lsp"))
    os.kill(holder.pid, signal.SIGCONT)
    assert holder.ask("still it") == "True"


def test_owner_that_was_suspended_finds_its_session_taken_by_another_machine(start, tmp_path):
    holder = started(start)
    assert holder.ask("acquire it") == "1"
    os.kill(holder.pid, signal.SIGSTOP)
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", owner_elsewhere())
    age(tmp_path / "it.lease", 31)
    lease = FolderLeases(tmp_path).acquire("it", owner_elsewhere())
    os.kill(holder.pid, signal.SIGCONT)
    assert holder.ask("still it") == "False"
    assert holder.ask("beat it") == "LeaseLost"
    assert holder.ask("release it") == "released"
    assert lease.still_mine()


def test_beat_of_a_continued_owner_keeps_other_machines_away(start, tmp_path):
    holder = started(start)
    assert holder.ask("acquire it") == "1"
    age(tmp_path / "it.lease", 31)
    assert holder.ask("beat it") == "beaten"
    with pytest.raises(SessionInUse):
        FolderLeases(tmp_path).acquire("it", owner_elsewhere())


def test_released_session_goes_to_the_next_process(start, tmp_path):
    first, second = started(start), started(start)
    for _ in range(20):
        assert first.ask("acquire it") == "1"
        assert second.ask("acquire it") == "0"
        assert first.ask("release it") == "released"
        assert first.ask("still it") == "False"
        first, second = second, first
    assert list(tmp_path.iterdir()) == []
