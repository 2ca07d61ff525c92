"""From one log version to the next: what a record of an older version means in this one.

Records are plain JSON objects here, so that fields this version does not know pass through.
"""

from collections.abc import Callable
from typing import Any, cast

from agentls.errors import LogUnreadable
from agentls.sessions.store import LOG_VERSION

Record = dict[str, Any]


def check_version(version: int, place: str) -> None:
    """Raise `LogUnreadable` for a log that a newer agentls has written."""
    if version > LOG_VERSION:
        raise LogUnreadable(
            f"{place} was written in log version {version}, and this agentls reads up to "
            f"{LOG_VERSION}. Update agentls to open the session; the log is left as it is."
        )


def migrated(record: Record, version: int) -> Record:
    """Return `record`, of `version`, as this version writes it; the very same where it does."""
    for step in range(version, LOG_VERSION):
        record = _STEPS[step](record)
    return record


def _from_1_to_2(record: Record) -> Record:
    """Version 1 kept no file contents, so that what its calls changed cannot be taken back."""
    event = record.get("event")
    if not isinstance(event, dict):
        return record
    event = cast(Record, event)
    changes = event.get("changes")
    if event.get("type") != "toolCallFinished" or not isinstance(changes, list) or not changes:
        return record
    marked = [
        {"restorable": False, **cast(Record, change)} if isinstance(change, dict) else change
        for change in cast(list[Any], changes)
    ]
    return {**record, "event": {**event, "changes": marked}}


_STEPS: dict[int, Callable[[Record], Record]] = {1: _from_1_to_2}
"""By the version that each begins with."""
