"""How the file of a lease gets one owner, with nothing but atomic steps of a file system.

Whose lease it is, is whose token stands in the one file at its place, so that it is never two
processes'. That file changes in three ways, each atomic:

- Where there is none, `link` puts a finished one there, and fails where another came first.
- A dead owner's file is replaced only by who has the *claim* on it: a file beside it, named for its
  place and content, taken the same way as a lease. Tokens are never used twice, so a content that
  was replaced does not come back: who gets the claim late looks again, finds another content, and
  leaves it alone.
- An owner removes its own file, having the claim on it.

A claim whose owner died is a dead file like any other, and is replaced by who has the claim on the
claim; so, by induction, no two ever have the same one. An owner counts as dead if its process is
gone, which is exact, or, seen from another machine, if it was silent for 30 s. A live one can be
that silent when it was suspended; it finds another token in the file, and stops.

No locks are needed. Where there are no hard links a file is made in its place, and one that makes
no sense is left alone for a second, as it may be half-written.
"""

import errno
import hashlib
import os
import stat
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agentls.errors import StorageError
from agentls.sessions.owner import Owner

SILENCE_SECONDS = 30.0
"""How long the owner on another machine is silent before it counts as dead."""
LARGEST = 16 << 10
"""Bytes; what is larger is no lease."""
EXTRA_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
READ_FLAGS = EXTRA_FLAGS | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link or a pipe in a lease's place is not followed and not waited for."""

_PATIENCE_SECONDS = 5.0
"""How long others may be in the middle of taking the same lease over."""
_HALF_WRITTEN_SECONDS = 1.0
_LEFTOVER_SECONDS = 60.0
_POLL_SECONDS = 0.01
_SECOND = 1_000_000_000


class Held(Exception):
    """A live owner has the place."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(owner.describe())
        self.owner = owner


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a place."""

    data: bytes
    beat_at: int
    """When it was last written, in nanoseconds of the file system's clock."""
    owner: Owner | None
    """None where it makes no sense."""

    def key_at(self, place: Path) -> str:
        """Return what names the claim on it."""
        # What makes no sense has no token, and may look the same twice: its time tells it apart.
        told = f"{place.name} {0 if self.owner else self.beat_at} ".encode() + self.data
        return hashlib.sha256(told).hexdigest()[:32]

    def silent_for(self, now: int) -> float:
        """Return for how many seconds nobody wrote it; less than 0 where it is of the future."""
        return (now - self.beat_at) / _SECOND


@dataclass(frozen=True, slots=True)
class Draft:
    """A finished file that waits beside a lease's place to be put there."""

    path: Path
    now: int
    """When it was written: the present, in nanoseconds of the file system's clock."""


class Claimant:
    """A process that wants a lease, or has it. Its token is in `data`, and nobody else's is."""

    def __init__(self, lease: Path, owner: Owner) -> None:
        self.owner = owner
        self.data = owner.model_dump_json().encode() + b"\n"
        self._lease = lease

    def take(self) -> None:
        """Make the lease this claimant's. Raises `Held`, `StorageError`, OSError."""
        if self._take(self._lease, time.monotonic() + _PATIENCE_SECONDS):
            self._tidy_up()

    def give_back(self) -> None:
        """Remove the lease if it is this claimant's. Raises `Held`, `StorageError`, OSError."""
        found = read_place(self._lease)
        if found is None or found.data != self.data:
            return
        until = time.monotonic() + _PATIENCE_SECONDS
        with self._claim(self._lease, found, until) as still_there:
            if still_there:
                self._lease.unlink()

    def _take(self, place: Path, until: float) -> bool:
        """Put `data` at `place`; return whether something dead was replaced."""
        while True:
            with draft(self._lease, self.data) as mine:  # anew each time: it tells the present
                if self._put(mine, place):
                    return False
                found = read_place(place)
                if found is not None and found.data == self.data:
                    return False  # a network file system did it, and said that it had not
                if (
                    found is not None
                    and self._is_dead(place, found, mine.now)
                    and self._replace(place, found, mine, until)
                ):
                    return True
            if time.monotonic() > until:
                raise StorageError(f"{place} changes all the time; try again")
            time.sleep(_POLL_SECONDS)

    def _put(self, mine: Draft, place: Path) -> bool:
        """Put a file where there is none; return False where there is one."""
        try:
            os.link(mine.path, place)
        except (FileExistsError, FileNotFoundError):  # taken; or the draft was tidied away
            return False
        except OSError:  # no hard links here
            return _write_new(place, self.data)
        return True

    def _is_dead(self, place: Path, found: Found, now: int) -> bool:
        """Whether it may be replaced; False where that shows later. Raises `Held`: it lives."""
        silence = found.silent_for(now)
        owner = found.owner
        if owner is None:
            return abs(silence) > _HALF_WRITTEN_SECONDS
        if owner.shares_machine_with(self.owner):
            dead = not owner.lives_beside(self.owner)
        else:
            dead = silence > SILENCE_SECONDS
            if silence < 0:
                # The clock went back, and would hide for as long that the owner is silent.
                with suppress(OSError):
                    write_again(place, found.data)
        if not dead:
            raise Held(owner)
        return True

    def _replace(self, place: Path, found: Found, mine: Draft, until: float) -> bool:
        """Replace what is dead; return False where another was faster."""
        try:
            with self._claim(place, found, until) as still_there:
                if still_there:
                    mine.path.replace(place)
                return still_there
        except FileNotFoundError:  # the draft was tidied away
            return False
        except Held:
            if time.monotonic() > until:
                raise
            return False

    @contextmanager
    def _claim(self, place: Path, found: Found, until: float) -> Generator[bool, None, None]:
        """Have the claim on what was found; yields whether it is still there."""
        claim = _beside(self._lease, found.key_at(place))
        self._take(claim, until)
        try:
            yield read_place(place) == found
        finally:
            # One that stays is in nobody's way: what it is on is gone, or its owner will be.
            with suppress(OSError):
                if holds(claim, self.data):
                    claim.unlink()

    def _tidy_up(self) -> None:
        """Remove what processes left that died on the way.

        Every claim but that on the lease as it is now is on something that is gone for good.
        """
        with suppress(OSError, StorageError), draft(self._lease, b"") as present:
            mine = read_place(self._lease)
            if mine is None or mine.data != self.data:
                return
            kept = _beside(self._lease, mine.key_at(self._lease))
            for path in self._lease.parent.glob(f"{self._lease.name}.*"):
                age = (present.now - path.lstat().st_mtime_ns) / _SECOND
                if path != kept and age > _LEFTOVER_SECONDS:
                    path.unlink()


def read_place(place: Path) -> Found | None:
    """Return what stands at `place`, None where nothing does.

    What cannot be read makes no sense. Raises `StorageError` where another user keeps it closed.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY | READ_FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(place, error)
    try:
        # Of the open file: a network file system then asks its server, and not its memory.
        status = os.fstat(descriptor)
        data = os.read(descriptor, LARGEST) if stat.S_ISREG(status.st_mode) else b""
    except OSError as error:
        return _unreadable(place, error)
    finally:
        os.close(descriptor)
    return Found(data, status.st_mtime_ns, _owner_in(data))


def holds(place: Path, data: bytes) -> bool:
    """Whether just `data` stands at `place`; False also where that cannot be told."""
    try:
        descriptor = os.open(place, os.O_RDONLY | READ_FLAGS)
    except OSError:
        return False
    try:
        return os.read(descriptor, LARGEST) == data
    except OSError:
        return False
    finally:
        os.close(descriptor)


def write_again(place: Path, data: bytes) -> bool:
    """Write what is there once more; return False where it is not `data`. Raises OSError.

    That gives the file the present of the file system's own clock, which a time that is set by a
    caller need not be; and no reader ever sees anything else in it.
    """
    try:
        descriptor = os.open(place, os.O_RDWR | READ_FLAGS)
    except FileNotFoundError:
        return False
    try:
        if os.read(descriptor, LARGEST) != data:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, data)
        return True
    finally:
        os.close(descriptor)


@contextmanager
def draft(lease: Path, data: bytes) -> Generator[Draft, None, None]:
    """Have a file with `data` beside the lease. Raises OSError."""
    path = _beside(lease, f"{uuid.uuid4().hex}.new")
    _write_new(path, data)
    try:
        yield Draft(path, path.stat().st_mtime_ns)
    finally:
        with suppress(OSError):
            path.unlink()


def _beside(lease: Path, ending: str) -> Path:
    return lease.with_name(f"{lease.name}.{ending}")


def _write_new(path: Path, data: bytes) -> bool:
    """Make a file; return False where there is one. Leaves none where it fails. Raises OSError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | EXTRA_FLAGS, 0o600)
    except FileExistsError:
        return False
    try:
        try:
            written = os.write(descriptor, data)
        finally:
            os.close(descriptor)
        if written < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    return True


def _unreadable(place: Path, error: OSError) -> Found | None:
    try:
        status = place.lstat()
    except OSError:
        return None
    if isinstance(error, PermissionError) and status.st_uid != _user():
        raise StorageError(
            f"{place} belongs to another user, who may have the session open: "
            "it can be opened by that user alone"
        ) from error
    return Found(b"", status.st_mtime_ns, None)


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _owner_in(data: bytes) -> Owner | None:
    try:
        return Owner.model_validate_json(data) if len(data) < LARGEST else None
    except ValueError:
        return None
