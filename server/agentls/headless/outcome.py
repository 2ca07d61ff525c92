"""What became of a prompt's run: the exit code, and what the result line says.

0    the run did what it should
1    the run failed: the model's side refused, the turn limit, a log or a stdout that cannot be
     written, an approval that nobody could give with `fail`
2    usage: a flag, a file, a session, a model or a key that cannot be used
75   the run failed for a reason that may pass: trying again is worth it
130  stopped by SIGINT     143  stopped by SIGTERM

Of several prompts in one run the last one decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentls.errors import (
    AgentError,
    ConfigurationError,
    InvalidRequest,
    LogUnreadable,
    NotFound,
    SessionInUse,
    TryAgainLater,
    WorkspaceUnusable,
)
from agentls.headless.lines import ResultSubtype, TerminalReason
from agentls.protocol.session_state import SessionState
from agentls.state.selectors import last_answer_text

EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_RETRY = 0, 1, 2, 75

_USAGE_ERRORS = (ConfigurationError, NotFound, InvalidRequest, WorkspaceUnusable, LogUnreadable)
_USAGE_KINDS = {"NoCredentials", "UnknownModel", "BadScenario", "BadSettings", "KeyRefused"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a prompt's run ended."""

    code: int
    subtype: ResultSubtype
    reason: TerminalReason
    text: str
    """The final answer, or what went wrong."""


INTERRUPTED = Outcome(
    EXIT_FAILED, "error_during_execution", "interrupted", "stopped before the end"
)


def outcome_of(state: SessionState, turn_id: str, unasked: Sequence[str] = ()) -> Outcome:
    """Return how a turn ended, the latest one if it ended at all.

    It failed too where there are names of tools in `unasked`: their calls wanted an approval.
    """
    last = state.last_turn
    if last is None or last.id != turn_id or last.status in ("cancelled", "interrupted"):
        return INTERRUPTED
    if last.status == "maxTurns":
        text = "stopped at the limit of answers of the model (--max-turns)"
        return Outcome(EXIT_FAILED, "error_max_turns", "max_turns", text)
    if last.error is not None:
        code = EXIT_RETRY if last.error.retryable else EXIT_FAILED
        if last.error.kind in _USAGE_KINDS:
            code = EXIT_USAGE
        return _failed("failed", last.error.message, code)
    if unasked:
        names = ", ".join(dict.fromkeys(unasked))
        text = (
            f"an approval was needed that nobody could give ({names}), and --permission-prompt is "
            "fail; allow such calls with --allowed-tools or --permission-mode"
        )
        return _failed("permission_denied", text)
    return Outcome(EXIT_OK, "success", "completed", last_answer_text(state))


def outcome_of_error(error: Exception) -> Outcome:
    """Return how a run ends that an error stopped before or between its turns."""
    if not isinstance(error, AgentError):
        return _failed("failed", f"a fault in agentls: {type(error).__name__}: {error}")
    if isinstance(error, TryAgainLater | SessionInUse):
        return _failed("failed", str(error), EXIT_RETRY)
    if isinstance(error, _USAGE_ERRORS):
        return _failed("usage", str(error), EXIT_USAGE)
    return _failed("failed", str(error))


def _failed(reason: TerminalReason, text: str, code: int = EXIT_FAILED) -> Outcome:
    return Outcome(code, "error_during_execution", reason, text)
