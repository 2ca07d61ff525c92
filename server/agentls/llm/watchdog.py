"""Watches a stream of the model's events for silence."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

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
    limit = first
    async with aclosing(events):
        while True:
            try:
                event = await _next_within(events, limit, quiet, on_quiet)
            except StopAsyncIteration:
                return
            yield event
            limit = gap


async def _next_within(
    events: AsyncGenerator[StreamEvent, None],
    limit: float,
    quiet: float,
    on_quiet: Callable[[], None],
) -> StreamEvent:
    noticed = asyncio.get_running_loop().call_later(quiet, on_quiet)
    timeout = asyncio.timeout(limit)
    try:
        async with timeout:
            return await anext(events)
    except TimeoutError:
        # The stream may have raised one of its own.
        if not timeout.expired():
            raise
        raise StreamStalled(
            f"Nothing more came from the model within {limit:g} s, and its answer was given up"
        ) from None
    finally:
        noticed.cancel()
