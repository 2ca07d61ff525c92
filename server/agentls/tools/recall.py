"""The Recall tool: what was said and done earlier, in this session or in others."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from agentls.errors import StorageError
from agentls.tools.memory import Memory, Passage, Recollection
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult

MOST_CHARACTERS = 10_000
"""Of passages, or of one page of a message."""
MOST_PASSAGES = 50
PASSAGES = 10
LONGEST_PASSAGE = 2_000
LONGEST_QUOTE = 100


class RecallInput(ToolInput):
    """What Recall takes."""

    query: str | None = Field(default=None, min_length=1, max_length=2_000)
    """Words that must all occur, "phrases" as they stand, beginnings of words as `begin*`."""
    scope: Literal["session", "all"] = "session"
    """Look in this session, or in all sessions of the workspace."""
    message_id: str | None = Field(default=None, min_length=1, max_length=200)
    """Instead of a query: the message to show whole, as a search named it."""
    offset: int = Field(default=0, ge=0)
    """With message_id: how many characters to pass over, for messages too long for one call."""
    limit: int | None = Field(default=None, ge=1)
    """With query: how many passages, 10 if not given. With message_id: how many characters."""


class Recall(Tool[RecallInput]):
    """Looks into what is kept of conversations."""

    name: ClassVar[str] = "Recall"
    description: ClassVar[str] = (
        "Finds what was said and done earlier: prompts, answers, tool calls and their results, "
        "also what is no longer in your context because the conversation was compacted. With "
        "scope `all` it looks in every session of this workspace. A search returns passages with "
        "time, role and message id; give a message_id to read that message whole. All words of a "
        "query must occur: use few and telling ones, such as names of files and functions, and "
        f"`*` for beginnings. About {MOST_CHARACTERS:,} characters come at once."
    )
    input_type = RecallInput
    verbs: ClassVar[tuple[str, str]] = ("Recall", "Recalling")
    read_only: ClassVar[bool] = True

    async def execute(self, arguments: RecallInput, context: ToolContext) -> ToolResult:
        """Return passages that match, or one page of a message."""
        if (arguments.query is None) == (arguments.message_id is None):
            return ToolResult.error(
                "Give query to search, or message_id to read one message: one of the two."
            )
        if context.memory is None:
            return ToolResult.error(
                "Nothing is kept of conversations here, so nothing can be recalled. "
                "What you know is what is in your context."
            )
        try:
            if arguments.message_id is not None:
                return await _message(context.memory, arguments, context.session_id)
            return await _search(context.memory, arguments, context.session_id)
        except StorageError as error:
            return ToolResult.error(f"Nothing could be recalled: {error}", "Could not recall")

    def subject(self, arguments: RecallInput) -> str:
        """Name what is looked for."""
        if arguments.message_id is not None:
            return f"message {arguments.message_id}"
        return _quoted(arguments.query or "")


async def _search(memory: Memory, arguments: RecallInput, session_id: str) -> ToolResult:
    query = arguments.query or ""
    limit = min(arguments.limit or PASSAGES, MOST_PASSAGES)
    everywhere = arguments.scope == "all"
    # Room for the line that says whose a passage is comes off what all of them may have.
    length = min(LONGEST_PASSAGE, MOST_CHARACTERS // limit - 100)
    found = await memory.search(
        query, limit=limit, length=length, session_id=None if everywhere else session_id
    )
    count = len(found.passages)
    where = "all sessions" if everywhere else "this session"
    if not count:
        return _nothing_found(query, everywhere, found.note)
    shown = [f"{_heading(passage, session_id)}\n{passage.text}" for passage in found.passages]
    noun = "passage" if count == 1 else "passages"
    head = f"{count} {noun} for {_quoted(query)} in {where}:"
    notes = [f"More may match; the best {count} are shown."] if count == limit else []
    notes += [found.note] if found.note else []
    text = _joined([head, *shown, *(f"[{note}]" for note in notes)])
    return ToolResult.ok(text, f"Recalled {count} {noun} for {_quoted(query)}")


def _nothing_found(query: str, everywhere: bool, note: str | None) -> ToolResult:
    advice = "Try fewer or other words, or beginnings of words such as `migrat*`"
    if not everywhere:
        advice += ', or scope="all" for other sessions'
    text = f"Nothing was found for {_quoted(query)}. {advice}."
    return ToolResult.ok(
        _joined([text, f"[{note}]"] if note else [text]), f"Recalled nothing for {_quoted(query)}"
    )


async def _message(memory: Memory, arguments: RecallInput, session_id: str) -> ToolResult:
    message_id = arguments.message_id or ""
    found = await memory.message(message_id, session_id=session_id)
    if not found.passages:
        found = await memory.message(message_id, session_id=None)
    if not found.passages:
        return ToolResult.error(
            f"There is no message {message_id!r}. Search with query to get message ids."
        )
    return _page(found, arguments, session_id)


def _page(found: Recollection, arguments: RecallInput, session_id: str) -> ToolResult:
    passages, first = found.passages, found.passages[0]
    whole = _joined([f"{_heading(passage, session_id)}\n{passage.text}" for passage in passages])
    start, total = arguments.offset, len(whole)
    if start >= total:
        return ToolResult.error(
            f"Message {first.message_id} has {total:,} characters; "
            f"there is nothing at offset {start:,}."
        )
    end = min(total, start + min(arguments.limit or MOST_CHARACTERS, MOST_CHARACTERS))
    notes = [found.note] if found.note else []
    if start or end < total:
        more = f" Read on with offset={end}." if end < total else ""
        notes.append(f"PARTIAL view: characters {start:,} to {end:,} of {total:,}.{more}")
    text = _joined([whole[start:end], *(f"[{note}]" for note in notes)])
    return ToolResult.ok(text, f"Recalled message {first.message_id}")


def _heading(passage: Passage, session_id: str) -> str:
    message = f", message {passage.message_id}" if passage.message_id else ""
    other = f", session {passage.session_id}" if passage.session_id != session_id else ""
    return f"--- {passage.at}, {passage.role}{message}{other}"


def _quoted(query: str) -> str:
    """Return the query in one line that is not too long for a person."""
    line = " ".join(query.split())
    return f"“{line}”" if len(line) <= LONGEST_QUOTE else f"“{line[:LONGEST_QUOTE]}…”"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts)
