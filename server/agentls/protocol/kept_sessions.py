"""What is asked about sessions that are kept: fork, rewind, search, tag, trash, export, import."""

from typing import Literal

from pydantic import Field

from agentls.protocol.session_state import SessionSnapshot
from agentls.protocol.wire_model import Params, Timestamp, WireModel

RewindScope = Literal["conversation", "files", "both"]
FileAction = Literal["restore", "create", "delete", "mode", "nothing"]


class SessionForkParams(Params):
    """Begin a session with a copy of another one up to a message."""

    session_id: str
    message_id: str | None = None
    """The last message of the copy, with its tool results; null: all of the conversation."""
    new_session_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")


class SessionForkResult(WireModel):
    """The new session."""

    session_id: str
    snapshot: SessionSnapshot


class RewoundFile(WireModel):
    """What a rewind does to one file."""

    path: str
    """Relative to the working folder for a file inside of it, else absolute."""
    action: FileAction
    conflict: str | None
    """Why it is left alone unless it is forced; null: nothing stands against it."""
    in_editor: bool
    """It is open in an editor, which changes it there: its user can undo it, and saves it."""
    failed: str | None = None
    """Why it could not be done."""


class SessionRewindParams(Params):
    """Go back to before a prompt. What has been since is kept, and a redo brings it back."""

    session_id: str
    message_id: str
    """The prompt that is to be as if it had not been sent."""
    scope: RewindScope = "both"
    dry_run: bool = False
    """Change nothing; say what would be done."""
    force: tuple[str, ...] = ()
    """Paths of files to be restored in spite of a conflict, as the preview names them."""


class SessionRewindResult(WireModel):
    """What was done, or would be."""

    applied: bool
    head: str | None
    """The message that the conversation ends with."""
    prompt: str | None
    """The text of the prompt gone back to, to be edited and sent again."""
    messages: int
    """Entries of the conversation that are left behind, or come back."""
    files: tuple[RewoundFile, ...]


class SessionRedoParams(Params):
    """Undo the last rewind, as long as nothing was prompted since."""

    session_id: str
    dry_run: bool = False
    force: tuple[str, ...] = ()


class SessionRedoResult(SessionRewindResult):
    """What was done, or would be."""


class SessionTagParams(Params):
    """Give a session a tag; null takes it away."""

    session_id: str
    tag: str | None = Field(max_length=60)


class SessionTagResult(WireModel):
    """The session bears the tag."""


class SessionDeleteParams(Params):
    """Move a session to the trash."""

    session_id: str


class SessionDeleteResult(WireModel):
    """The session is in the trash, from where it can be restored."""


class SessionRestoreParams(Params):
    """Take a session out of the trash."""

    session_id: str


class SessionRestoreResult(WireModel):
    """The session is in the list again."""


class SessionPurgeParams(Params):
    """Delete a session in the trash for good."""

    session_id: str


class SessionPurgeResult(WireModel):
    """Nothing is left of the session."""


class SessionExportParams(Params):
    """Write a session down: as Markdown for people, or as JSON that can be imported."""

    session_id: str
    format: Literal["markdown", "json"] = "markdown"


class SessionExportResult(WireModel):
    """The session in that format."""

    text: str


class SessionImportParams(Params):
    """Take in a session of Claude Code (a `.jsonl` file), or one that agentls exported as JSON."""

    path: str
    """Absolute."""


class LeftOut(WireModel):
    """What an import could not carry."""

    what: str
    count: int
    first_line: int


class SessionImportResult(WireModel):
    """The session that was made."""

    session_id: str
    messages: int
    left_out: tuple[LeftOut, ...]


class SessionSearchParams(Params):
    """Search what was said and done in the workspace's sessions."""

    query: str
    """Words, all of which must be there; "a phrase"; a beginn*."""
    limit: int = Field(default=20, ge=1, le=200)
    session_id: str | None = None
    """Only in this session."""


class SearchHit(WireModel):
    """A place where the words were found."""

    session_id: str
    message_id: str | None
    kind: str
    """`prompt`, `answer`, `toolCall`, `toolResult`, `title`, `tag`, `summary`."""
    at: Timestamp
    snippet: str
    """The text around, the words found between « and »."""


class SessionSearchResult(WireModel):
    """The best matches first."""

    hits: tuple[SearchHit, ...]


class SessionContinueUnsavedParams(Params):
    """Go on although the session cannot be written just now; it is written when it can be."""

    session_id: str


class SessionContinueUnsavedResult(WireModel):
    """The turn that waited goes on."""
