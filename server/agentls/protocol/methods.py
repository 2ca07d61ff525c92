"""The registry of every `agent/*` method: TypeScript, schemas and reference are made from it.

Names derive: `agent/session/prompt` is `SESSION_PROMPT` here, `SessionPromptParams` and
`SessionPromptResult` in requests.py, `session_prompt` in the face's handlers and `sessionPrompt` in
TypeScript. A test holds it.
"""

import re
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from agentls.protocol import at_work, kept_sessions, requests
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.wire_model import WireModel

P = TypeVar("P", bound=WireModel)
R = TypeVar("R", bound=WireModel)


@dataclass(frozen=True, slots=True)
class Request(Generic[P, R]):
    """A message from an editor that is answered."""

    name: str
    params: type[P]
    result: type[R]


@dataclass(frozen=True, slots=True)
class Notification(Generic[P]):
    """A message to an editor that is not answered."""

    name: str
    params: type[P]


def handler_name(method: Request[Any, Any] | Notification[Any]) -> str:
    """Return `session_prompt` for `agent/session/prompt`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", method.name.removeprefix("agent/"))
    return words.replace("/", "_").lower()


SESSION_NEW = Request("agent/session/new", requests.SessionNewParams, requests.SessionNewResult)
SESSION_LOAD = Request("agent/session/load", requests.SessionLoadParams, requests.SessionLoadResult)
SESSION_LIST = Request("agent/session/list", requests.SessionListParams, requests.SessionListResult)
SESSION_CONTINUE = Request(
    "agent/session/continue", requests.SessionContinueParams, requests.SessionContinueResult
)
SESSION_CLOSE = Request(
    "agent/session/close", requests.SessionCloseParams, requests.SessionCloseResult
)
SESSION_RENAME = Request(
    "agent/session/rename", requests.SessionRenameParams, requests.SessionRenameResult
)
SESSION_FORK = Request(
    "agent/session/fork",
    kept_sessions.SessionForkParams,
    kept_sessions.SessionForkResult,
)
SESSION_REWIND = Request(
    "agent/session/rewind",
    kept_sessions.SessionRewindParams,
    kept_sessions.SessionRewindResult,
)
SESSION_REDO = Request(
    "agent/session/redo",
    kept_sessions.SessionRedoParams,
    kept_sessions.SessionRedoResult,
)
SESSION_TAG = Request(
    "agent/session/tag",
    kept_sessions.SessionTagParams,
    kept_sessions.SessionTagResult,
)
SESSION_DELETE = Request(
    "agent/session/delete",
    kept_sessions.SessionDeleteParams,
    kept_sessions.SessionDeleteResult,
)
SESSION_RESTORE = Request(
    "agent/session/restore",
    kept_sessions.SessionRestoreParams,
    kept_sessions.SessionRestoreResult,
)
SESSION_PURGE = Request(
    "agent/session/purge",
    kept_sessions.SessionPurgeParams,
    kept_sessions.SessionPurgeResult,
)
SESSION_EXPORT = Request(
    "agent/session/export",
    kept_sessions.SessionExportParams,
    kept_sessions.SessionExportResult,
)
SESSION_IMPORT = Request(
    "agent/session/import",
    kept_sessions.SessionImportParams,
    kept_sessions.SessionImportResult,
)
SESSION_SEARCH = Request(
    "agent/session/search",
    kept_sessions.SessionSearchParams,
    kept_sessions.SessionSearchResult,
)
SESSION_CONTINUE_UNSAVED = Request(
    "agent/session/continueUnsaved",
    kept_sessions.SessionContinueUnsavedParams,
    kept_sessions.SessionContinueUnsavedResult,
)
SESSION_PROMPT = Request(
    "agent/session/prompt", requests.SessionPromptParams, requests.SessionPromptResult
)
SESSION_COMPACT = Request(
    "agent/session/compact", at_work.SessionCompactParams, at_work.SessionCompactResult
)
SESSION_CLEAR = Request(
    "agent/session/clear", at_work.SessionClearParams, at_work.SessionClearResult
)
TURN_CANCEL = Request("agent/turn/cancel", requests.TurnCancelParams, requests.TurnCancelResult)
QUEUE_REMOVE = Request("agent/queue/remove", requests.QueueRemoveParams, requests.QueueRemoveResult)
APPROVAL_ANSWER = Request(
    "agent/approval/answer", requests.ApprovalAnswerParams, requests.ApprovalAnswerResult
)
QUESTION_ANSWER = Request(
    "agent/question/answer", at_work.QuestionAnswerParams, at_work.QuestionAnswerResult
)
TASK_LIST = Request("agent/task/list", at_work.TaskListParams, at_work.TaskListResult)
TASK_OUTPUT = Request("agent/task/output", at_work.TaskOutputParams, at_work.TaskOutputResult)
TASK_STOP = Request("agent/task/stop", at_work.TaskStopParams, at_work.TaskStopResult)
MODEL_LIST = Request("agent/model/list", requests.ModelListParams, requests.ModelListResult)
MODEL_SET = Request("agent/model/set", requests.ModelSetParams, requests.ModelSetResult)
FAST_MODE_SET = Request("agent/fastMode/set", at_work.FastModeSetParams, at_work.FastModeSetResult)
MODE_SET = Request("agent/mode/set", requests.ModeSetParams, requests.ModeSetResult)
STATE_GET = Request("agent/state/get", requests.StateGetParams, requests.StateGetResult)
APP_GET = Request("agent/app/get", requests.AppGetParams, requests.AppGetResult)
VIEW_SET = Request("agent/view/set", requests.ViewSetParams, requests.ViewSetResult)

SESSION_EVENT = Notification("agent/session/event", Envelope)
SESSION_DELTA = Notification("agent/session/delta", requests.SessionDeltaParams)
SESSION_DID_RESET = Notification("agent/session/didReset", requests.SessionDidResetParams)
STATE_DID_CHANGE = Notification("agent/state/didChange", requests.StateDidChangeParams)
APP_DID_CHANGE = Notification("agent/app/didChange", requests.AppDidChangeParams)

REQUESTS: tuple[Request[WireModel, WireModel], ...] = (
    SESSION_NEW,
    SESSION_LOAD,
    SESSION_CONTINUE,
    SESSION_LIST,
    SESSION_CLOSE,
    SESSION_RENAME,
    SESSION_FORK,
    SESSION_REWIND,
    SESSION_REDO,
    SESSION_TAG,
    SESSION_DELETE,
    SESSION_RESTORE,
    SESSION_PURGE,
    SESSION_EXPORT,
    SESSION_IMPORT,
    SESSION_SEARCH,
    SESSION_CONTINUE_UNSAVED,
    SESSION_PROMPT,
    SESSION_COMPACT,
    SESSION_CLEAR,
    TURN_CANCEL,
    QUEUE_REMOVE,
    APPROVAL_ANSWER,
    QUESTION_ANSWER,
    TASK_LIST,
    TASK_OUTPUT,
    TASK_STOP,
    MODEL_LIST,
    MODEL_SET,
    FAST_MODE_SET,
    MODE_SET,
    STATE_GET,
    APP_GET,
    VIEW_SET,
)  # type: ignore[assignment]
NOTIFICATIONS: tuple[Notification[WireModel], ...] = (
    SESSION_EVENT,
    SESSION_DELTA,
    SESSION_DID_RESET,
    STATE_DID_CHANGE,
    APP_DID_CHANGE,
)  # type: ignore[assignment]
