"""Processes that take, use and release one lease all the time, and are killed at any moment.

    python -m tests.support.lease_storm FOLDER WORKERS KILLS SEED

Each writes "+name" to FOLDER/log when it has the lease, "-name" before it lets go, "!name" where
it was taken from it. Prints as JSON which processes were killed.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from agentls.errors import SessionInUse
from agentls.sessions.lease import FolderLeases
from agentls.sessions.owner import Owner


def main(folder: Path, workers: int, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    alive = [_start(folder) for _ in range(workers)]
    killed: list[int] = []
    try:
        for _ in range(kills):
            time.sleep(chance.uniform(0.001, 0.03))
            victim = alive.pop(chance.randrange(len(alive)))
            os.kill(victim, signal.SIGKILL)
            # Not waited for before the end: a zombie is as dead.
            killed.append(victim)
            alive.append(_start(folder))
    finally:
        killed += alive
        for pid in alive:
            os.kill(pid, signal.SIGKILL)
        for pid in killed:
            os.waitpid(pid, 0)
    sys.stdout.write(json.dumps({"killed": killed}))


def _start(folder: Path) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _work(folder)
        finally:
            os._exit(1)
    return pid


def _work(folder: Path) -> None:
    leases, owner = FolderLeases(folder), Owner.here("lsp")
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    parent = os.getppid()
    chance = random.Random(os.getpid())
    number = 0
    while os.getppid() == parent:
        number += 1
        name = f"{os.getpid()}.{number}"
        try:
            lease = leases.acquire("it", owner)
        except SessionInUse:
            continue
        os.write(log, f"+{name}\n".encode())
        if chance.random() < 0.2:  # else most are killed without having it
            time.sleep(0.01)
        os.write(log, f"{'-' if lease.still_mine() else '!'}{name}\n".encode())
        lease.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
