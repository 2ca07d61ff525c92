"""What must hold after any sequence of events: memory, disk and snapshots agree."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.protocol.events.conversation import HeadMoved
from agentls.protocol.events.kinds import AttachedEvent, EphemeralEvent, MessageEvent
from agentls.protocol.session_state import SessionState
from agentls.sessions.chain import replay, select_branch
from agentls.sessions.loading import load
from agentls.sessions.memory import MemoryStore
from agentls.state.reduce import reduce
from tests.support.lives import Life, actions, lived, settled

BETWEEN_TURNS = (
    "prompt", "answer", "answer", "steer", "compact", "compact_turn", "end", "end", "rewind",
    "redo",
)  # fmt: skip


@settings(max_examples=150)
@given(actions)
def test_the_state_on_disk_is_the_live_state_after_every_kept_event(steps):
    life, store = Life(), MemoryStore()
    log = store.create("s1")
    written = 0
    for action, seed in steps:
        life.do(action, seed)
        for envelope in life.log[written:]:
            log.append(envelope)
        log.write_now()
        written = len(life.log)
        if not store.has("s1"):
            continue  # nothing is kept before the first prompt
        loaded = load(store, "s1")
        assert loaded.damage == ()
        assert settled(loaded.state) == settled(life.state)


@settings(max_examples=150)
@given(actions)
def test_a_snapshot_and_the_events_after_it_make_the_later_state(steps):
    moments = lived(steps).moments
    for start in range(0, len(moments), 7):
        state = SessionState.model_validate_json(moments[start].state.model_dump_json())
        for moment in moments[start + 1 :]:
            assert moment.envelope is not None
            if isinstance(moment.envelope.event, HeadMoved):
                break  # other events are selected: a client is given a new snapshot
            state = reduce(state, moment.envelope)
            assert state == moment.state


@given(actions)
def test_a_chosen_branch_loads_as_if_the_others_were_not_there(steps):
    life = lived(steps)
    chosen = {id(envelope) for envelope in select_branch(life.log)}
    on_branch = [
        envelope
        for envelope in life.log
        if not isinstance(envelope.event, MessageEvent | AttachedEvent) or id(envelope) in chosen
    ]
    without_moves = [e for e in on_branch if not isinstance(e.event, HeadMoved)]
    alone = replay(without_moves)
    loaded = replay(life.log)
    assert loaded.model_copy(update={"head": alone.head, "redo": alone.redo}) == alone
    assert loaded.head == life.state.head


@settings(max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(BETWEEN_TURNS), st.integers(0, 1000)), max_size=80))
def test_nothing_is_at_work_wherever_a_rewind_leads(steps):
    life = Life(nested=True)
    for action, seed in steps:
        life.do(action, seed)
        if isinstance(life.log[-1].event, HeadMoved):
            assert life.state.turn is None
            assert life.state.compaction.running is None


@given(actions)
def test_kept_events_are_numbered_without_gaps_and_passing_ones_bear_the_last_number(steps):
    life = lived(steps)
    assert [envelope.seq for envelope in life.log] == list(range(1, len(life.log) + 1))
    last = 0
    for envelope in life.told:
        if not isinstance(envelope.event, EphemeralEvent):
            last += 1
        assert envelope.seq == last


def test_twenty_thousand_events_share_one_list_and_keep_the_calls_few():
    life = Life()
    shared = None
    for number in range(2_000):
        for action in ("prompt", "answer_with_calls", "start", "finish", "finish", "finish"):
            life.do(action, number)
        life.do("answer", number)
        life.do("end", number)
        shared = shared or life.state.history._shared
        assert len(life.state.calls) <= 3
    assert len(life.log) > 20_000
    assert life.state.history._shared is shared, "a copied history makes appending quadratic"
