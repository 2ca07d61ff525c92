"""What a tracker tells: values alone, so that nobody pays for what finds them out."""

from dataclasses import dataclass

from agentls.protocol.content import FileChange


@dataclass(frozen=True, slots=True)
class Point:
    """A moment ahead of a command."""

    number: int
    left_out: str | None
    """What of the workspace is not covered, or why nothing can be kept, for a person."""
    ignored: int
    """Files and folders that ignore rules leave out; they are not covered either."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of the files since a point."""

    changes: tuple[FileChange, ...]
    left_out: str | None
    """What is not among the changes although it may have changed, for a person."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What an edit needs to be undone: the rest of its `FileChange`."""

    path: str
    """The file itself, where it was reached through a link; named as in a change."""
    before_sha256: str | None
    after_sha256: str | None
    before_mode: int | None
    after_mode: int | None
    restorable: bool
    problem: str | None
    """Why the content before could not be kept, for a person."""
