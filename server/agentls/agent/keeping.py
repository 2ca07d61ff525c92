"""Keeps the answer that streams, so that a crash leaves what the user saw up to a second ago."""

import asyncio
from collections.abc import Callable

from agentls.protocol.content import LivePart
from agentls.protocol.events.conversation import (
    AnswerProgressed,
    AnswerStarted,
    PartDelta,
    PartProgress,
    PartStarted,
)

KEEP_SECONDS = 0.8
"""How long streamed text may be told and not kept; a second is what is promised."""

StreamedEvent = AnswerStarted | PartStarted | PartDelta
Emit = Callable[[StreamedEvent | AnswerProgressed], None]


class AnswerKeeper:
    """Passes streamed events on, and emits now and then what the answer has gained.

    Tool calls are left out: none of them has run, and half of one is of no use to anybody.
    """

    def __init__(self, message_id: str, model: str, parent: str, emit: Emit) -> None:
        self._message_id = message_id
        self._model = model
        self._parent = parent
        self._emit = emit
        self._parts: dict[str, LivePart] = {}
        self._gained: dict[str, PartProgress] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, event: StreamedEvent) -> None:
        """Take the next event of the stream."""
        self._emit(event)
        match event:
            case PartStarted():
                self._parts[event.part.id] = event.part
            case PartDelta():
                self._add(event)
            case AnswerStarted():
                pass

    def stop(self) -> None:
        """Keep nothing more: the answer is finished, or given up."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _add(self, delta: PartDelta) -> None:
        part = self._parts[delta.part_id]
        if part.type == "toolCall":
            return
        before = self._gained.get(part.id)
        text = before.text + delta.text if before else delta.text
        self._gained[part.id] = PartProgress(
            part_id=part.id,
            type=part.type,
            name=part.name,
            offset=before.offset if before else delta.offset,
            text=text,
        )
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._keep)

    def _keep(self) -> None:
        self._timer = None
        gained, self._gained = tuple(self._gained.values()), {}
        self._emit(
            AnswerProgressed(
                parent=self._parent, message_id=self._message_id, model=self._model, parts=gained
            )
        )
