"""What to decide when room is made in the model's window: what goes, what stays, what is asked.

Pure: whoever calls the model and tells of it is above. Entries of a history go in and come out;
ids and places are those of the history that was given.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agentls.context.room import LARGEST_SUMMARY, Room, cut_middle
from agentls.protocol.content import (
    AnswerPart,
    Content,
    FileBlock,
    TextBlock,
    TextPart,
    ToolCallPart,
    block_label,
    text_of,
)
from agentls.protocol.events.compaction import Carried
from agentls.protocol.history import Answer, CallResult, Entry, Summary, UserMessage
from agentls.protocol.tool_calls import ToolCall
from agentls.state.measure import (
    CLEARED_TOKENS,
    tokens_of,
    tokens_of_content,
    tokens_of_entry,
    tokens_of_text,
)

LEAST_SAVED = 0.05
"""Of the window: each clearing loses the model's cache, so that a small one costs more than it
saves."""
KEPT_OF_CONVERSATION = 0.25
"""At most, so that a compaction that is asked for early has something to shorten."""
LARGEST_ROUND = 1.6
"""Times the room for what is kept: the last round is lost only where, with all else at its
fullest, nothing would get shorter."""
LEAST_SHRUNK = 0.1
RESULT_ENDS = (2_000, 400, 60)
"""Tokens of a call and of its result in a request for a summary that must fit, tried in this
order."""
WORDS_ENDS = 2_000
"""Tokens of anything that user or model wrote, there."""
EARLIER_SHARE = 1 / 3
"""Of a request that must fit, for the summary of what came still earlier: nothing else tells it."""
LEFT_OUT = "{count:,} earlier messages of the conversation do not fit here and are left out."


@dataclass(frozen=True, slots=True)
class ClearPoint:
    """From where on tool output stays."""

    before: str
    """The first message whose results are sent in full."""
    tokens: int
    """About how many are saved."""


def clear_point(
    history: Sequence[Entry], room: Room, cleared_before: str | None
) -> ClearPoint | None:
    """Return from where on tool output and pictures stay; None where it is not worth it.

    The latest stay, as much as the room allows and at least those of the last round.
    """
    boundaries = _boundaries(history)
    already = _place_of(history, cleared_before)
    last_round = _last_round(history)
    point, output = len(history), 0
    for at in range(len(history) - 1, already - 1, -1):
        output += _clearable(history[at])
        if output > room.recent_output and at < last_round:
            break
        if at in boundaries:
            point = at
    saved = sum(_clearable(history[at]) for at in range(already, point))
    if point == len(history) or saved < room.window * LEAST_SAVED:
        return None
    return ClearPoint(before=_id_of(history[point]), tokens=saved)


def kept_from(history: Sequence[Entry], budget: int) -> int:
    """Return the place of the first entry that stays word for word; the length where none does.

    It is that of a user's message or an answer, never between an answer and its results. The last
    round stays even beyond the budget: what the model has not answered yet cannot be summed up by
    what it will say next. Where even that is too large, the user's latest message stays, and
    otherwise nothing does.
    """
    sizes = [tokens_of_entry(entry) for entry in history]
    boundaries = _boundaries(history)
    last_round = _last_round(history)
    last_message = max(boundaries, default=len(history))
    largest = int(budget * LARGEST_ROUND)
    for place in (last_round, last_message):
        if place < len(history) and sum(sizes[place:]) <= largest:
            break
    else:
        return len(history)
    left = min(budget, int(sum(sizes) * KEPT_OF_CONVERSATION)) - sum(sizes[place:])
    kept = place
    for at in range(place - 1, -1, -1):
        left -= sizes[at]
        if left < 0:
            break
        if at in boundaries:
            kept = at
    return kept


def last_round(history: Sequence[Entry], tokens: int) -> str:
    """Return the last answer and its results as text cut to `tokens`, where they cannot stay."""
    lines: list[str] = []
    for entry in history[_last_round(history) :]:
        match entry:
            case Answer():
                lines += [part.text for part in entry.parts if part.type == "text"]
            case CallResult():
                lines.append(f"{_headline(entry.call)}\n{text_of(entry.call.content)}")
            case _:
                continue
    if not lines:
        return ""
    each = tokens // len(lines)
    return cut_middle("\n\n".join(cut_middle(line, each) for line in lines), tokens)


def shortened(entries: Sequence[Entry], budget: int) -> list[Entry]:
    """Return entries that take at most `budget` tokens, for a request for their summary.

    Results are cut to their ends, then the oldest are left out behind a note that says so. An
    earlier summary at the start stays. What stays begins at a message.
    """
    if tokens_of(entries) <= budget:
        return list(entries)
    cut: list[Entry] = []
    for ends in RESULT_ENDS:
        cut = [_cut(entry, ends) for entry in entries]
        if tokens_of(cut) <= budget:
            return cut
    return _newest(cut, budget)


def summary_prompt(
    instructions: str | None, carried: Carried, tokens: int = LARGEST_SUMMARY
) -> str:
    """Return what the model is asked for in order to sum up the conversation before it."""
    kept = [name for field, name in _CARRIED_NAMES.items() if getattr(carried, field)]
    parts = [_ASK.format(tokens=f"{tokens:,}"), _SECTIONS]
    if kept:
        parts.append(f"{_BESIDES} {', '.join(kept)}. Refer to them; do not repeat them.")
    if instructions and instructions.strip():
        parts.append(f"The user asks that the summary heed this:\n{instructions.strip()}")
    return "\n\n".join(parts)


_ASK = """\
The conversation is about to outgrow your context window. Write the summary that takes its place: \
you will go on from it alone, together with the latest messages. Do not call tools and do not \
continue the work; answer with the summary and nothing else, in at most {tokens} tokens."""

_SECTIONS = """\
Use these headings, leave out those with nothing below them, and be exact: full paths, names of \
functions and tests, commands, error messages and numbers as they were.

## Done
What is finished, and how that was checked. Finished work stays finished: do not list it as open.
## Files and changes
What each file that matters holds, and what was changed in it and why.
## Errors and causes
What went wrong, what the cause was, and whether it is fixed.
## Decisions
What was decided, why, and what was ruled out.
## Open work
What the user has asked for and is not done. Nothing that nobody asked for.
## Next step
The very next thing to do, or "none" where everything asked for is done."""

_BESIDES = "You will also be given, word for word, beside the summary:"
_CARRIED_NAMES = {
    "goal": "the user's first message",
    "constraints": "the user's constraints",
    "prompts": "the user's messages",
    "files": "the names of files read and changed",
    "failures": "the calls that failed",
}


def written(text: str) -> str | None:
    """Return the summary in a model's answer, without tags and thoughts around it; None: none.

    Tags count where they stand around the text, not where the summary speaks of them.
    """
    thought = _ANALYSIS.match(text)
    rest = text[thought.end() :] if thought else text
    tagged = _SUMMARY.search(rest)
    if tagged:
        rest = tagged[1]
    elif thought is None and _UNFINISHED.match(text):
        return None
    return _CLOSING.sub("", rest).strip() or None


_ANALYSIS = re.compile(r"\s*<analysis>.*?</analysis>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"\s*<analysis>", re.IGNORECASE)
_SUMMARY = re.compile(r"^[ \t]*<summary>(.*)\Z", re.DOTALL | re.IGNORECASE | re.MULTILINE)
_CLOSING = re.compile(r"\s*</summary>\s*\Z", re.IGNORECASE)


def shrinks(before: int, after: int) -> bool:
    """Whether a compaction to `after` tokens is worth it."""
    return after <= before * (1 - LEAST_SHRUNK)


def after_tokens(summary: str, put_back: str, kept: Sequence[Entry]) -> int:
    """Return about how many tokens a conversation takes after a compaction."""
    return tokens_of_text(summary) + tokens_of_text(put_back) + tokens_of(kept)


def _cut(entry: Entry, ends: int) -> Entry:
    """Return an entry with nothing in it that is long; the same object where nothing was."""
    match entry:
        case CallResult():
            content = tuple(_cut_block(block, ends) for block in entry.call.content)
            if content == entry.call.content:
                return entry
            return entry.model_copy(
                update={"call": entry.call.model_copy(update={"content": content})}
            )
        case UserMessage():
            content = tuple(_cut_block(block, WORDS_ENDS) for block in entry.content)
            return (
                entry if content == entry.content else entry.model_copy(update={"content": content})
            )
        case Answer():
            parts = tuple(_cut_part(part, ends) for part in entry.parts if not _is_thought(part))
            return entry if parts == entry.parts else entry.model_copy(update={"parts": parts})
        case _:
            return entry


def _cut_block(block: Content, tokens: int) -> Content:
    if isinstance(block, TextBlock | FileBlock):
        text = cut_middle(block.text, tokens)
        return block if text is block.text else block.model_copy(update={"text": text})
    return TextBlock(text=f"[{block_label(block)}]")


def _is_thought(part: AnswerPart) -> bool:
    return part.type in ("thinking", "redactedThinking")


def _cut_part(part: AnswerPart, ends: int) -> AnswerPart:
    if isinstance(part, TextPart):
        return part.model_copy(update={"text": cut_middle(part.text, WORDS_ENDS)})
    if isinstance(part, ToolCallPart):
        malformed = part.malformed_input and cut_middle(part.malformed_input, ends)
        return part.model_copy(
            update={"input": _cut_json(part.input, ends), "malformed_input": malformed}
        )
    return part


def _cut_json(value: JsonValue, tokens: int) -> JsonValue:
    match value:
        case str():
            return cut_middle(value, tokens)
        case list():
            return [_cut_json(item, tokens) for item in value]
        case dict():
            return {key: _cut_json(item, tokens) for key, item in value.items()}
        case _:
            return value


def _newest(entries: Sequence[Entry], budget: int) -> list[Entry]:
    """Return the latest entries that fit behind an earlier summary and a note."""
    earlier: list[Entry] = []
    if entries and isinstance(summary := entries[0], Summary):
        most = int(budget * EARLIER_SHARE)
        text = cut_middle(summary.text, most)
        put_back = cut_middle(summary.put_back, most - tokens_of_text(text))
        earlier = [summary.model_copy(update={"text": text, "put_back": put_back})]
    rest = entries[len(earlier) :]
    left = budget - tokens_of([*earlier, _note(rest, LEFT_OUT.format(count=len(rest)))])
    boundaries = _boundaries(rest)
    place, size = len(rest), 0
    for at in range(len(rest) - 1, -1, -1):
        size += tokens_of_entry(rest[at])
        if size > left:
            break
        if at in boundaries:
            place = at
    if place == len(rest):  # not even one round fits: its text does, cut
        return [*earlier, _note(rest, last_round(rest, left) or LEFT_OUT.format(count=place))]
    return [*earlier, _note(rest, LEFT_OUT.format(count=place)), *rest[place:]]


def _note(entries: Sequence[Entry], text: str) -> UserMessage:
    at = next((entry.at for entry in entries if not isinstance(entry, CallResult)), "")
    content = (TextBlock(text=text),)
    return UserMessage(id="leftOut", at=at, turn_id=None, content=content, author="agentls")


def _headline(call: ToolCall) -> str:
    return f"[{call.summary or call.invocation}]"


def _boundaries(history: Sequence[Entry]) -> frozenset[int]:
    """Return the places where a conversation can begin: no result would lose its call."""
    places: set[int] = set()
    result_follows = False
    for at in range(len(history) - 1, -1, -1):
        match history[at]:
            case CallResult():
                result_follows = True
            case Answer():
                result_follows = False
                places.add(at)
            case UserMessage() if not result_follows:
                places.add(at)
            case _:
                continue
    return frozenset(places)


def _last_round(history: Sequence[Entry]) -> int:
    """Return the place of the last answer; without one, of the first message after a summary."""
    for at in range(len(history) - 1, -1, -1):
        if isinstance(history[at], Answer):
            return at
    return min(_boundaries(history), default=len(history))


def _place_of(history: Sequence[Entry], message_id: str | None) -> int:
    """Return the place of a message; 0 where it is none or not there, as nothing is before it."""
    if message_id is None:
        return 0
    places = (at for at, entry in enumerate(history) if _id_of(entry) == message_id)
    return next(places, 0)


def _id_of(entry: Entry) -> str:
    return "" if isinstance(entry, CallResult) else entry.id


def _clearable(entry: Entry) -> int:
    """Return how many tokens it saves to send placeholders for an entry's output and pictures."""
    match entry:
        case CallResult():
            return max(0, tokens_of_content(entry.call.content) - CLEARED_TOKENS)
        case UserMessage():
            heavy = [block for block in entry.content if block.type in ("image", "document")]
            return max(0, tokens_of_content(heavy) - CLEARED_TOKENS * len(heavy))
        case _:
            return 0
