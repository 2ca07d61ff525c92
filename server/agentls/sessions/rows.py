"""A log's events as far as their order and their sums need them, without their contents.

Validating every event of a long log costs several times what reading its JSON does. A row is what
the plain JSON says of an event's place; what it holds is validated where somebody looks at it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, get_args

from agentls.protocol.content import StopReason
from agentls.protocol.events.conversation import UsageRecorded
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.events.kinds import AttachedEvent, EphemeralEvent, MessageEvent, RecordEvent
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.tool_calls import CallOutcome

Kind = Literal["message", "attached", "session", "record", "passing", "unknown"]
Json = dict[str, Any]


class Row(NamedTuple):
    """One event: where it stands and where it belongs."""

    line: int
    """Of the log, from 1."""
    raw: bytes
    """The line as it can be validated; empty for an event that is at hand."""
    kind: Kind
    """`unknown`: of a type that this version does not have."""
    type: str
    id: str | None
    """A message's own."""
    parent: str | None
    detail: Any
    """What else order and sums need, by type; see the functions below."""


class Usages(NamedTuple):
    """What one response used: the detail of `usageRecorded`."""

    response_id: str
    model: str
    tokens: Json
    """As the line has them, not looked at."""
    purpose: str


class Boundary(NamedTuple):
    """Where a compaction stands: the detail of `conversationCompacted`."""

    logical_parent: str | None
    kept_from: str | None
    ancestors: frozenset[str]
    """Messages before it that later events may still belong to: of the turn and its calls."""


class Told(NamedTuple):
    """What damage has been put on record: the detail of `logDamaged`."""

    damage: tuple[LogDamage, ...]
    message_count_difference: int | None


_LINKS = frozenset((
    "userMessageReceived", "answerFinished", "conversationCompacted", "turnFinished", "headMoved",
    "sessionCreated", "logDamaged", "promptDequeued",
))  # fmt: skip


def links_of(rows: Sequence[Row]) -> list[int]:
    """Return which rows make the chain, or say something of all of the log."""
    return [place for place, row in enumerate(rows) if row.id is not None or row.type in _LINKS]


def row_of(record: Json, line: int, raw: bytes) -> Row:
    """Return the row of an envelope, as plain JSON.

    Raises KeyError, TypeError, ValueError or AttributeError where it has not the shape of one.
    """
    event = record["event"]
    type_ = event["type"]
    if type(record["at"]) is not str or type(record["seq"]) is not int:
        raise TypeError("seq is a number and at a text")
    if type_ not in _TYPES:
        return _unknown(event, line, raw, _text(type_))
    kind, type_, detail = _TYPES[type_]
    own_id = parent = None
    if kind == "attached":
        parent = event["parent"]
        if type(parent) is not str:
            raise TypeError("the parent is a text")
    elif kind == "message":
        own_id, parent = _text(event["id"]), _text_or_none(event["parent"])
    # Not Row(…), which takes three times as long: a long log has a hundred thousand of them.
    return _new(Row, (line, raw, kind, type_, own_id, parent, detail and detail(record)))


def row_of_envelope(envelope: Envelope, line: int) -> Row:
    """Return the row of an event that is at hand."""
    return row_of(envelope.model_dump(by_alias=True), line, b"")


def _unknown(event: Json, line: int, raw: bytes, type_: str) -> Row:
    """Return the row of an event of a newer version, which may be a link of the chain."""
    own_id, parent = event.get("id"), event.get("parent")
    if type(own_id) is str and "parent" in event and (parent is None or type(parent) is str):
        return Row(line, raw, "unknown", type_, own_id, parent, None)
    return Row(line, raw, "unknown", type_, None, None, None)


def _call_ids(record: Json) -> tuple[str, ...]:
    event = record["event"]
    if event["stopReason"] not in _STOP_REASONS:
        raise ValueError("no such reason to stop")
    calls = [part["id"] for part in event["parts"] if part["type"] == "toolCall"]
    for call_id in calls:
        _text(call_id)
    return tuple(calls)


def _finished_call(record: Json) -> tuple[str, tuple[str, ...]]:
    """Return the call's id and the names of the variables it set."""
    event = record["event"]
    if event["outcome"] not in _OUTCOMES:
        raise ValueError("no such outcome")
    _list(event["content"])
    return _text(event["callId"]), tuple(event.get("variables", ()))


def _prompt(record: Json) -> str | None:
    """Return the id of the prompt's turn."""
    for block in _list(record["event"]["content"]):
        block["type"]
    return _text_or_none(record["turnId"])


def _usages(record: Json) -> Usages:
    event = record["event"]
    usage, response_id, model = event["usage"], event["responseId"], event["model"]
    if type(usage) is not dict or type(response_id) is not str or type(model) is not str:
        raise TypeError("a response, a model and what it used are expected")
    purpose = event.get("purpose", "answer")
    if purpose not in _PURPOSES:
        raise ValueError("no such purpose")
    return _new(Usages, (response_id, model, usage, purpose))


def _message_count(record: Json) -> int:
    event = record["event"]
    if type(event["messageCount"]) is not int:
        raise TypeError("messages are counted in whole numbers")
    return event["messageCount"]


def _boundary(record: Json) -> Boundary:
    event = record["event"]
    state = event["state"]
    logical_parent = _text_or_none(event["logicalParent"])
    calls: Json = state.get("calls") or {}
    ancestors = {_text(call["messageId"]) for call in calls.values()}
    if state.get("turn"):
        ancestors.add(_text(state["turn"]["messageId"]))
    if logical_parent is not None:
        ancestors.add(logical_parent)
    return Boundary(logical_parent, _text_or_none(event["keptFrom"]), frozenset(ancestors))


def _told(record: Json) -> Told:
    event = record["event"]
    damage = tuple([LogDamage(line=place["line"], what=place["what"]) for place in event["damage"]])
    return Told(damage, event.get("messageCountDifference"))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("a text is expected")
    return value


def _text_or_none(value: Any) -> str | None:
    return None if value is None else _text(value)


def _list(value: Any) -> list[Any]:
    if type(value) is not list and type(value) is not tuple:
        raise TypeError("a list is expected")
    return value  # pyright: ignore


def _kind(event_class: type[Any]) -> Kind:
    for base, kind in _KINDS:
        if issubclass(event_class, base):
            return kind
    return "session"


_new: Callable[..., Any] = tuple.__new__  # pyright: ignore
_KINDS: tuple[tuple[type[Any], Kind], ...] = (
    (MessageEvent, "message"),
    (AttachedEvent, "attached"),
    (RecordEvent, "record"),
    (EphemeralEvent, "passing"),
)
_STOP_REASONS = frozenset(get_args(StopReason))
_OUTCOMES = frozenset(get_args(CallOutcome))
_PURPOSES = frozenset(get_args(UsageRecorded.model_fields["purpose"].annotation))
_DETAILS: dict[str, Callable[[Json], Any]] = {
    "userMessageReceived": _prompt,
    "answerFinished": _call_ids,
    "toolCallFinished": _finished_call,
    "usageRecorded": _usages,
    "promptQueued": lambda record: _text(record["event"]["itemId"]),
    "promptDequeued": lambda record: _text(record["event"]["itemId"]),
    "turnFinished": _message_count,
    "headMoved": lambda record: _text_or_none(record["event"]["head"]),
    "conversationCompacted": _boundary,
    "logDamaged": _told,
}
_TYPES: dict[str, tuple[Kind, str, Callable[[Json], Any] | None]] = {
    event_class.model_fields["type"].default: (
        _kind(event_class),
        event_class.model_fields["type"].default,
        _DETAILS.get(event_class.model_fields["type"].default),
    )
    for event_class in get_args(SessionEvents)
}
