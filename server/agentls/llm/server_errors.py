"""What a server of the Messages API says when it refuses, as errors of ours.

Pure: it knows neither the SDK nor HTTP. Every text is one line for a person, names the server, and
never holds a credential.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from agentls.errors import (
    KeyRefused,
    ModelError,
    Overloaded,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
)

LONGEST_QUOTE = 300
"""Characters of a server's own words that are worth passing on."""

TOO_LONG = re.compile(
    r"prompt is too long|too many (?:input |total )?tokens|context[ _](?:size|length|window)"
    r"|maximum context|exceeds? .{0,40}context",
    re.IGNORECASE,
)
"""The API has no code for it: Anthropic, llama.cpp, vLLM and Ollama, each in its own words."""

_THINKING_SETTING = re.compile(
    r"anthropic-beta|block_binding|\bthinking\.(?:adaptive|display|type)\b|adaptive thinking"
    r"|(?:^|[\s'\"`.])thinking['\"`]?: |\bfield '?thinking",
    re.IGNORECASE,
)
"""What gateways and local servers say that do not know the setting, or models that cannot think."""
_OF_A_THOUGHT = re.compile(r"\bmessages\.\d|signature", re.IGNORECASE)
"""Words about a thought in the conversation, which may name the setting as a way out."""
_THINKING_ADVICE = "Set `thinking` to `off` for it."


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server answered in place of a message, or in the middle of one."""

    status: int
    body: object
    """Parsed JSON, or the text as it came."""
    retry_after: float | None = None
    streaming: bool = False
    """The answer had begun: `status` says nothing then."""

    @property
    def type(self) -> str:
        """Return the error's type by the API's list, or an empty text."""
        kind = self._error().get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def words(self) -> str:
        """Return the server's own words in one line; may be empty."""
        message = self._error().get("message")
        if isinstance(message, str):
            return one_line(message)
        return one_line(self.body) if isinstance(self.body, str) else ""

    @property
    def code(self) -> str:
        """Return the error's code within its type, or an empty text."""
        details: Any = self._error().get("details")
        if not isinstance(details, dict):
            return ""
        code = cast("dict[str, Any]", details).get("error_code")
        return code if isinstance(code, str) else ""

    def _error(self) -> dict[str, Any]:
        """Return `error` of the body; some servers write a text there, or no `error` at all."""
        body: Any = self.body
        if not isinstance(body, dict):
            return {}
        error: Any = cast("dict[str, Any]", body).get("error", body)
        return cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}


@dataclass(frozen=True, slots=True)
class Server:
    """The server as errors name it."""

    url: str
    credential: str
    """The variable that the credential comes from, or should: `ANTHROPIC_API_KEY`."""
    secrets: tuple[str, ...]
    """What no text may hold; empty where no credential is set."""

    def refusal(self, refusal: Refusal) -> ModelError:
        """Return the error that `refusal` amounts to: by its type first, else by its status."""
        said = f": {self.without_secrets(refusal.words)}" if refusal.words else ""
        code = "in mid-answer" if refusal.streaming else f"with status {refusal.status}"
        match _kind(refusal):
            case "key":
                given = (
                    f"refused the key in {self.credential}"
                    if self.secrets
                    else f"wants a key, and {self.credential} is not set"
                )
                return KeyRefused(
                    f"{self.url} {given}{said}. Set {self.credential} to a key that this server "
                    "accepts and start again, or choose the model `offline`."
                )
            case "too long":
                return PromptTooLong(
                    f"The conversation is too long for the model at {self.url}{said}"
                )
            case "rate":
                return RateLimited(
                    f"{self.url} takes no more requests just now{said}",
                    retry_after=refusal.retry_after,
                )
            case "overloaded":
                return Overloaded(
                    f"The model at {self.url} is overloaded{said}", retry_after=refusal.retry_after
                )
            case "spent":
                return RequestRefused(
                    f"{self.url} takes no more requests, as the account's limit of spending is "
                    f"reached{said}"
                )
            case "broken":
                return StreamBroken(f"{self.url} broke off its answer{said}")
            case "failed":
                return ServerFailed(
                    f"{self.url} failed {code}{said}", retry_after=refusal.retry_after
                )
            case "not found":
                return RequestRefused(
                    f"{self.url} does not know what was asked for (status 404){said}. Is the "
                    "model's name right, and is ANTHROPIC_BASE_URL the address of a server of the "
                    "Messages API, without /v1?"
                )
            case _:
                advice = _advice(refusal)
                return RequestRefused(f"{self.url} refused the request {code}{said}{advice}")

    def without_secrets(self, text: str) -> str:
        """Return `text` with every credential blotted out."""
        for secret in self.secrets:
            # A short one, such as "test", is also a word, and part of others.
            word = re.escape(secret) if len(secret) >= 8 else rf"\b{re.escape(secret)}\b"
            text = re.sub(word, "[credential]", text)
        return text


def refuses_thinking(error: RequestRefused) -> bool:
    """Whether a server refused a request because it, or its model, knows no `thinking` setting."""
    return str(error).endswith(_THINKING_ADVICE)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, or None; names are in lower case.

    `retry-after-ms` is not in any standard, and finer than `retry-after`. A date in that is read by
    the server's own clock, where the response tells it.
    """
    milliseconds = retry_after_seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    return retry_after_seconds(headers.get("retry-after"), now=_moment(headers.get("date", "")))


def _advice(refusal: Refusal) -> str:
    if refusal.streaming or not _THINKING_SETTING.search(refusal.words):
        return ""
    return "" if _OF_A_THOUGHT.search(refusal.words) else f". {_THINKING_ADVICE}"


def _kind(refusal: Refusal) -> str:
    if refusal.code.endswith("spend_limit_reached"):
        return "spent"
    match refusal.type:
        case "authentication_error" | "permission_error":
            return "key"
        case "rate_limit_error":
            return "rate"
        case "overloaded_error":
            return "overloaded"
        case "request_too_large" | "exceed_context_size_error":
            return "too long"
        case "invalid_request_error":
            return "too long" if TOO_LONG.search(refusal.words) else "refused"
        case "billing_error" | "not_found_error" if refusal.streaming:
            return "refused"
        case _:
            return "broken" if refusal.streaming else _kind_of_status(refusal)


def _kind_of_status(refusal: Refusal) -> str:
    match refusal.status:
        case 401 | 403:
            return "key"
        case 404:
            return "not found"
        case 408:
            return "failed"
        case 413:
            return "too long"
        case 429:
            return "rate"
        case 529:
            return "overloaded"
        case status if status >= 500:
            return "too long" if TOO_LONG.search(refusal.words) else "failed"
        case _:
            return "too long" if TOO_LONG.search(refusal.words) else "refused"


def one_line(text: str) -> str:
    """Return `text` as one short line; of a page of HTML, its title or what there is to read."""
    if re.search(r"<(?:!doctype|html|head|body)\b", text[:1000], re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = title[1] if title else re.sub(r"<[^>]*>", " ", text[:10_000])
    line = " ".join(text[:10_000].split())
    return line if len(line) <= LONGEST_QUOTE else line[:LONGEST_QUOTE].rstrip() + "…"


def retry_after_seconds(header: str | None, *, now: datetime | None = None) -> float | None:
    """Read a `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3)."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        moment = _moment(header)
        if moment is None:
            return None
        seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _moment(date: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # rare, and slow to import

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC)
