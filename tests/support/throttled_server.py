"""`agentls`, its log written slowly and in pieces, so that a kill lands inside of a write.

Every write to a `.jsonl` file is split in two, with a pause before, between and after.
"""

import os
import random
import sys
import time
from pathlib import Path

from agentls.cli.main import main

PAUSE_SECONDS = 0.03

_write = os.write
_random = random.Random()


def slow_write(fd: int, data: bytes) -> int:
    """Write as `os.write` does, but to a log half first."""
    if not _is_log(fd):
        return _write(fd, data)
    half = len(data) // 2
    _pause()
    done = _write(fd, data[:half])
    _pause()
    done += _write(fd, data[half:])
    _pause()
    return done


def _is_log(fd: int) -> bool:
    try:
        return Path(f"/proc/self/fd/{fd}").readlink().suffix == ".jsonl"
    except OSError:
        return False


def _pause() -> None:
    time.sleep(_random.random() * PAUSE_SECONDS)


if __name__ == "__main__":
    os.write = slow_write
    sys.exit(main())
