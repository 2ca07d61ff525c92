"""Reading a log from its last compaction on."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.protocol.history import CallResult, Sealed, Summary
from agentls.sessions import raw_log
from agentls.sessions.loading import load
from agentls.sessions.raw_log import read_file
from agentls.sessions.records import envelope_line
from tests.support.lives import Life
from tests.support.logs import OneLog, log_of


def turn(life: Life, seed: int) -> None:
    for action in ("prompt", "answer_with_calls", "start", "finish", "finish", "finish", "answer"):
        life.do(action, seed)
    life.do("end", 0)


def compacted_life(before: int = 3, after: int = 2, kept: int = -2) -> Life:
    life = Life()
    for number in range(before):
        turn(life, number * 3)
    messages = [e for e in life.state.history if not isinstance(e, CallResult)]
    life.do("compact", len(messages) + kept)
    assert isinstance(life.state.history[0], Summary)
    for number in range(after):
        turn(life, 100 + number)
    return life


def test_only_what_the_last_compaction_needs_is_read(tmp_path):
    life = compacted_life()
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log))
    raw = store.read("s1")
    loaded = load(store, "s1")
    assert not raw.complete
    assert raw.header == store.path.read_bytes().split(b"\n")[0]
    assert len(raw.lines) < len(life.log) - 20
    assert loaded.state == life.state
    assert not loaded.complete
    assert store.readings == [False, False]


def test_the_last_of_many_compactions_counts(tmp_path):
    life = compacted_life()
    for number in range(4):
        turn(life, number)
        life.do("compact", 5 + number)
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log))
    assert load(store, "s1").state == load(store, "s1", whole=True).state == life.state
    assert len(store.read("s1").lines) < 30


def test_a_rewind_to_before_the_compaction_reads_all(tmp_path):
    life = compacted_life()
    life.do("rewind", 1)
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log))
    loaded = load(store, "s1")
    assert store.readings == [False, True]
    assert loaded.complete
    assert loaded.state == life.state


def test_a_compaction_whose_state_is_damaged_leaves_the_whole_conversation(tmp_path):
    life = compacted_life()
    lines = [envelope_line(envelope) for envelope in life.log]
    at = next(i for i, line in enumerate(lines) if b'"conversationCompacted"' in line)
    lines[at] = lines[at].replace(b'"meta":{', b'"metal":{')
    data = log_of([]) + b"".join(lines)
    loaded = load(OneLog(tmp_path / "s1.jsonl", data), "s1")
    kinds = [entry.type for entry in loaded.state.history]
    assert kinds.count("user") == 5
    assert kinds.count("gap") == 1
    assert loaded.damage[0].what.startswith("a compaction that cannot be read: meta")


def test_damage_behind_a_compaction_is_told_by_its_place_in_the_whole_log(tmp_path):
    life = compacted_life()
    data = log_of(life.log) + b"rubbish\n"
    store = OneLog(tmp_path / "s1.jsonl", data)
    (damage,) = load(store, "s1").damage
    assert damage.line == data.count(b"\n")
    assert damage.what == "7 bytes that are no record; nothing in it can be read"
    assert load(store, "s1", whole=True).damage == (damage,)


def test_damage_on_record_is_known_without_reading_all(tmp_path):
    life = compacted_life()
    path = tmp_path / "s1.jsonl"
    store = OneLog(path, log_of(life.log) + b"rubbish\n{torn\n")
    life.damaged(load(store, "s1").damage)
    with path.open("ab") as file:
        file.write(envelope_line(life.log[-1]))
    store.readings.clear()
    assert load(store, "s1").damage == ()
    assert store.readings == [False]


def test_a_text_that_speaks_of_compactions_is_no_boundary(tmp_path):
    life = Life()
    turn(life, 1)
    tricky = b'{"seq":99,"text":{"type":"conversationCompacted"}}\n'
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log) + tricky)
    assert store.read("s1").complete
    assert load(store, "s1").state == life.state


def test_a_boundary_line_that_is_torn_is_passed_by_for_the_one_before(tmp_path):
    life = compacted_life()
    line = next(x for x in map(envelope_line, life.log) if b'"conversationCompacted"' in x)
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log) + line[:-40] + b"\n")
    raw = store.read("s1")
    assert not raw.complete
    assert raw.lines[-1] == line[:-40]
    assert load(store, "s1").state == life.state


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000, 1 << 18])
def test_the_boundary_is_found_whatever_the_size_of_a_reading(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(raw_log, "_CHUNK", chunk)
    life = compacted_life()
    store = OneLog(tmp_path / "s1.jsonl", log_of(life.log))
    assert not store.read("s1").complete
    assert load(store, "s1").state == life.state


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=12))
@settings(deadline=None)
def test_lines_are_found_backwards_as_forwards(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("lines") / "log"
    data = b"".join(line + b"\n" for line in lines)
    path.write_bytes(b"head\n" + data)
    for chunk in (1, 2, 5, 1000):
        with path.open("rb") as file, pytest.MonkeyPatch.context() as patch:
            patch.setattr(raw_log, "_CHUNK", chunk)
            found = list(raw_log._lines_backwards(file, 5, 5 + len(data)))
        assert [line for _, line in found] == [line for line in reversed(lines) if line]
        assert all((b"head\n" + data)[at:].startswith(line + b"\n") for at, line in found)


def test_a_log_ends_where_its_last_whole_line_does(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"header\none\ntwo\nthr")
    raw = read_file(path, whole=False)
    assert raw.header == b"header"
    assert raw.lines == (b"one", b"two", b"thr")
    assert (raw.first_line, raw.complete, raw.torn) == (2, True, True)
    assert raw.position == len(b"header\none\ntwo\n")


@pytest.mark.parametrize(
    ("data", "header", "lines", "position", "torn"),
    [
        (b"", b"", (), 0, False),
        (b"head", b"head", (), 0, True),
        (b"head\n", b"head", (), 5, False),
        (b"head\n\n", b"head", (b"",), 6, False),
        (b"\n", b"", (), 1, False),
    ],
)
def test_short_logs(tmp_path, data, header, lines, position, torn):
    path = tmp_path / "log"
    path.write_bytes(data)
    raw = read_file(path, whole=True)
    assert (raw.header, raw.lines, raw.position, raw.torn) == (header, lines, position, torn)


def test_what_lies_before_the_last_turns_is_not_looked_at(tmp_path):
    life = Life()
    for number in range(20):
        turn(life, number)
    state = load(OneLog(tmp_path / "s1.jsonl", log_of(life.log)), "s1").state
    sealed = [isinstance(entry, Sealed) for entry in state.history._shared]
    assert sum(sealed) > 80
    assert not sealed[-1]
    number = random.Random(1).randrange(40)
    assert state.history[number] is state.history[number]
    assert sum(isinstance(entry, Sealed) for entry in state.history._shared) > 70
