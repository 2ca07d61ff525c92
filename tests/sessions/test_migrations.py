from pathlib import Path

import orjson
import pytest

from agentls.errors import LogUnreadable
from agentls.protocol.history import CallResult
from agentls.protocol.session_state import SessionState
from agentls.sessions.loading import events, load
from agentls.sessions.migrations import check_version, migrated
from agentls.sessions.records import envelope_line, header_line
from tests.support.logs import OneLog

LOGS = Path(__file__).parent / "logs"
VERSION_1 = LOGS / "version-1.jsonl"
"""Written by version 1: prompts, tool calls, an approval, a plan, a rewind, a further prompt."""


def test_a_log_of_version_1_loads_as_version_1_had_it(tmp_path):
    before = VERSION_1.read_bytes()
    loaded = load(OneLog(VERSION_1), "s1")
    then = SessionState.model_validate_json((LOGS / "version-1-state.json").read_bytes())
    results = [entry.call for entry in loaded.state.history if isinstance(entry, CallResult)]
    assert loaded.damage == ()
    assert loaded.message_count_difference is None
    assert loaded.version == 1
    assert loaded.state.model_dump(exclude={"history", "calls"}) == then.model_dump(
        exclude={"history", "calls"}
    )
    assert [entry.type for entry in loaded.state.history] == [e.type for e in then.history]
    assert [call.outcome for call in results] == ["ok", "ok"]
    assert [change.restorable for call in results for change in call.changes] == [False]
    assert VERSION_1.read_bytes() == before


def test_a_log_of_version_1_goes_on_in_this_version(tmp_path):
    old = events(OneLog(VERSION_1), "s1")
    newer = old[-1].model_copy(update={"seq": old[-1].seq + 1})
    changed = next(e for e in old if getattr(e.event, "changes", ()))
    change = changed.event.changes[0].model_copy(update={"restorable": True})
    event = changed.event.model_copy(update={"changes": (change,)})
    newer = changed.model_copy(update={"seq": old[-1].seq + 1, "event": event})
    lines = VERSION_1.read_bytes() + header_line("s1") + envelope_line(newer)
    loaded = load(OneLog(tmp_path / "s1.jsonl", lines), "s1")
    read = events(OneLog(tmp_path / "s1.jsonl"), "s1")
    assert loaded.version == 2
    assert loaded.damage == ()
    assert loaded.seq == newer.seq
    assert read[:-1] == old
    assert read[-1] == newer, "what this version writes is not taken for version 1"


def test_a_newer_log_is_refused_and_left_alone(tmp_path):
    log = OneLog(
        tmp_path / "s1.jsonl", b'{"log":"agentls","version":3,"sessionId":"s1"}\n{"x":1}\n'
    )
    with pytest.raises(LogUnreadable, match=r"s1 was written in log version 3.*Update agentls"):
        load(log, "s1")
    assert log.path.read_bytes().endswith(b'{"x":1}\n')


def test_a_log_that_a_newer_version_went_on_with_is_refused(tmp_path):
    lines = VERSION_1.read_bytes() + b'{"log":"agentls","version":9,"sessionId":"s1"}\n'
    with pytest.raises(LogUnreadable, match="log version 9"):
        load(OneLog(tmp_path / "s1.jsonl", lines), "s1")


def test_unknown_fields_pass_through_every_step():
    record = {
        "seq": 1,
        "later": [1],
        "event": {
            "type": "toolCallFinished",
            "colour": "red",
            "changes": [{"path": "a", "shape": "round"}],
        },
    }
    newer = migrated(record, 1)
    assert newer["later"] == [1]
    assert newer["event"]["colour"] == "red"
    assert newer["event"]["changes"] == [{"path": "a", "shape": "round", "restorable": False}]


def test_what_needs_no_step_stays_the_very_same():
    record = orjson.loads(VERSION_1.read_bytes().split(b"\n")[1])
    assert migrated(record, 1) is record
    assert migrated({"event": 5}, 1) == {"event": 5}
    check_version(1, "x")
    check_version(2, "x")
