"""What happens to the place where a session is kept: damage, trouble, other owners."""

from typing import Literal

from agentls.protocol.events.kinds import EphemeralEvent, RecordEvent
from agentls.protocol.wire_model import Timestamp, WireModel


class SessionResumed(RecordEvent):
    """A process opened the session and is its owner from here on; kept with its first change."""

    type: Literal["sessionResumed"] = "sessionResumed"
    agentls_version: str
    face: str
    """How it was opened: `lsp`, `headless`."""
    git_branch: str | None


class LogDamage(WireModel):
    """One place in a log that could not be read as it was written."""

    line: int
    """From 1."""
    what: str
    """What was found and what was made of it, for a person."""


class LogDamaged(RecordEvent):
    """A log was found damaged when it was opened; what could be read of it is loaded.

    The damaged bytes stay where they are: a log is mended by appending.
    """

    type: Literal["logDamaged"] = "logDamaged"
    damage: tuple[LogDamage, ...]
    message_count_difference: int | None = None
    """Messages found less those that the last finished turn had counted; null: they agree."""


class StorageTrouble(WireModel):
    """Why a session cannot be written just now; all of it is in memory and tried again."""

    message: str
    since: Timestamp
    unsaved_bytes: int
    accepted: bool = False
    """The user said to go on all the same."""


class StorageFailed(EphemeralEvent):
    """The log cannot be written; the turn waits for room, or for the user to say go on."""

    type: Literal["storageFailed"] = "storageFailed"
    trouble: StorageTrouble


class StorageRecovered(EphemeralEvent):
    """The log is written again, and complete."""

    type: Literal["storageRecovered"] = "storageRecovered"


class Access(WireModel):
    """Whether this server writes the session or follows another process that does."""

    mode: Literal["owner", "follower"] = "owner"
    owner: str | None = None
    """Who writes it, where it is another process: "lsp, process 1234 on host"."""


class AccessChanged(EphemeralEvent):
    """The session can be written from here now, or no more."""

    type: Literal["accessChanged"] = "accessChanged"
    access: Access
