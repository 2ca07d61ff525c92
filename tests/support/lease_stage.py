"""A stage on which claimants of one lease take turns: one file operation at a time, in any order.

Each actor is a thread that stops before every `open`, `link`, `write`, `unlink` and `replace`, and
before each pause, until the test lets it go on. One that is killed does nothing more, like a
process: not even what it would have cleaned up.
"""

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from agentls.errors import SessionInUse
from agentls.sessions.lease import FolderLeases, Lease
from agentls.sessions.owner import Owner

STEPS = ("open", "link", "write", "unlink", "replace")
SECONDS = 60


def stage_owner(pid: int) -> Owner:
    """Return the owner that is the actor `pid`."""
    return Owner(
        host="stage", pid=pid, started="1", boot="1", face="lsp", since="", token=f"for {pid}"
    )


class Killed(BaseException):
    """Ends the thread of an actor."""


class Actor:
    """Takes the lease, and lets go of it where it is told to."""

    def __init__(self, stage: "Stage", pid: int, *, releases: bool) -> None:
        self.pid = pid
        self.lease: Lease | None = None
        """While it has it."""
        self.refused_by: Owner | None = None
        self.killed = False
        self.ended = False
        self.error: BaseException | None = None
        self._stage = stage
        self._releases = releases
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._play, name=f"actor {pid}")

    def start(self) -> None:
        """Go up to the first operation."""
        self._thread.start()
        assert self._stopped.acquire(timeout=SECONDS)

    def step(self) -> None:
        """Do one operation, up to the next one."""
        self._go.release()
        assert self._stopped.acquire(timeout=SECONDS)

    def kill(self) -> None:
        """End, with the next operation undone."""
        self.killed = True
        self.step()

    def join(self) -> None:
        """Wait for the thread."""
        self._thread.join(SECONDS)

    def wait_for_turn(self) -> None:
        """Called by the actor's thread before an operation."""
        if not self.killed:
            self._stopped.release()
            assert self._go.acquire(timeout=SECONDS)
        if self.killed:
            raise Killed

    def _play(self) -> None:
        self._stage.enter(self)
        try:
            lease = FolderLeases(self._stage.folder).acquire("it", stage_owner(self.pid))
            self.lease = lease
            self.wait_for_turn()
            if self._releases:
                self.lease = None
                lease.release()
        except SessionInUse as error:
            self.refused_by = cast(Owner, error.owner)
        except Killed:
            self.lease = None
        except BaseException as error:
            self.error = error
        finally:
            self.ended = True
            self._stopped.release()


class Stage:
    """Where actors play. `hard_links` says whether the file system knows them."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, *, hard_links: bool = True) -> None:
        self.folder = folder
        self.actors: list[Actor] = []
        self._by_thread: dict[int, Actor] = {}
        for name in STEPS:
            patch.setattr(os, name, self._taking_turns(getattr(os, name)))
        if not hard_links:
            patch.setattr(os, "link", _no_hard_links)
        patch.setattr(time, "sleep", self._pause(time.sleep))
        patch.setattr("agentls.sessions.owner.is_running", self._is_running)

    def cast(self, releases: tuple[bool, ...]) -> None:
        """Begin with an actor for each, which lets go of the lease or does not."""
        self.actors = [Actor(self, pid, releases=each) for pid, each in enumerate(releases, 1)]
        for actor in self.actors:
            actor.start()

    def enter(self, actor: Actor) -> None:
        """Take the calling thread for that actor."""
        self._by_thread[threading.get_ident()] = actor

    def holders(self) -> list[Actor]:
        """Return who was given the lease, and neither let go of it nor was killed."""
        return [actor for actor in self.actors if actor.lease is not None and not actor.killed]

    def _taking_turns(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def wait_and_do(*arguments: Any, **named: Any) -> Any:
            actor = self._by_thread.get(threading.get_ident())
            if actor is not None:
                actor.wait_for_turn()
            return operation(*arguments, **named)

        return wait_and_do

    def _pause(self, sleep: Callable[[float], None]) -> Callable[[float], None]:
        def wait(seconds: float) -> None:
            actor = self._by_thread.get(threading.get_ident())
            if actor is None:
                sleep(seconds)
            else:
                actor.wait_for_turn()

        return wait

    def _is_running(self, pid: int, started: str | None) -> bool:
        return pid == 99 or any(actor.pid == pid and not actor.killed for actor in self.actors)


def _no_hard_links(*arguments: Any, **named: Any) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))
