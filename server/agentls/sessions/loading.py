"""Makes a session of its log: tolerant of damage, and fast by leaving old contents unread."""

import gc
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial

import orjson

from agentls.errors import LogUnreadable, UnknownSession
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import SessionCreated, SessionMeta
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import Branch, choose
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.reader import UNCOUNTED, ReadLog, read_log
from agentls.sessions.records import envelope_of
from agentls.sessions.rows import Row
from agentls.sessions.sealing import (
    OPEN_TURNS,
    Envelopes,
    assembled,
    nothing,
    reduced,
    steps_of,
    survey,
)
from agentls.sessions.store import RawLog, SessionStore
from agentls.state.reduce import reduce

MOST_DAMAGE = 100
"""How many places of damage are told one by one."""


def load(
    store: SessionStore,
    session_id: str,
    chat_id: str = MAIN_CHAT,
    *,
    whole: bool = False,
    open_turns: int = OPEN_TURNS,
) -> LoadedSession:
    """Load a conversation; what is damaged of its log is told in the result.

    Unless `whole`, only what the last compaction needs is read, where the branch allows that. The
    contents of all but the last `open_turns` turns are read when somebody looks at them.
    Raises `UnknownSession`, and `LogUnreadable` for a log of a newer version or one without events.
    """
    loading = _Loading(store, session_id, chat_id, open_turns)
    with _no_garbage_collection():
        loaded = None if whole else loading.load(whole=False)
        loaded = loaded or loading.load(whole=True)
    assert loaded is not None, "a branch of a whole log lies in it"
    return loaded


def events(store: SessionStore, session_id: str, chat_id: str = MAIN_CHAT) -> tuple[Envelope, ...]:
    """Return every event of a log that can be read, whatever its branch, in the log's order.

    The first is the session's creation. Raises what `load` raises.
    """
    loading = _Loading(store, session_id, chat_id)
    with _no_garbage_collection():
        return loading.events()


def new_events(
    store: SessionStore, session_id: str, lines: Sequence[bytes]
) -> tuple[Envelope, ...]:
    """Return the events in lines that were appended to the main log, in order.

    What cannot be read is left out: the number of an event is then missing.
    """
    loading = _Loading(store, session_id, MAIN_CHAT)
    return loading.events_in(RawLog(b"", tuple(lines), 2, complete=False, position=0))


class _Loading:
    def __init__(
        self, store: SessionStore, session_id: str, chat_id: str, open_turns: int = OPEN_TURNS
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._chat_id = chat_id
        self._open_turns = open_turns
        self._blob = partial(store.blob, session_id)
        self._envelopes = Envelopes(self._envelope)

    def load(self, *, whole: bool) -> LoadedSession | None:
        """Load from what is read; None where the branch leads to what is not."""
        raw = self._store.read(self._session_id, self._chat_id, whole=whole)
        self._envelopes = Envelopes(self._envelope)
        read = self._read(raw)
        branch = choose(read.rows, read.links, complete=raw.complete)
        if branch.leads_elsewhere:
            return None
        self._refuse_empty(raw, read)
        state, rest = self._begun(read, branch)
        found = survey(state, read.rows, branch, rest)
        state = assembled(state, found, read.rows, branch, rest, self._envelopes, self._open_turns)
        return LoadedSession(
            state=state,
            seq=read.seq,
            call_ids=frozenset(read.call_ids),
            turn_ids=frozenset(read.turn_ids),
            damage=self._damage(raw, read, branch),
            message_count_difference=found.message_count_difference,
            position=raw.position,
            complete=raw.complete,
            version=read.version,
        )

    def events(self) -> tuple[Envelope, ...]:
        raw = self._store.read(self._session_id, self._chat_id, whole=True)
        read = self._read(raw)
        self._refuse_empty(raw, read)
        found = self._validated(read)
        if found and isinstance(found[0].event, SessionCreated):
            return found
        return (self._stand_in(read), *found)

    def events_in(self, raw: RawLog) -> tuple[Envelope, ...]:
        return self._validated(self._read(raw))

    def _envelope(self, row: Row) -> tuple[Envelope, tuple[str, ...]]:
        return envelope_of(row.raw, self._blob)

    def _validated(self, read: ReadLog) -> tuple[Envelope, ...]:
        rows = (row for row in read.rows if row.kind not in ("unknown", "passing"))
        found = map(self._envelopes.read, rows)
        return tuple(envelope for envelope in found if envelope is not None)

    def _read(self, raw: RawLog) -> ReadLog:
        return read_log(raw, self._session_id, self._chat_id, self._blob)

    def _refuse_empty(self, raw: RawLog, read: ReadLog) -> None:
        if read.rows:
            return
        if not _has_lines(raw):
            raise UnknownSession(
                f"nothing was kept of session {self._session_id} before the process that began it "
                "ended"
            )
        raise LogUnreadable(
            f"the log of session {self._session_id} holds no event that can be read, so there is "
            "nothing to open; it is left as it is"
        )

    def _begun(self, read: ReadLog, branch: Branch) -> tuple[SessionState, list[int]]:
        """Return the state that the branch begins with, and the places of the rows that follow."""
        rows, places = read.rows, branch.selected
        if branch.boundary is None:
            created = next((place for place in places if rows[place].type == "sessionCreated"), -1)
            rest = [place for place in places if place != created]
            state = reduce(nothing(), self._creation(read, created))
        else:
            at = places.index(branch.boundary)
            kept = [place for place in places[:at] if rows[place].kind in _CHAINED]
            state = reduced(nothing(), steps_of(nothing(), rows, branch, kept), self._envelopes)
            boundary = self._envelopes.read(rows[branch.boundary])
            assert boundary is not None, "it was validated when its line was read"
            assert isinstance(boundary.event, ConversationCompacted), "a boundary is a compaction"
            read.turn_ids.update(boundary.event.turn_ids)
            state, rest = reduce(state, boundary), list(places[at + 1 :])
        meta = state.meta.model_copy(update={"id": self._session_id})
        return state.model_copy(update={"meta": meta}), rest

    def _creation(self, read: ReadLog, place: int) -> Envelope:
        created = self._envelopes.read(read.rows[place]) if place >= 0 else None
        if created is not None:
            return created
        what = "the session's beginning is missing; the conversation is loaded without it"
        self._envelopes.damage.append(LogDamage(line=1, what=what))
        return self._stand_in(read)

    def _stand_in(self, read: ReadLog) -> Envelope:
        """Return the beginning of a session, where the log has lost it."""
        at = str(orjson.loads(read.rows[0].raw)["at"])
        meta = SessionMeta(
            id=self._session_id,
            created_at=at,
            cwd=read.header.cwd if read.header else ".",
            agentls_version="",
        )
        return Envelope(
            seq=0,
            session_id=self._session_id,
            chat_id=self._chat_id,
            turn_id=None,
            origin=None,
            at=at,
            event=SessionCreated(session=meta, model=None),
        )

    def _damage(self, raw: RawLog, read: ReadLog, branch: Branch) -> tuple[LogDamage, ...]:
        found = [*read.damage, *branch.damage, *self._envelopes.damage]
        found = [place for place in self._counted(found, raw, read) if place not in read.on_record]
        found.sort(key=lambda place: place.line)
        if len(found) > MOST_DAMAGE:
            line, more = found[MOST_DAMAGE].line, len(found) - MOST_DAMAGE
            what = f"from here on, {more} more places are damaged"
            found = [*found[:MOST_DAMAGE], LogDamage(line=line, what=what)]
        return tuple(found)

    def _counted(self, damage: list[LogDamage], raw: RawLog, read: ReadLog) -> Sequence[LogDamage]:
        """Give damage its place in the log, where the log was not read from its beginning."""
        uncounted = [place for place in damage if place.line >= UNCOUNTED]
        if not uncounted:
            return damage
        first = uncounted[0]
        for known in read.on_record:
            moved = [_moved(place, known.line - first.line) for place in uncounted]
            if known.what == first.what and read.on_record.issuperset(moved):
                # All of it is on record: the lines need not be counted.
                return [place for place in damage if place.line < UNCOUNTED]
        whole = self._store.read(self._session_id, self._chat_id, whole=True)
        before = whole.first_line + len(whole.lines) - len(raw.lines)
        return [
            _moved(place, before - UNCOUNTED) if place.line >= UNCOUNTED else place
            for place in damage
        ]


def _has_lines(raw: RawLog) -> bool:
    """Whether the log holds more than a header and a line that was cut off."""
    lines = (raw.header, *raw.lines)
    whole = lines[:-1] if raw.torn else lines
    return any(line.strip() and not line.startswith(b'{"log":') for line in whole)


def _moved(place: LogDamage, by: int) -> LogDamage:
    return LogDamage(line=place.line + by, what=place.what)


@contextmanager
def _no_garbage_collection() -> Generator[None]:
    # Loading makes many objects and no cycles; collecting meanwhile costs three times the load.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_CHAINED = ("message", "attached")
