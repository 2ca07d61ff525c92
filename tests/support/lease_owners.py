"""Owners of leases that are not this process, and leases of theirs in a folder."""

import os
import subprocess
import sys
import time
from pathlib import Path

from agentls.sessions.owner import Owner


def owner_elsewhere(**changes: object) -> Owner:
    """Return an owner on another machine."""
    here = Owner.here("lsp")
    told = {"host": "elsewhere", "machine": "0" * 16, "boot": "another", "pid": 4711, **changes}
    return here.model_copy(update=told)


def dead_owner() -> Owner:
    """Return an owner on this machine whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return Owner.here("lsp").model_copy(update={"pid": process.pid, "started": "1"})


def put_lease(path: Path, content: Owner | bytes, *, silent_for: float = 0) -> None:
    """Write a lease that was last heard of `silent_for` seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else content.model_dump_json().encode() + b"\n"
    path.write_bytes(data)
    age(path, silent_for)


def age(path: Path, seconds: float) -> None:
    """Let a file have been written `seconds` ago; less than 0: in the future."""
    moment = time.time() - seconds
    os.utime(path, (moment, moment))
