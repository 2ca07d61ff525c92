"""A process that writes to the sessions of one database, for tests that run several of them."""

import asyncio
import sys
import time
from pathlib import Path

from agentls.errors import LogConflict, SessionInUse, UnknownSession
from agentls.sessions.owner import Owner
from agentls.sessions.sqlite.store import SqliteStore
from tests.sessions.conformance.events import created, keep, prompted, seqs


async def hammer(path: Path, name: str, seconds: float) -> None:
    """Write to a session of its own and, in competition, to one of all; print what was written."""
    store = SqliteStore(path)
    end = time.monotonic() + seconds
    mine = f"own-{name}"
    await keep(store, created(mine), prompted(2, f"{name} 0", mine))
    number = 0
    while time.monotonic() < end:
        number += 1
        log = store.open(mine, after=number + 1)
        log.append(prompted(number + 2, f"{name} {number}", mine))
        await log.aclose()
        await _write_to_shared(store, f"{name} {number}", end)
        print(number, flush=True)  # noqa: T201
    store.close()


async def _write_to_shared(store: SqliteStore, text: str, end: float) -> None:
    while True:
        last = seqs(store, "shared")[-1]
        log = store.open("shared", after=last)
        log.append(prompted(last + 1, text, "shared"))
        try:
            await log.aclose()
            return
        except LogConflict:
            pass


async def own(path: Path, seconds: float) -> None:
    """Take and give back the lease of one session; print when it was whose."""
    store = SqliteStore(path)
    owner = Owner.here("headless")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            lease = store.leases.acquire("shared", owner)
        except SessionInUse:
            continue
        began = time.monotonic_ns()
        assert lease.still_mine()
        await asyncio.sleep(0.001)
        assert lease.still_mine()
        print(began, time.monotonic_ns(), flush=True)  # noqa: T201
        lease.release()
    store.close()


async def stream(path: Path) -> None:
    """Write one event after the other until killed; print what is acknowledged."""
    store = SqliteStore(path)
    try:
        last = seqs(store)[-1]
    except UnknownSession:
        await keep(store, created(), prompted(2))
        last = 2
    log = store.open("s1", after=last)
    while True:
        last += 1
        log.append(prompted(last, "x" * (last * 997 % 90_000)))
        await log.flush(durable=last % 5 == 0)
        print(last, flush=True)  # noqa: T201


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hammer", path, name, seconds]:
            asyncio.run(hammer(Path(path), name, float(seconds)))
        case ["own", path, seconds]:
            asyncio.run(own(Path(path), float(seconds)))
        case ["stream", path]:
            asyncio.run(stream(Path(path)))
        case unknown:
            sys.exit(f"what is {unknown}?")
