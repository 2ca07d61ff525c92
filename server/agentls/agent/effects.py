"""What follows from a change of state besides telling it: one table, in a fixed order.

Effects run in the store's hook, before any subscriber hears of the change, and never in a reducer.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentls.config.files import update_json
from agentls.errors import AgentError
from agentls.protocol.session_state import SessionState
from agentls.protocol.wire_model import JsonObject
from agentls.state.event_store import Moment

WRITE_DELAY_SECONDS = 0.5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Effect:
    """What to do when a part of the state becomes another."""

    name: str
    select: Callable[[SessionState], Any]
    apply: Callable[[Any], None]


class Effects:
    """Runs the effects whose part has changed, in the order of the table."""

    def __init__(self, table: Sequence[Effect]) -> None:
        self._table = tuple(table)

    def __call__(self, new: Moment, old: Moment) -> None:
        """Compare two moments of a session and run what follows."""
        if new.state is old.state:
            return
        for effect in self._table:
            after, before = effect.select(new.state), effect.select(old.state)
            if after is before or after == before:
                continue
            try:
                effect.apply(after)
            except Exception:
                logger.exception("the effect %r failed; the others go on", effect.name)


class SettingsWrites:
    """Writes changed values to the user's settings, together, half a second after the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: JsonObject = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def put(self, key: str, value: Any) -> None:
        """Set `key`; None removes it. `view.verbose` is the key `verbose` inside `view`."""
        self._waiting[key] = value
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(WRITE_DELAY_SECONDS, self._start)

    async def flush(self) -> None:
        """Write what waits, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._start()
        if self._writing is not None:
            await self._writing

    def _start(self) -> None:
        self._timer = None
        self._writing = asyncio.create_task(self._write(self._writing), name="settings write")

    async def _write(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        changes, self._waiting = self._waiting, {}
        try:
            await asyncio.to_thread(update_json, self._path, lambda old: _merged(old, changes))
        except (AgentError, OSError) as error:
            logger.error("the user's settings could not be written: %s", error)


def _merged(settings: JsonObject, changes: JsonObject) -> JsonObject:
    merged: dict[str, Any] = dict(settings)
    for key, value in changes.items():
        *parents, name = key.split(".")
        place = merged
        for parent in parents:
            place[parent] = place = dict(place.get(parent) or {})
        if value is None:
            place.pop(name, None)
        else:
            place[name] = value
    return merged
