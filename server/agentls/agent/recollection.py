"""What was said and done before, found through the search index: for the model, and for people."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from agentls.errors import StorageError
from agentls.protocol.kept_sessions import SearchHit
from agentls.tools.memory import Passage, Recollection

if TYPE_CHECKING:
    from agentls.sessions.search.index import Hit, Message, SearchIndex

NO_INDEX = "the store of these sessions has no search index"
RECALL = frozenset({"Recall"})
"""Left out, so that it does not find what it was asked itself."""
SNIPPET_LENGTH = 200

FindIndex = Callable[[], "SearchIndex | None"]
"""Returns the index of the workspace's sessions, made when it is first asked for."""


class Recollections:
    """The memory that tools see; see the port `Memory`."""

    def __init__(self, index: FindIndex, save: Callable[[], Awaitable[object]]) -> None:
        """Look things up in `index`, after `save` has written what is not in the logs yet."""
        self._index = index
        self._save = save

    async def search(
        self, query: str, *, limit: int, length: int, session_id: str | None
    ) -> Recollection:
        """Return passages in which all that is asked for occurs; see the port."""
        index = await self._ready()
        hits = await asyncio.to_thread(
            index.search,
            query,
            limit=limit,
            session_id=session_id,
            without_tools=RECALL,
            snippet_length=length,
        )
        return Recollection(tuple(_passage(hit) for hit in hits), index.note)

    async def message(self, message_id: str, *, session_id: str | None) -> Recollection:
        """Return a message whole; see the port."""
        index = await self._ready()
        found = await asyncio.to_thread(index.message, message_id, session_id=session_id)
        return Recollection(_passages_of(found) if found else (), index.note)

    async def find(
        self, query: str, *, limit: int, session_id: str | None
    ) -> tuple[SearchHit, ...]:
        """Return what a person's search finds, the best first."""
        index = await self._ready()
        hits = await asyncio.to_thread(
            index.search, query, limit=limit, session_id=session_id, snippet_length=SNIPPET_LENGTH
        )
        return tuple(_shown(hit) for hit in hits)

    async def _ready(self) -> "SearchIndex":
        # Making it imports sqlite3.
        index = await asyncio.to_thread(self._index)
        if index is None:
            raise StorageError(NO_INDEX)
        await self._save()
        await asyncio.to_thread(index.refresh)
        return index


def _passage(hit: "Hit") -> Passage:
    return Passage(hit.session_id, hit.message_id, hit.at, _role(hit.kind, hit.tool), hit.snippet)


def _passages_of(message: "Message") -> tuple[Passage, ...]:
    return tuple(
        Passage(
            message.session_id,
            message.message_id,
            passage.at,
            _role(passage.kind, passage.tool),
            passage.text,
        )
        for passage in message.passages
    )


def _role(kind: str, tool: str | None) -> str:
    match kind:
        case "prompt":
            return "user"
        case "answer":
            return "assistant"
        case "toolCall":
            return f"{tool} call"
        case "toolResult":
            return f"{tool} result"
        case _:
            return kind


def _shown(hit: "Hit") -> SearchHit:
    text, pieces, at = hit.snippet, list[str](), 0
    for begin, end in hit.marks:
        pieces += [text[at:begin], "«", text[begin:end], "»"]
        at = end
    return SearchHit(
        session_id=hit.session_id,
        message_id=hit.message_id,
        kind=hit.kind,
        at=hit.at,
        snippet=" ".join("".join([*pieces, text[at:]]).split()),
    )
