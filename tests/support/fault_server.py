"""`agentls` on a disk that fails, and by a clock that goes wrong, as a file tells it while it runs.

The file that AGENTLS_FAULTS names holds words: `EIO` (half of a write arrives, then nothing more),
`hang` (writing does not come back), `clock=-3600` (seconds that the clock is off). Only logs are
meant, files that end in `.jsonl`; their syncing fails as their writing does.
"""

import datetime as clocks
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAUSE_SECONDS = 0.02
LONGEST_HANG = 120.0

_FAULTS = Path(os.environ["AGENTLS_FAULTS"])
_write = os.write
_fdatasync = os.fdatasync
_time = time.time
_datetime = clocks.datetime
_torn: set[str] = set()
"""The logs that half of a write went to since the disk began to fail."""


class WrongClock(clocks.datetime):
    """A clock that is off."""

    @classmethod
    def now(cls, tz: clocks.tzinfo | None = None) -> "WrongClock":
        """Return the time now, as this clock has it."""
        return cls.fromtimestamp(_time() + _offset(), tz)


def failing_write(fd: int, data: bytes) -> int:
    """Write as `os.write` does, or as a disk does that fails."""
    log = _log_at(fd)
    if log is None:
        return _write(fd, data)
    _hang()
    if "EIO" not in _told():
        _torn.discard(log)
        return _write(fd, data)
    if log not in _torn and len(data) > 1:
        _torn.add(log)
        return _write(fd, data[: len(data) // 2])
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def failing_sync(fd: int) -> None:
    """Sync as `os.fdatasync` does, or fail."""
    if _log_at(fd) is not None:
        _hang()
        if "EIO" in _told():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
    _fdatasync(fd)


def _hang() -> None:
    end = time.monotonic() + LONGEST_HANG
    while "hang" in _told() and time.monotonic() < end:
        time.sleep(PAUSE_SECONDS)


def _told() -> list[str]:
    try:
        return _FAULTS.read_text(encoding="ascii").split()
    except FileNotFoundError:
        return []


def _offset() -> float:
    told = [word.partition("=")[2] for word in _told() if word.startswith("clock=")]
    return float(told[-1]) if told else 0.0


def _log_at(fd: int) -> str | None:
    try:
        name = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - every write comes through here
    except OSError:
        return None
    return name if name.removesuffix(" (deleted)").endswith(".jsonl") else None


def _replace(module: Any, **functions: Callable[..., Any]) -> None:
    for name, function in functions.items():
        setattr(module, name, function)


if __name__ == "__main__":
    # Before the first import of agentls: its modules take these by name.
    _replace(clocks, datetime=WrongClock)
    _replace(time, time=lambda: _time() + _offset())
    _replace(os, write=failing_write, fdatasync=failing_sync)
    from agentls.cli.main import main

    sys.exit(main())
