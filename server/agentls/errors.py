"""Every exception that agentls raises on purpose.

Three kinds of failure exist. What the *model* did wrong is never raised: it is a tool result that
the model reads. What the *caller* did wrong, or what the world refused, is an `AgentError` below,
and each face maps it to its own terms in one place. Anything else is a bug, and ends the turn,
never the server.

    AgentError
    ├── InvalidRequest            what was asked cannot be understood
    │   ├── BadAttachment
    │   └── EmptyPrompt
    ├── NotFound                  a name or id leads nowhere
    │   ├── UnknownSession
    │   ├── UnknownModel
    │   ├── UnknownCall
    │   ├── UnknownMessage
    │   ├── UnknownQueueItem
    │   └── UnknownTask
    ├── WrongPhase                understood, but not now
    │   ├── ApprovalAlreadyAnswered
    │   ├── NothingToCompact
    │   ├── QuestionAlreadyAnswered
    │   ├── SessionBusy
    │   ├── SessionClosed
    │   ├── SessionExists
    │   ├── SessionInUse          another process is its owner
    │   ├── SessionReadOnly       followed, not owned
    │   └── TooManyTasks
    ├── ConfigurationError        settings, credentials, files given by the user
    │   ├── NoCredentials
    │   ├── NoFastMode
    │   ├── BadSettings
    │   └── BadScenario
    ├── StorageError              the disk said no
    │   ├── WorkspaceUnusable
    │   ├── ContentMissing
    │   ├── ImportRefused
    │   ├── LeaseLost
    │   ├── LogConflict
    │   ├── LogNotWritten
    │   ├── LogUnreadable
    │   └── OutputUnreadable
    └── ModelError                the model's side said no
        ├── CompactionRejected
        ├── KeyRefused
        ├── RequestRefused
        │   └── PromptTooLong
        └── TryAgainLater         worth a retry
            ├── RateLimited
            ├── Overloaded
            ├── ServerFailed
            ├── ConnectionLost
            ├── Unreachable
            └── StreamBroken
                └── StreamStalled
"""


class AgentError(Exception):
    """Something went wrong that the caller can be told about; the text is meant for a person."""


class InvalidRequest(AgentError):
    """What was asked cannot be understood."""


class EmptyPrompt(InvalidRequest):
    """A prompt holds no text."""


class BadAttachment(InvalidRequest):
    """What was to go with a prompt cannot be sent: no picture or PDF, damaged, or too big."""


class NotFound(AgentError):
    """A name or id leads nowhere."""


class UnknownSession(NotFound):
    """No session of this id is open or saved here."""


class UnknownModel(NotFound):
    """No model of this name can be had."""


class UnknownCall(NotFound):
    """No tool call of this id is waiting for an approval or an answer."""


class UnknownMessage(NotFound):
    """No message of this id is in the session."""


class UnknownQueueItem(NotFound):
    """No prompt of this id is queued."""


class UnknownTask(NotFound):
    """No task has this id."""


class WrongPhase(AgentError):
    """The request is understood, but does not fit the moment."""


class ApprovalAlreadyAnswered(WrongPhase):
    """Another answer came first."""


class NothingToCompact(WrongPhase):
    """The conversation is too short for a summary to make it shorter."""


class QuestionAlreadyAnswered(WrongPhase):
    """Another answer came first."""


class SessionBusy(WrongPhase):
    """A turn runs, and what was asked must wait for its end."""


class SessionClosed(WrongPhase):
    """The session was closed while the request was on its way."""


class SessionExists(WrongPhase):
    """A session of this id is there already."""


class SessionInUse(WrongPhase):
    """Another process is the session's owner; `owner` says who, where that is known."""

    def __init__(self, message: str, *, owner: object = None) -> None:
        super().__init__(message)
        self.owner = owner


class SessionReadOnly(WrongPhase):
    """The session is followed, not owned: another process writes it."""


class TooManyTasks(WrongPhase):
    """As many tasks run as may."""


class ConfigurationError(AgentError):
    """A setting, a credential or a file the user gave is not usable."""


class NoCredentials(ConfigurationError):
    """No key is known for the model asked for."""


class NoFastMode(ConfigurationError):
    """There is no lighter model to answer in fast mode."""


class BadSettings(ConfigurationError):
    """A settings file cannot be used; the text names file, line and way out."""


class BadScenario(ConfigurationError):
    """A scenario file has a mistake in it."""


class StorageError(AgentError):
    """The disk refused."""


class WorkspaceUnusable(StorageError):
    """The workspace folder is not there, or cannot be entered."""


class ContentMissing(StorageError):
    """A kept content, a blob or a checkpoint, is not there or is damaged."""


class ImportRefused(StorageError):
    """What was to be imported is no session that can be read."""


class LeaseLost(StorageError):
    """Another process has become the session's owner; nothing more is written from here."""


class LogConflict(StorageError):
    """Another process has written to the log since it was read; nothing of it is overwritten."""


class LogNotWritten(StorageError):
    """A session's log could not be written; what it would have held is still in memory."""


class LogUnreadable(StorageError):
    """A session's log cannot be read at all, or was written by a newer agentls."""


class OutputUnreadable(StorageError):
    """The file that holds a task's output cannot be read: gone, or a link in its place."""


class ModelError(AgentError):
    """The model's side refused or failed."""


class CompactionRejected(ModelError):
    """The model wrote no summary that makes the conversation shorter."""


class KeyRefused(ModelError):
    """The server of the model does not accept the credentials."""


class RequestRefused(ModelError):
    """The server of the model does not accept this request, now or later."""


class PromptTooLong(RequestRefused):
    """The conversation does not fit the model's window."""


class TryAgainLater(ModelError):
    """The same request may succeed later.

    `retry_after` is the wait, in seconds, that the server asked for, or None.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(TryAgainLater):
    """Too many requests or tokens in too short a time."""


class Overloaded(TryAgainLater):
    """The model has no room just now."""


class ServerFailed(TryAgainLater):
    """The model's server, or a gateway before it, failed in answering."""


class ConnectionLost(TryAgainLater):
    """The connection broke before an answer began."""


class Unreachable(TryAgainLater):
    """No connection could be made."""


class StreamBroken(TryAgainLater):
    """The answer broke off before its end."""


class StreamStalled(StreamBroken):
    """Nothing more of an answer came within the time that the settings allow."""
