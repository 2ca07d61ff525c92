"""Makes a session's state of a branch's rows without validating what nobody looks at.

Everything before the last turns is sealed: the entries of the history are made, by the reducer,
when one of them is looked at; of the rest only what still counts at the end is reduced. The state
is the one that reducing every event gives.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import orjson
from pydantic import JsonValue, ValidationError
from pydantic.alias_generators import to_camel

from agentls.protocol.content import Usage
from agentls.protocol.events.conversation import (
    HeadMoved,
    SessionMeta,
    ToolCallFinished,
    UsageRecorded,
)
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.history import Entry, Gap, History, Sealed
from agentls.protocol.session_state import SessionState, UsageTotals
from agentls.sessions.chain import BOUNDARY, Branch, take
from agentls.sessions.reader import first_error
from agentls.sessions.rows import Row, Told, Usages
from agentls.state.reduce import reduce

OPEN_TURNS = 2
"""How many of the last turns are reduced at once: what a client shows first."""

_OF_HISTORY = frozenset((
    "userMessageReceived", "answerFinished", "approvalRequested", "approvalAnswered",
    "questionsAsked", "questionsAnswered", "toolCallStarted", "toolCallFinished",
))  # fmt: skip
_LASTING = frozenset((
    "titleChanged", "tagChanged", "modelChanged", "fastModeChanged", "modeChanged", "ruleAdded",
    "usageRecorded", "promptQueued", "promptDequeued", "todosChanged", "turnFinished",
    "taskAdded", "taskStarted", "taskFinished", "tasksEvicted",
    "toolOutputsCleared", "compactionStarted", "compactionFailed", "headMoved",
))  # fmt: skip
_TOKENS = tuple((name, to_camel(name)) for name in Usage.model_fields)


@cache
def nothing() -> SessionState:
    """Return the state that reducing begins with. Not made at import: its validator takes time."""
    return SessionState(meta=SessionMeta(id="", created_at="", cwd=".", agentls_version=""))


class Step(NamedTuple):
    """One event of a branch."""

    row: Row
    after_gap: bool
    """The message before it is missing."""
    adds: int
    """How many entries it adds to the history."""


@dataclass(slots=True)
class Part:
    """Events that can be sealed: they begin with a prompt, and leave nothing unfinished."""

    begin: int
    """Which of the places surveyed is the first."""
    count: int = 0
    """How many entries they add to the history."""
    history: list[Row] = field(default_factory=list[Row])
    """What makes these."""
    changes: list[Row] = field(default_factory=list[Row])
    """What else it changes that lasts."""
    gaps: list[str] = field(default_factory=list[str])
    """The messages before which one is missing."""


@dataclass(slots=True)
class Survey:
    """What a branch's rows come to, as far as can be said without their contents."""

    parts: list[Part] = field(default_factory=list[Part])
    """The last goes on to the end, and may leave something unfinished."""
    message_count_difference: int | None = None
    """Messages found up to the last finished turn less those it had counted; None: they agree."""


class Envelopes:
    """Reads the events of rows and notes what is wrong with them."""

    def __init__(self, read: Callable[[Row], tuple[Envelope, tuple[str, ...]]]) -> None:
        self._validated = read
        self.damage: list[LogDamage] = []

    def read(self, row: Row) -> Envelope | None:
        """Return a row's event; None where it is not as it should be."""
        try:
            envelope, missing = self._validated(row)
        except ValidationError as error:
            what = f"an event that is not as it should be: {first_error(error)}"
            self.damage.append(LogDamage(line=row.line, what=what))
            return None
        self.damage += (LogDamage(line=row.line, what=what) for what in missing)
        return envelope


def survey(
    state: SessionState, rows: Sequence[Row], branch: Branch, places: Iterable[int]
) -> Survey:
    """Look over the rows of a branch at `places`, which follow `state`."""
    found, unfinished = Survey(), _unfinished(state)
    turn_runs = state.turn is not None
    messages, gaps, gaps_on_record = len(state.history), 0, 0
    part = Part(0)
    for number, place in enumerate(places):
        row = rows[place]
        type_ = row.type
        if row.kind == "message":
            if type_ == "answerFinished":
                unfinished.update(row.detail)
            elif type_ == "userMessageReceived" and not turn_runs and not unfinished:
                part = Part(number)
                found.parts.append(part)
            part.history.append(row)
            part.count += 1
            messages += 1
            if place in branch.gaps:
                part.gaps.append(row.id or "")
                part.count += 1
                gaps += 1
        elif type_ == "toolCallFinished":
            if row.detail[0] in unfinished:  # else it is a second one, and has no effect
                unfinished.remove(row.detail[0])
                part.history.append(row)
                part.count += 1
                messages += 1
                if row.detail[1]:
                    part.changes.append(row)
        elif type_ in _OF_HISTORY:
            part.history.append(row)
        elif type_ in _LASTING:
            part.changes.append(row)
            if type_ == "turnFinished":
                turn_runs = False
                if place not in branch.rewound:
                    known = row.detail - gaps_on_record  # a gap that was there then was counted
                    found.message_count_difference = messages - known or None
        elif type_ == "turnStarted":
            turn_runs = True
        elif type_ == "logDamaged":
            told: Told = row.detail
            gaps_on_record = gaps
            if told.message_count_difference == found.message_count_difference:
                found.message_count_difference = None
    return found


def assembled(
    state: SessionState,
    found: Survey,
    rows: Sequence[Row],
    branch: Branch,
    places: Sequence[int],
    envelopes: Envelopes,
    open_turns: int = OPEN_TURNS,
) -> SessionState:
    """Return the state after the events that were surveyed, which follow `state`.

    The last `open_turns` turns, at least one, are not sealed.
    """
    if len(found.parts) <= open_turns:
        return reduced(state, steps_of(state, rows, branch, places), envelopes)
    parts = found.parts[:-open_turns]
    first, last = parts[0].begin, found.parts[-open_turns].begin
    state = reduced(state, steps_of(state, rows, branch, places[:first]), envelopes)
    state = _Sums(state, envelopes).after(parts)
    history = History.sealed(state.history, [_sealed(part, envelopes) for part in parts])
    state = state.model_copy(update={"history": history})
    return reduced(state, steps_of(state, rows, branch, places[last:]), envelopes)


def steps_of(
    state: SessionState, rows: Sequence[Row], branch: Branch, places: Iterable[int]
) -> Iterable[Step]:
    """Return all the events at `places`, which follow `state`."""
    return _steps(state, ((rows[place], place in branch.gaps) for place in places))


def _steps(state: SessionState, rows: Iterable[tuple[Row, bool]]) -> Iterator[Step]:
    """Yield each row, and whether it comes after a gap, with what it adds to the history."""
    unfinished = _unfinished(state)
    for row, after_gap in rows:
        adds = 0
        if row.kind == "message":
            adds = 2 if after_gap else 1
            if row.type == "answerFinished":
                unfinished.update(row.detail)
        elif row.type == "toolCallFinished" and row.detail[0] in unfinished:
            unfinished.remove(row.detail[0])
            adds = 1
        yield Step(row, after_gap, adds)


def _unfinished(state: SessionState) -> set[str]:
    return {call.id for call in state.calls.values() if call.status != "finished"}


def reduced(state: SessionState, steps: Iterable[Step], envelopes: Envelopes) -> SessionState:
    """Reduce each step. One that cannot be read leaves as many gaps as it was to add entries."""
    for step in steps:
        before = len(state.history)
        envelope = envelopes.read(step.row)
        if envelope is not None:
            state = take(state, envelope, after_gap=step.after_gap)
        missing = step.adds - (len(state.history) - before)
        if missing > 0 and step.row.type != BOUNDARY:
            state = _with_gaps(state, step.row, missing)
    return state


def _with_gaps(state: SessionState, row: Row, count: int) -> SessionState:
    """Show that the message of a row, or the result of a call, is missing."""
    lost = row.id or str(row.detail[0])
    at = str(orjson.loads(row.raw)["at"])
    history = state.history
    for number in range(count):
        history = history.append(Gap(id=f"gap_{lost}_{number}", at=at, missing=lost))
    return state.model_copy(update={"history": history, "head": row.id or state.head})


def _sealed(part: Part, envelopes: Envelopes) -> Sealed:
    history, gaps = part.history, part.gaps

    def make() -> Sequence[Entry]:
        steps = _steps(nothing(), ((row, row.id in gaps) for row in history))
        return reduced(nothing(), steps, envelopes).history[:]

    return Sealed(part.count, make)


class _Sums:
    """What sealed events leave in the state besides the history.

    The state is only right before a prompt that nothing unfinished stands before: the prompt
    replaces what is not summed here.
    """

    def __init__(self, state: SessionState, envelopes: Envelopes) -> None:
        self._state = state
        self._envelopes = envelopes
        self._last: dict[str, Row] = {}
        """By type, the last event."""
        self._queue: dict[str, Row | None] = {item.id: None for item in state.queue}
        """By id, the event that queued it; None: it was in the queue before."""
        self._variables: dict[str, Row] = {}
        """By name, the event that set it last."""
        self._uses: dict[str, list[Row]] = {}
        """By model, the responses that count."""
        self._latest_answer: Row | None = None
        """The last response that says how full the window is."""
        self._cleared = False
        """It says so no longer: old output was cleared since."""
        self._last_response = state.usage.last_response_id

    def after(self, parts: Iterable[Part]) -> SessionState:
        """Return the state after `parts`, its history left as it is."""
        for part in parts:
            for row in part.changes:
                if row.type == "usageRecorded":
                    self._use(row, row.detail)
                else:
                    self._add(row)
        for row in self._last.values():
            self._reduce(row)
        state = self._state
        self._state = state.model_copy(
            update={
                "queue": tuple(i for i in state.queue if self._queue.get(i.id, i) is None),
                "variables": self._merged_variables(state.variables),
                "usage": self._summed_usage(state.usage),
            }
        )
        for row in self._queue.values():
            if row is not None:
                self._reduce(row)
        return self._state

    def _add(self, row: Row) -> None:
        match row.type:
            case "promptQueued":
                self._queue.setdefault(row.detail, row)
            case "promptDequeued":
                self._queue.pop(row.detail, None)
            case "toolCallFinished":
                self._variables.update(dict.fromkeys(row.detail[1], row))
            case "turnFinished" | "todosChanged":
                self._last[row.type] = row
            case "toolOutputsCleared":
                self._cleared = self._reduce(row) or self._cleared
            case "headMoved":
                self._cleared |= self._moved(row)
                self._reduce(row)
            case _:
                self._reduce(row)

    def _use(self, row: Row, usage: Usages) -> None:
        if usage.response_id != self._last_response:
            self._last_response = usage.response_id
            if usage.purpose == "answer":
                self._latest_answer, self._cleared = row, False
            self._uses.setdefault(usage.model, []).append(row)

    def _reduce(self, row: Row) -> bool:
        """Reduce an event; return whether it could be read."""
        envelope = self._envelopes.read(row)
        if envelope is not None:
            self._state = reduce(self._state, envelope)
        return envelope is not None

    def _moved(self, row: Row) -> bool:
        """Whether the conversation goes on from elsewhere, where the window is as full as it is."""
        envelope = self._envelopes.read(row)
        moved = envelope.event if envelope is not None else None
        return isinstance(moved, HeadMoved) and moved.head != moved.previous

    def _merged_variables(self, variables: dict[str, JsonValue]) -> dict[str, JsonValue]:
        merged = dict(variables)
        for row, names in self._by_row(self._variables):
            envelope = self._envelopes.read(row)
            if envelope is not None and isinstance(envelope.event, ToolCallFinished):
                merged.update((name, envelope.event.variables.get(name)) for name in names)
        return {name: value for name, value in merged.items() if value is not None}

    @staticmethod
    def _by_row(rows: dict[str, Row]) -> Iterable[tuple[Row, list[str]]]:
        grouped: dict[int, tuple[Row, list[str]]] = {}
        for name, row in rows.items():
            grouped.setdefault(id(row), (row, []))[1].append(name)
        return grouped.values()

    def _summed_usage(self, usage: UsageTotals) -> UsageTotals:
        if not self._uses:
            return usage
        total, by_model = usage.total, dict(usage.by_model)
        for model, rows in self._uses.items():
            used = _sum_of(rows) or sum(map(self._used, rows), start=Usage())
            total = total + used
            if model in by_model:
                by_model[model] = by_model[model] + used
            else:
                by_model[model] = used if len(rows) > 1 else self._used(rows[0])
        return usage.model_copy(
            update={
                "total": total,
                "by_model": by_model,
                "responses": usage.responses + sum(map(len, self._uses.values())),
                "last_response_id": self._last_response,
                **self._in_the_window(),
            }
        )

    def _in_the_window(self) -> dict[str, object]:
        recorded = self._recorded(self._latest_answer) if self._latest_answer else None
        if recorded is None:
            return {}
        return {"last": None if self._cleared else recorded.usage, "window": recorded.window}

    def _used(self, row: Row) -> Usage:
        """Return what one response used, with what this version does not know of it."""
        recorded = self._recorded(row)
        return recorded.usage if recorded else Usage()

    def _recorded(self, row: Row) -> UsageRecorded | None:
        envelope = self._envelopes.read(row)
        event = envelope and envelope.event
        return event if isinstance(event, UsageRecorded) else None


def _sum_of(rows: Sequence[Row]) -> Usage | None:
    """Add up what responses used; None where one of them says it in an unusual way."""
    used = [row.detail.tokens for row in rows]
    try:
        sums = {name: sum([tokens.get(alias, 0) for tokens in used]) for name, alias in _TOKENS}
    except TypeError:
        return None
    return Usage(**sums) if all(type(count) is int for count in sums.values()) else None
