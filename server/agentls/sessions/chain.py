"""The order of a conversation: which of a log's events lie on the chosen branch."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agentls.errors import LogUnreadable
from agentls.protocol.events.conversation import SessionCreated
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.kinds import MessageEvent
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.session_state import SessionState
from agentls.sessions.rows import Boundary, Row, links_of, row_of_envelope
from agentls.state.reduce import reduce

BOUNDARY = "conversationCompacted"
_SAID = ("userMessageReceived", "answerFinished")
_COUNTED = ("message", "session", "record")
_ELSEWHERE = -1
"""The place of a message that lies before what was read."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The rows that count, by their index, in the order of the log."""

    selected: Sequence[int]
    boundary: int | None
    """The compaction that the branch begins with."""
    gaps: frozenset[int]
    """Messages that are not preceded by the one they name as their parent."""
    rewound: frozenset[int]
    """Ends of turns that another conversation than this stood before: what they counted is not
    what is on the branch."""
    damage: tuple[LogDamage, ...]
    leads_elsewhere: bool
    """Some of it lies before what was read; the rest of this value then means nothing."""


def replay(envelopes: Sequence[Envelope]) -> SessionState:
    """Return the state that a log adds up to. Raises `LogUnreadable` where it has no beginning."""
    if not envelopes or not isinstance(envelopes[0].event, SessionCreated):
        raise LogUnreadable(
            "the log does not begin with the session's creation, so it cannot be opened; "
            "it is left as it is"
        )
    branch = choose(_rows(envelopes))
    state = SessionState(meta=envelopes[0].event.session)
    for index in branch.selected:
        state = take(state, envelopes[index], after_gap=index in branch.gaps)
    return state


def select_branch(envelopes: Iterable[Envelope]) -> list[Envelope]:
    """Return the events that count: the chosen branch's, and the session's own, in order.

    The branch runs from the last message, or from where a `HeadMoved` after it points, back through
    the parents, to the start or to the last compaction and what it keeps word for word.
    """
    listed = list(envelopes)
    return [listed[index] for index in choose(_rows(listed)).selected]


def take(state: SessionState, envelope: Envelope, *, after_gap: bool) -> SessionState:
    """Reduce one event of a branch.

    The message before it on the branch need not be the one that was reduced before it, nor the head
    where a rewind to another branch stood between the two: only a gap is to be seen as one.
    """
    event = envelope.event
    if isinstance(event, MessageEvent) and (event.parent == state.head) == after_gap:
        state = state.model_copy(update={"head": None if after_gap else event.parent})
    return reduce(state, envelope)


def choose(
    rows: Sequence[Row], links: Iterable[int] | None = None, *, complete: bool = True
) -> Branch:
    """Choose the branch.

    `links` is what `links_of` returns, where that is known. `complete` is
    False where `rows` do not begin with the log's first.

    A message can only follow one that is before it in the log. One that names none of them follows
    the one that was the head then, and is told as damage: no branch is cut off, none has a cycle.
    """
    return _Chain(rows, links_of(rows) if links is None else links, complete).chosen()


@dataclass(slots=True)
class _Chain:
    rows: Sequence[Row]
    links: Iterable[int]
    complete: bool
    places: dict[str, int] = field(default_factory=dict[str, int])
    """By id, where a message stands."""
    previous: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """By place, the message before; None for the first of a conversation."""
    logical: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """By place of a compaction, the message it comes after."""
    gaps: set[int] = field(default_factory=set[int])
    ends: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """By place of a turn's end, the message that was the head then."""
    dropped: set[int] = field(default_factory=set[int])
    damage: list[LogDamage] = field(default_factory=list[LogDamage])
    head: int | None = None
    is_straight: bool = True
    """Each message follows the one before it in the log, and no rewind is there."""

    def chosen(self) -> Branch:
        self._link()
        if self.is_straight and self.complete and self._all_count():
            nothing = frozenset[int]()
            return Branch(range(len(self.rows)), None, nothing, nothing, (), False)
        branch: set[int] = set()
        boundary: int | None = None
        for place in self._back_from(self.head):
            branch.add(place)
            if place != _ELSEWHERE and self.rows[place].type == BOUNDARY:
                boundary = place
                break
        kept = set(self._kept(boundary)) if boundary is not None else set[int]()
        selected = self._selected(branch, kept, boundary)
        # Before a boundary that the branch does not pass, events of the session were not read.
        unread = not self.complete and boundary is None
        if selected is None or unread or _ELSEWHERE in branch or _ELSEWHERE in kept:
            nothing = frozenset[int]()
            return Branch((), None, nothing, nothing, (), leads_elsewhere=True)
        return Branch(
            selected,
            boundary,
            frozenset(self.gaps),
            self._rewound(branch),
            tuple(self.damage),
            False,
        )

    def _link(self) -> None:
        """Find for each message the one before it, and where the conversation goes on."""
        created = False
        places, previous = self.places, self.previous
        last: str | object | None = None
        last_place: int | None = None
        for place in self.links:
            row = self.rows[place]
            message_id = row.id
            if message_id is not None:
                if row.parent == last and row.type in _SAID and message_id not in places:
                    previous[place] = last_place  # as in nearly all cases
                    places[message_id] = self.head = place
                else:
                    self.is_straight = False
                    self._link_message(place, row, message_id)
                known = row.kind == "message"  # what follows another kind comes after a gap
                last, last_place = message_id if known else self, places[message_id]
            elif row.type == "turnFinished":
                self.ends[place] = self.head
            elif row.type == "headMoved":
                self.is_straight = False
                self._move_head(place, row)
            elif row.type == "sessionCreated":
                if created:
                    self._drop(place, row, "the session begins a second time; passed over")
                created = True

    def _link_message(self, place: int, row: Row, message_id: str) -> None:
        if message_id in self.places:
            self._drop(place, row, f"another message with the id {message_id}; passed over")
            return
        self.previous[place] = self._before(place, row)
        if row.type == BOUNDARY:
            self.logical[place] = self._logically_before(row, row.detail)
        self.places[message_id] = place
        self.head = place

    def _before(self, place: int, row: Row) -> int | None:
        if row.parent is None:
            return None if row.type == BOUNDARY else self._before_a_first(row)
        before = self.places.get(row.parent)
        if before is not None:
            if self.rows[before].kind == "unknown":
                self.gaps.add(place)  # a message that this version cannot show
            return before
        if not self.complete and row.parent != row.id:
            return _ELSEWHERE
        self.gaps.add(place)
        if row.parent == row.id:
            missing = "a message that names itself as the one before it"
        else:
            missing = f"the message before this one, {row.parent}, is missing or comes later"
        self._tell(row, f"{missing}; joined to the message before it in the log")
        return self.head

    def _before_a_first(self, row: Row) -> int | None:
        """Return what a message follows that names none: none, where a conversation begins."""
        if self.head is not None:
            what = "a message names none before it, although a conversation had begun"
            self._tell(row, f"{what}; joined to the message before it in the log")
        return self.head

    def _logically_before(self, row: Row, detail: Boundary) -> int | None:
        """Return the message that a compaction comes after."""
        if detail.logical_parent is None:
            return None
        before = self.places.get(detail.logical_parent)
        if before is None and self.complete:
            what = f"the message before a compaction, {detail.logical_parent}, is missing"
            self._tell(row, f"{what}; joined to the message before it in the log")
            return self.head
        return _ELSEWHERE if before is None else before

    def _move_head(self, place: int, row: Row) -> None:
        if row.detail is None:
            self.head = None
        elif row.detail in self.places:
            self.head = self.places[row.detail]
        elif not self.complete:
            self.head = _ELSEWHERE
        else:
            self._drop(
                place,
                row,
                f"the message that was gone back to, {row.detail}, is missing; passed over",
            )

    def _all_count(self) -> bool:
        """Whether every row counts of a log whose messages follow one another."""
        places = self.places
        return not self.dropped and all(
            [
                row.parent in places if row.kind == "attached" else row.kind in _COUNTED
                for row in self.rows
            ]
        )

    def _back_from(self, place: int | None) -> Iterator[int]:
        """Yield a message and those before it, to the start or to `_ELSEWHERE`."""
        while place is not None:
            yield place
            place = None if place == _ELSEWHERE else self.previous[place]

    def _kept(self, boundary: int) -> list[int]:
        """Return the messages that a compaction keeps word for word, the last first.

        What an earlier compaction has kept lies before that compaction in the log, and follows it
        in the conversation.
        """
        detail: Boundary = self.rows[boundary].detail
        if detail.kept_from is None:
            return []
        kept: list[int] = []
        passed = boundary
        while True:
            reached = None
            for place in self._back_from(self.logical.get(passed)):
                if place != _ELSEWHERE and self.rows[place].type == BOUNDARY:
                    reached = place
                    if self.rows[place].id != detail.kept_from:
                        break
                kept.append(place)
                if place == _ELSEWHERE:
                    return kept
                if self.rows[place].id == detail.kept_from:
                    return kept + (self._kept(place) if place == reached else [])
            if reached is None:
                break
            passed = reached
        row = self.rows[boundary]
        self._tell(row, f"the message {detail.kept_from}, which a compaction keeps, is missing")
        return []

    def _selected(self, branch: set[int], kept: set[int], boundary: int | None) -> list[int] | None:
        """Return the rows that count; None where that depends on what was not read."""
        begin = -1 if boundary is None else boundary
        at_kept = {self.rows[place].id for place in kept}
        at_branch = {self.rows[place].id for place in branch} | self._ancestors(boundary)
        messages = branch | kept
        selected: list[int] = []
        for place, row in enumerate(self.rows):
            kind = row.kind
            if kind == "attached":
                counts = row.parent in (at_branch if place > begin else at_kept)
                if not (counts or self.complete or place < begin or row.parent in self.places):
                    return None
            elif kind == "message":
                counts = place in messages
            else:
                counts = kind in _COUNTED
            if counts:
                selected.append(place)
        if self.dropped:
            selected = [place for place in selected if place not in self.dropped]
        return selected

    def _rewound(self, branch: set[int]) -> frozenset[int]:
        """Return the ends of turns whose head is not the last message of the branch before them."""
        places = sorted(branch)
        return frozenset(
            end
            for end, head in self.ends.items()
            if (before := bisect_left(places, end)) == 0 or places[before - 1] != head
        )

    def _ancestors(self, boundary: int | None) -> set[str | None]:
        """Return the messages before a compaction that what comes after it may belong to."""
        found: set[str | None] = set()
        while boundary is not None:
            row = self.rows[boundary]
            found |= row.detail.ancestors
            boundary, before = None, self.logical.get(boundary)
            for place in self._back_from(before):
                if place == _ELSEWHERE:
                    return found
                found.add(self.rows[place].id)
                if self.rows[place].type == BOUNDARY:
                    boundary = place
                    break
        return found

    def _drop(self, place: int, row: Row, what: str) -> None:
        self.dropped.add(place)
        self._tell(row, what)

    def _tell(self, row: Row, what: str) -> None:
        self.damage.append(LogDamage(line=row.line, what=what))


def _rows(envelopes: Sequence[Envelope]) -> list[Row]:
    return [row_of_envelope(envelope, line) for line, envelope in enumerate(envelopes, start=2)]
