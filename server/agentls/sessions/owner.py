"""Who has a session to itself: a process, told from every other one that was or will be.

It knows processes and machines, not files of leases.
"""

import hashlib
import os
import socket
import sys
import uuid
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentls.errors import LeaseLost, SessionInUse
from agentls.protocol.wire_model import Timestamp, WireModel
from agentls.state.event_store import timestamp

BEAT_SECONDS = 5.0
"""How often an owner shows that it lives."""
Face = Literal["lsp", "headless", "cli"]

_FACES = {
    "lsp": "an editor's server",
    "headless": "a run of `agentls run`",
    "cli": "an `agentls` command",
}
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The one a Linux machine boots with; the kernel's PROC_PID_INIT_INO."""


class Owner(WireModel):
    """A process that has a session, or asks for it."""

    host: str
    """The machine's name, for people."""
    machine: str | None = None
    """What tells machines and containers of one name apart, where there is something."""
    pid: int = Field(ge=1, lt=1 << 32)
    started: str | None = None
    """When the process began, as its system tells it: to compare, no more. Null: not told."""
    boot: str | None = None
    """Which run of the machine this is, where the system tells it."""
    face: str
    """`lsp`, `headless`, `cli`; a newer agentls may know others."""
    since: Timestamp
    """For people; it is never compared."""
    token: str = Field(min_length=1)
    """Which lease of the process this is."""

    @classmethod
    def here(cls, face: Face) -> "Owner":
        """Return this process, now."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            machine=_machine(),
            pid=pid,
            started=_start_of(pid),
            boot=_boot(),
            face=face,
            since=timestamp(datetime.now(UTC)),
            token=uuid.uuid4().hex,
        )

    def for_new_lease(self) -> "Owner":
        """Return the same process with a token and a moment of its own."""
        return self.model_copy(
            update={"token": uuid.uuid4().hex, "since": timestamp(datetime.now(UTC))}
        )

    def shares_machine_with(self, other: "Owner") -> bool:
        """Whether both see the same processes. A machine that is not told does not differ."""
        unlike = self.machine and other.machine and self.machine != other.machine
        return self.host == other.host and not unlike

    def lives_beside(self, other: "Owner") -> bool:
        """Whether this process still runs, for one that shares its machine."""
        if self.boot and other.boot and self.boot != other.boot:
            return False
        return is_running(self.pid, self.started)

    def describe(self) -> str:
        """Say who it is, in words that are safe to print: the text may come from a file."""
        who = _FACES.get(self.face, self.face)
        text = f"{who} (process {self.pid} on {self.host}, since {self.since})"
        return "".join(char if char.isprintable() else "?" for char in text[:500])


def in_use(session_id: str, owner: Owner) -> SessionInUse:
    """Return the error for a session that `owner` has."""
    return SessionInUse(
        f"session {session_id} is open in {owner.describe()}. "
        "Follow it read-only, fork it, or close it there.",
        owner=owner,
    )


def lease_lost(session_id: str, why: str) -> LeaseLost:
    """Return the error for who had a session and has it no more."""
    return LeaseLost(
        f"session {session_id} is not written from here any more: {why}. What was not written is "
        "seen here alone; fork the session to go on from what is on disk."
    )


def is_running(pid: int, started: str | None) -> bool:
    """Whether the process that began at `started` runs, None standing for any.

    A zombie does not run. A process that may not be looked at does.
    """
    try:
        began = _start_of(pid)
    except ProcessLookupError:
        return False
    return began is None or started is None or began == started


def _start_of(pid: int) -> str | None:
    """Return when a process began; None where that is not told. Raises ProcessLookupError."""
    # psutil adds the time of the boot, which moves when the clock is set; the ticks do not.
    return _ticks_of(pid) if sys.platform == "linux" else _time_of(pid)


def _ticks_of(pid: int) -> str | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, PermissionError):
        return _unless_gone(pid)
    # Source: proc_pid_stat(5). The name, in parentheses, may hold anything.
    fields = status.rpartition(b")")[2].split()
    if fields[0] in (b"Z", b"X"):
        raise ProcessLookupError(pid)
    return fields[19].decode()


def _unless_gone(pid: int) -> None:
    """Raise ProcessLookupError where there is no such process; one of another user may hide."""
    try:
        os.kill(pid, 0)
    except OverflowError:
        raise ProcessLookupError(pid) from None
    except PermissionError:
        pass


def _time_of(pid: int) -> str | None:
    # Imported late: Linux does without.
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            raise ProcessLookupError(pid)
        return f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        raise ProcessLookupError(pid) from None
    except psutil.AccessDenied:
        return None


@cache
def _boot() -> str | None:
    return _read("/proc/sys/kernel/random/boot_id")


@cache
def _machine() -> str | None:
    """Return a name of the machine and, in a container, of its processes.

    The id of a machine is confidential (machine-id(5)), so only a hash of it is shown.
    """
    namespace = _pid_namespace()
    parts = [_read("/etc/machine-id"), None if namespace == _FIRST_PID_NAMESPACE else namespace]
    told = " ".join(part for part in parts if part)
    return hashlib.sha256(f"agentls {told}".encode()).hexdigest()[:16] if told else None


def _pid_namespace() -> str | None:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None
