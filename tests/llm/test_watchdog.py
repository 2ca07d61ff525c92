import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext

import pytest

from agentls.errors import StreamBroken, StreamStalled
from agentls.llm.model import StreamEvent
from agentls.llm.watchdog import watched

LONG, SHORT = 60.0, 0.01


class Stream:
    """Gives events, and then says nothing more until it is let on."""

    def __init__(self, *kinds: str, error: Exception | None = None) -> None:
        self._kinds = kinds
        self._error = error
        self.go_on = asyncio.Event()
        self.waits = asyncio.Event()
        self.closed = False
        self.quiet = 0

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        try:
            for kind in self._kinds:
                if kind == "silence":
                    self.waits.set()
                    await self.go_on.wait()
                    continue
                yield {"type": kind}
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True

    def watched(
        self, *, first: float = LONG, gap: float = LONG, quiet: float = LONG
    ) -> AsyncGenerator[StreamEvent, None]:
        return watched(self.events(), first=first, gap=gap, quiet=quiet, on_quiet=self.note_silence)

    def note_silence(self) -> None:
        self.quiet += 1
        self.go_on.set()


async def kinds(events: AsyncGenerator[StreamEvent, None]) -> list[str]:
    return [event["type"] async for event in events]


async def test_events_pass_and_the_stream_is_closed() -> None:
    stream = Stream("a", "b", "c")

    assert await kinds(stream.watched()) == ["a", "b", "c"]
    assert (stream.closed, stream.quiet) == (True, 0)


async def test_stream_that_never_begins_stalls() -> None:
    stream = Stream("silence", "a")
    with pytest.raises(StreamStalled, match=r"within 0\.01 s"):
        await kinds(stream.watched(first=SHORT))

    assert stream.closed


async def test_limit_between_events_is_another_one() -> None:
    stream = Stream("a", "silence", "b")
    events = stream.watched(gap=SHORT)

    assert await anext(events) == {"type": "a"}
    with pytest.raises(StreamStalled):
        await anext(events)
    assert stream.closed
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_silence_is_told_once_and_waited_out() -> None:
    stream = Stream("a", "silence", "b", "c")

    assert await kinds(stream.watched(quiet=SHORT)) == ["a", "b", "c"]
    assert stream.quiet == 1


async def test_each_silence_is_told() -> None:
    class Stuttering(Stream):
        def note_silence(self) -> None:
            super().note_silence()
            self.go_on = asyncio.Event() if self.quiet == 1 else self.go_on

    stream = Stuttering("silence", "a", "silence", "b")
    assert await kinds(stream.watched(quiet=SHORT)) == ["a", "b"]
    assert stream.quiet == 2


async def test_time_that_the_reader_takes_is_no_silence() -> None:
    stream = Stream("a", "b")
    seen: list[str] = []
    async for event in stream.watched(first=LONG, gap=SHORT, quiet=SHORT):
        await asyncio.sleep(SHORT * 5)
        seen.append(event["type"])

    assert (seen, stream.quiet) == (["a", "b"], 0)


@pytest.mark.parametrize("error", [StreamBroken("cut"), TimeoutError("its own")])
async def test_error_of_the_stream_is_its_own(error: Exception) -> None:
    stream = Stream("a", error=error)
    with pytest.raises(type(error)) as caught:
        await kinds(stream.watched())

    assert caught.value is error


async def test_cancelling_the_reader_passes_and_closes_the_stream() -> None:
    stream = Stream("a", "silence")
    reading = asyncio.create_task(kinds(stream.watched()))
    await stream.waits.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert stream.closed


async def test_closing_closes_the_stream_at_once() -> None:
    stream = Stream("a", "silence")
    async with aclosing(stream.watched()) as events:
        await anext(events)
        assert not stream.closed

    assert stream.closed


async def test_no_timer_is_left_behind() -> None:
    stream = Stream("a", "b")
    async with aclosing(stream.watched(quiet=SHORT)) as events:
        await anext(events)
    await asyncio.sleep(SHORT * 3)

    assert stream.quiet == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancel_that_meets_a_stall_is_a_cancel() -> None:
    class Clinging(Stream):
        async def events(self) -> AsyncGenerator[StreamEvent, None]:
            try:
                async for event in super().events():
                    yield event
            except asyncio.CancelledError:
                reading.cancel()
                raise

    reading = asyncio.create_task(kinds(Clinging("a", "silence").watched(gap=SHORT)))
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_after_a_stall_its_reader_can_be_cancelled_as_ever() -> None:
    async def read() -> None:
        with pytest.raises(StreamStalled):
            await kinds(Stream("silence").watched(first=SHORT))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        async with asyncio.timeout(SHORT):
            await asyncio.sleep(LONG)

    with pytest.raises(TimeoutError):
        await asyncio.create_task(read())


@pytest.mark.parametrize(("pause", "passed"), [(0.5, 10), (1.5, 0)])
async def test_silences_are_each_for_itself(
    monkeypatch: pytest.MonkeyPatch, pause: float, passed: int
) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()

    class Slow(Stream):
        async def events(self) -> AsyncGenerator[StreamEvent, None]:
            nonlocal now
            for number in range(10):
                now += pause
                for _ in range(3):
                    await asyncio.sleep(0)
                yield {"type": f"{number}"}

    monkeypatch.setattr(loop, "time", lambda: now)
    seen: list[str] = []
    with nullcontext() if passed else pytest.raises(StreamStalled):
        async for event in Slow().watched(first=1, gap=1, quiet=LONG):
            seen.append(event["type"])
    assert len(seen) == passed


async def test_events_that_come_at_once_need_no_timer_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop, made = asyncio.get_running_loop(), []
    call_at = loop.call_at
    monkeypatch.setattr(loop, "call_at", lambda *args: made.append(args) or call_at(*args))
    assert len(await kinds(Stream(*["a"] * 1_000).watched())) == 1_000
    assert len(made) == 1
