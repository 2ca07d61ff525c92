"""What a damaged log still gives, and what is told of it."""

import gc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.errors import LogUnreadable, UnknownSession
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import PromptQueued, SessionMeta, UserMessageReceived
from agentls.protocol.events.envelope import Envelope
from agentls.protocol.events.storage import LogDamage
from agentls.protocol.history import Gap
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.loading import MOST_DAMAGE, events, load, new_events
from agentls.sessions.records import BLOB_BYTES, envelope_line, header_line
from tests.support.lives import Life
from tests.support.logs import OneLog, log_of


def life_of(turns: int) -> Life:
    life = Life()
    for number in range(turns):
        for action in ("prompt", "answer_with_calls", "start", "finish", "finish", "finish"):
            life.do(action, number)
        life.do("answer", number)
        life.do("end", 0)
    return life


def lines_of(life: Life) -> list[bytes]:
    return [header_line("s1"), *map(envelope_line, life.log)]


@pytest.fixture
def opened(tmp_path):
    def open_lines(*lines: bytes, session_id: str = "s1", **options: object) -> LoadedSession:
        return load(OneLog(tmp_path / "s1.jsonl", b"".join(lines)), session_id, **options)

    return open_lines


def told(loaded: LoadedSession) -> list[tuple[int, str]]:
    return [(damage.line, damage.what) for damage in loaded.damage]


def place_of(life: Life, type_: str, number: int = 0) -> int:
    """Return which line of the log holds the event of this type, counting from 0."""
    found = [at for at, e in enumerate(life.log, start=1) if e.event.type == type_]
    return found[number]


def test_a_log_gives_its_session_whole(opened):
    life = life_of(5)
    loaded = opened(*lines_of(life))
    assert loaded.state == life.state
    assert loaded.seq == len(life.log)
    assert loaded.turn_ids == {e.turn_id for e in life.log if e.event.type == "turnStarted"}
    calls = [call for e in life.log if e.event.type == "toolCallFinished" for call in [e.event]]
    assert {call.call_id for call in calls} == loaded.call_ids
    assert loaded.complete
    assert (loaded.damage, loaded.message_count_difference) == ((), None)


def test_a_torn_tail_costs_no_more_than_itself(opened):
    life = life_of(2)
    *whole, last = lines_of(life)
    for cut in (1, 10, len(last) // 2, len(last) - 3):
        loaded = opened(*whole, last[:cut])
        assert loaded.seq == len(life.log) - 1
        assert [line for line, _ in told(loaded)] == [len(life.log) + 1]
        assert loaded.position == sum(map(len, whole))


def test_a_last_line_without_its_newline_counts(opened):
    life = life_of(2)
    *whole, last = lines_of(life)
    loaded = opened(*whole, last.removesuffix(b"\n"))
    assert loaded.state == life.state
    assert loaded.damage == ()


def test_a_session_goes_on_behind_a_torn_line(opened):
    life = life_of(2)
    *whole, last = lines_of(life)
    loaded = opened(*whole, last[:30], b"\n", last)
    assert loaded.state == life.state
    assert told(loaded) == [
        (len(whole) + 1, "a record that breaks off after 30 bytes; nothing in it can be read")
    ]


def test_two_records_on_one_line_are_both_loaded(opened):
    life = life_of(2)
    lines = lines_of(life)
    lines[7] = lines[7].removesuffix(b"\n")
    loaded = opened(*lines)
    assert loaded.state == life.state
    assert told(loaded) == [(8, "2 records on one line; the rest of the line is loaded")]


def test_carriage_returns_empty_lines_and_strange_line_ends_do_no_harm(opened):
    life = life_of(2)
    lines = [line.replace(b"\n", b"\r\n") + b"\n \n" for line in lines_of(life)]
    loaded = opened(*lines)
    assert loaded.state == life.state
    assert loaded.damage == ()
    assert "\u2028" in loaded.state.history[0].content[0].text


def test_a_byte_order_mark_is_passed_over_and_told(opened):
    life = life_of(1)
    loaded = opened(b"\xef\xbb\xbf", *lines_of(life))
    assert loaded.state == life.state
    assert told(loaded) == [(1, "a byte order mark; the rest of the line is loaded")]


def test_a_block_of_zeros_is_told(opened):
    life = life_of(1)
    loaded = opened(*lines_of(life), b"\0" * 512)
    assert loaded.state == life.state
    assert told(loaded)[0][1].startswith("512 zero bytes")


def test_an_empty_log_is_refused_in_plain_words(opened):
    for data in (b"", b"\n\n", header_line("s1"), b"rubbish"):
        with pytest.raises(UnknownSession, match="nothing was kept of session s1"):
            opened(data)
    with pytest.raises(LogUnreadable, match="holds no event that can be read"):
        opened(b"rubbish\n")


def test_a_missing_header_is_told(opened):
    life = life_of(1)
    loaded = opened(*lines_of(life)[1:])
    assert loaded.state == life.state
    assert told(loaded) == [(1, "the header is missing; the lines are taken as this session's")]


def test_a_copied_log_is_taken_and_becomes_the_copy(opened):
    life = life_of(2)
    loaded = opened(*lines_of(life), session_id="copy")
    assert loaded.state.meta.id == "copy"
    assert loaded.state.history == life.state.history
    assert told(loaded) == [(1, "the log of session s1, copied; it is taken as this one's")]


def test_events_of_another_session_are_told_and_not_taken(opened):
    life = life_of(2)
    lines = lines_of(life)
    stranger = life.log[5].model_copy(update={"session_id": "other"})
    loaded = opened(*lines[:9], envelope_line(stranger), *lines[9:])
    assert loaded.state == life.state
    assert told(loaded) == [(10, "an event of another conversation, session other; passed over")]


def test_a_lost_message_is_bridged_shown_and_counted(opened):
    life = life_of(3)
    lines = lines_of(life)
    at = place_of(life, "answerFinished", 4)
    lost = life.log[at - 1].event.id
    lines[at] = b"gone\n"
    loaded = opened(*lines)
    entries = list(loaded.state.history)
    gaps = [entry for entry in entries if isinstance(entry, Gap)]
    assert told(loaded)[0][0] == at + 1
    assert loaded.message_count_difference < 0
    assert all(gap.missing for gap in gaps)
    assert lost not in [getattr(entry, "id", None) for entry in entries]


def test_lost_lines_are_seen_by_the_numbers_of_their_events(opened):
    life = life_of(2)
    lines = lines_of(life)
    at = place_of(life, "usageRecorded")
    loaded = opened(*lines[:at], *lines[at + 1 :])
    assert told(loaded) == [(at + 1, f"the events {at} to {at} are missing")]


def test_the_count_of_messages_is_compared_once_it_is_on_record_no_more(opened):
    life = life_of(2)
    lines = lines_of(life)
    at = place_of(life, "toolCallFinished")
    lines[at] = b"\n"
    loaded = opened(*lines)
    assert loaded.message_count_difference == -1
    life.damaged(loaded.damage, -1)
    again = opened(*lines, envelope_line(life.log[-1]))
    assert (again.damage, again.message_count_difference) == ((), None)


def test_two_writers_are_told_and_lose_nothing(opened):
    life = life_of(2)
    lines = lines_of(life)
    mine, theirs = lines[-1], life.log[-1].model_copy(update={"turn_id": "other"})
    loaded = opened(*lines, envelope_line(theirs), mine)
    number = len(life.log)
    assert told(loaded) == [
        (
            number + 2,
            f"another event with the number {number}: two processes wrote to this log at once; "
            "both are kept",
        ),
        (number + 3, f"event {number} a second time, word for word; passed over"),
    ]


def test_an_event_of_a_newer_version_is_passed_over_in_silence(opened):
    life = life_of(2)
    newer = envelope_line(life.log[-1]).replace(b'"turnFinished"', b'"moodChanged"')
    newer = newer.replace(b'{"seq":%d' % len(life.log), b'{"seq":%d' % (len(life.log) + 1))
    loaded = opened(*lines_of(life), newer)
    assert loaded.state == life.state
    assert loaded.damage == ()
    assert loaded.seq == len(life.log) + 1


def test_a_message_of_a_newer_kind_leaves_the_chain_whole_and_shows_a_gap(opened):
    life = life_of(2)
    lines = lines_of(life)
    at = place_of(life, "userMessageReceived", 1)
    lines[at] = lines[at].replace(b'"userMessageReceived"', b'"dreamReceived"')
    loaded = opened(*lines)
    kinds = [entry.type for entry in loaded.state.history]
    assert kinds.count("gap") == 1
    assert kinds.count("answer") == 4
    assert loaded.damage == ()


def test_an_event_that_is_misshapen_is_told_and_its_place_shown(opened):
    life = life_of(1)
    lines = lines_of(life)
    at = place_of(life, "answerFinished")
    lines[at] = lines[at].replace(b'"toolUse"', b'"bored"')
    loaded = opened(*lines)
    assert "event.answerFinished.stopReason" in told(loaded)[0][1]
    assert any(isinstance(entry, Gap) for entry in loaded.state.history)


def test_a_misshapen_event_found_out_late_becomes_a_gap_and_raises_nothing(opened):
    life = life_of(6)
    lines = lines_of(life)
    answer, result = place_of(life, "answerFinished", 2), place_of(life, "toolCallFinished", 1)
    lines[answer] = lines[answer].replace(b'"usage":{', b'"usage":{"inputTokens":"many"},"_":{')
    lines[result] = lines[result].replace(b'"summary":"done"', b'"summary":5')
    loaded = opened(*lines)
    entries = list(loaded.state.history)
    gaps = [entry for entry in entries if isinstance(entry, Gap)]
    assert loaded.damage == (), "nobody has looked"
    assert len(entries) == len(life.state.history)
    assert {gap.missing for gap in gaps} >= {life.log[answer - 1].event.id}
    assert life.log[result - 1].event.call_id in {gap.missing for gap in gaps}
    assert loaded.state.history == list_of(entries)


def list_of(entries):
    return type(LoadedSession.empty(SessionMeta.model_construct()).state.history)(entries)


def test_json_that_is_no_record_is_told(opened):
    life = life_of(1)
    loaded = opened(*lines_of(life), b'[1,2]\n"text"\n{"a":1}\n{"log":5}\nnull\n')
    assert loaded.state == life.state
    assert [what.split(";")[0] for _, what in told(loaded)] == [
        "JSON that is no record of a session",
        "JSON that is no record of a session",
        "JSON that is no record of a session",
        "a header that cannot be understood",
        "JSON that is no record of a session",
    ]


def test_a_lost_beginning_is_made_up_and_told(opened):
    life = life_of(3)
    lines = lines_of(life)
    loaded = opened(lines[0], b"rubbish\n", *lines[2:])
    assert loaded.state.meta.id == "s1"
    assert loaded.state.history == life.state.history
    assert (1, "the session's beginning is missing; the conversation is loaded without it") in told(
        loaded
    )


def test_events_begin_with_the_beginning_even_where_it_is_lost(tmp_path):
    lines = lines_of(life_of(1))
    found = events(OneLog(tmp_path / "s1.jsonl", b"".join([lines[0], *lines[2:]])), "s1")
    assert [envelope.event.type for envelope in found][:2] == ["sessionCreated", "promptQueued"]


def test_damage_without_end_is_told_in_bounds(opened):
    loaded = opened(*lines_of(life_of(1)), b"x\n" * 5000)
    assert len(loaded.damage) == MOST_DAMAGE + 1
    assert loaded.damage[-1].what == "from here on, 4900 more places are damaged"


def test_damage_on_record_is_not_told_again(opened):
    life = life_of(1)
    lines = [*lines_of(life), b"x\n"]
    loaded = opened(*lines)
    life.damaged(loaded.damage)
    assert opened(*lines, envelope_line(life.log[-1])).damage == ()


def test_a_blob_that_is_missing_is_shown_and_told(tmp_path):
    store = OneLog(tmp_path / "s1.jsonl")
    life = life_of(1)
    message = UserMessageReceived(
        id="big", parent=life.state.head, content=(TextBlock(text="b" * (BLOB_BYTES + 1)),)
    )
    big = life.log[-1].model_copy(update={"seq": len(life.log) + 1, "event": message})
    store.path.write_bytes(log_of(life.log) + envelope_line(big, store.keep_blob))
    assert load(store, "s1").state.history[-1].content == message.content
    store.blobs.clear()
    loaded = load(store, "s1")
    assert loaded.state.history[-1].content[0].text.startswith("[missing from the log")
    assert told(loaded)[0][0] == len(life.log) + 2


def test_new_lines_are_read_as_they_come(tmp_path):
    life = life_of(1)
    lines = [line.removesuffix(b"\n") for line in lines_of(life)]
    store = OneLog(tmp_path / "s1.jsonl")
    assert list(new_events(store, "s1", lines[5:9])) == life.log[4:8]
    assert list(new_events(store, "s1", [b"rubbish", lines[3], b'{"summary":{}}'])) == [life.log[2]]


def test_loading_leaves_garbage_collection_as_it_was(opened):
    opened(*lines_of(life_of(1)))
    assert gc.isenabled()


def queued(seq: int) -> Envelope:
    return Envelope(
        seq=seq,
        session_id="s1",
        turn_id=None,
        origin=None,
        at="2026-11-30T12:00:00.000Z",
        event=PromptQueued(item_id=f"t{seq}", content=(TextBlock(text=f"text {seq}"),)),
    )


@settings(deadline=None)
@given(st.integers(0, 400), st.binary(max_size=12))
def test_a_log_cut_or_soiled_anywhere_loses_no_other_line(tmp_path_factory, cut, rubbish):
    lines = [envelope_line(queued(seq)) for seq in range(1, 6)]
    torn = lines[2][: cut % len(lines[2])] + rubbish.replace(b"\n", b"")
    data = header_line("s1") + b"".join(lines[:2]) + torn + b"\n" + lines[3] + lines[4]
    path = tmp_path_factory.mktemp("log") / "s1.jsonl"
    found = [envelope.seq for envelope in events(OneLog(path, data), "s1")]
    assert {1, 2, 4, 5} <= set(found)
    assert all(a <= b for a, b in pairwise(found))


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_whatever_is_done_to_a_log_it_loads_and_can_be_looked_at(tmp_path_factory, data):
    lines = lines_of(life_of(4))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(1, len(lines) - 1))
        begin = data.draw(st.integers(0, len(lines[at])))
        end = data.draw(st.integers(begin, len(lines[at])))
        put = data.draw(st.sampled_from([b"", b"\0", b"\xff", b"}{", b'"', b"[", b"\\ud800", b"5"]))
        lines[at] = lines[at][:begin] + put + lines[at][end:]
    path = tmp_path_factory.mktemp("log") / "s1.jsonl"
    loaded = load(OneLog(path, b"".join(lines)), "s1")
    assert len(list(loaded.state.history)) == len(loaded.state.history)
    whole = load(OneLog(path), "s1", open_turns=1000)
    assert len(whole.state.history) == len(loaded.state.history)
    assert all(isinstance(damage, LogDamage) for damage in loaded.damage)
