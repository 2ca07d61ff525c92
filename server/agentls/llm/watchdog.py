"""Watches a stream of the model's events for silence."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from agentls.errors import StreamStalled
from agentls.llm.model import StreamEvent


async def watched(
    events: AsyncGenerator[StreamEvent, None],
    *,
    first: float,
    gap: float,
    quiet: float,
    on_quiet: Callable[[], None],
) -> AsyncGenerator[StreamEvent, None]:
    """Yield `events` as they come, and raise StreamStalled where none comes for too long.

    `first` is the limit for the first event and `gap` for each further one, in seconds; any event
    ends a silence, `ping` too, and the time that the reader takes between two does not count.
    `on_quiet` is called once in a silence of `quiet` seconds. Closing this generator, cancelling
    who reads it and a stall all end `events` before they return.
    """
    watch = _Watch(quiet, on_quiet)
    limit = first
    try:
        async with aclosing(events):
            while True:
                watch.begin(limit)
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    if watch.is_own_cancel():
                        raise StreamStalled(
                            f"Nothing more came from the model within {limit:g} s, and its answer "
                            "was given up"
                        ) from None
                    raise
                finally:
                    watch.end()
                yield event
                limit = gap
    finally:
        watch.close()


class _Watch:
    """One timer over all silences of a stream: an event only notes that it has come.

    A timer of its own for each event would cost as much as reading the event does.
    """

    def __init__(self, quiet: float, on_quiet: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._quiet = quiet
        self._on_quiet = on_quiet
        self._timer: asyncio.TimerHandle | None = None
        self._since: float | None = None
        """When the silence began; None while the reader is at work."""
        self._limit = 0.0
        self._is_told = False
        self._reader: asyncio.Task[Any] | None = None
        self._cancels = 0
        """How often the reader was cancelled already when the silence began."""
        self._has_cancelled = False

    def begin(self, limit: float) -> None:
        """Begin a silence, which the current task waits out for `limit` seconds at most."""
        self._since, self._limit, self._is_told = self._loop.time(), limit, False
        self._reader = asyncio.current_task()
        self._cancels = self._reader.cancelling() if self._reader else 0
        due = self._since + min(limit, self._quiet)
        if self._timer is None or due < self._timer.when():
            self._wake_at(due)

    def end(self) -> None:
        """End the silence."""
        self._since = None
        if self._has_cancelled and self._reader is not None:
            self._has_cancelled = False
            self._reader.uncancel()

    def is_own_cancel(self) -> bool:
        """Whether the reader was cancelled by the watch, and by nobody else."""
        return (
            self._has_cancelled
            and self._reader is not None
            and self._reader.cancelling() == self._cancels + 1
        )

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wake_at(self, due: float) -> None:
        self.close()
        self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return  # the next silence sets a timer
        end = self._since + self._limit
        if self._loop.time() >= end:
            self._has_cancelled = True
            if self._reader is not None:
                self._reader.cancel()
            return
        told_at = self._since + self._quiet
        if self._loop.time() >= told_at and not self._is_told:
            self._is_told = True
            self._on_quiet()
        self._wake_at(end if self._is_told else min(end, told_at))
