"""Notices when a server's prompt cache was missed, and finds out why.

A server with a prompt cache keeps what a request begins with for some minutes, so that the next
request, which begins with the same, costs a tenth or less. Nothing fails where that is missed; it
shows in the usage alone.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from agentls.llm.blocks import encode
from agentls.llm.model import ModelRequest
from agentls.protocol.content import Usage
from agentls.protocol.events.retries import CacheMissed

KEPT = timedelta(minutes=5)
"""How long a server keeps a prefix after it was last used. Source: the Messages API's
documentation, "Prompt caching"."""
LEAST_TOKENS = 1_024
"""Below this, most models keep nothing."""
LEAST_SHARE_PERCENT = 90
"""Of what was kept; servers do not count to the token."""

Cause = Literal["model", "tools", "system", "thinking", "history", "expired", "unknown"]


@dataclass(frozen=True, slots=True)
class _Asked:
    request: ModelRequest
    """Shared with who sent it: it holds no second copy of the conversation."""
    at: datetime
    kept_tokens: int = 0
    """What the server said it has kept of it."""


class CacheWatch:
    """Watches the requests of one conversation; each is asked, then answered or not.

    Comparing a whole conversation with another takes time, so that is done after a miss alone.
    """

    def __init__(self) -> None:
        self._now: _Asked | None = None
        self._before: _Asked | None = None
        """The last one that was answered."""

    def asked(self, request: ModelRequest, at: datetime) -> None:
        """Take note of a request that goes out."""
        self._now = _Asked(request, at)

    def answered(self, usage: Usage, response_id: str) -> CacheMissed | None:
        """Return how the answer to the last request missed the cache, where it did."""
        now, before = self._now, self._before
        if now is None:
            return None
        kept = usage.cache_read_tokens + usage.cache_write_tokens
        self._now, self._before = None, _Asked(now.request, now.at, kept)
        if before is None or before.kept_tokens < LEAST_TOKENS:
            return None
        if usage.cache_read_tokens * 100 >= before.kept_tokens * LEAST_SHARE_PERCENT:
            return None
        return CacheMissed(
            response_id=response_id,
            cause=_cause(before, now),
            expected_tokens=before.kept_tokens,
            read_tokens=usage.cache_read_tokens,
        )


def _cause(before: _Asked, now: _Asked) -> Cause:
    one, other = before.request, now.request
    if one.model != other.model:
        return "model"
    if not _same_tools(one, other):
        return "tools"
    if one.system != other.system:
        return "system"
    if one.thinking != other.thinking:
        return "thinking"
    if not _goes_on(one, other):
        return "history"
    return "expired" if now.at - before.at > KEPT else "unknown"


def _same_tools(one: ModelRequest, other: ModelRequest) -> bool:
    """Whether the same bytes are sent; dictionaries are equal in any order of their keys."""
    return len(one.tools) == len(other.tools) and all(
        mine is theirs
        or (mine == theirs and encode(mine.input_schema) == encode(theirs.input_schema))
        for mine, theirs in zip(one.tools, other.tools, strict=True)
    )


def _goes_on(one: ModelRequest, other: ModelRequest) -> bool:
    """Whether what was said in `one` is the beginning of what is said in `other`."""
    known = one.encoded.json
    if not other.encoded.json.startswith(known):
        return False
    encoded = other.encoded.json[len(known) :]
    if known and encoded and not encoded.startswith(b","):
        return False
    # Not orjson, which makes a float of an integer of more than 64 bits.
    more = json.loads(b"[%b]" % encoded.removeprefix(b","))
    mine = _blocks(one.messages[one.encoded.count :])
    theirs = _blocks([*more, *other.messages[other.encoded.count :]])
    return all(block == next(theirs, None) for block in mine)


def _blocks(messages: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the blocks as they are sent, each with whose it is: messages grow by whole blocks."""
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield encode([message["role"], block])
