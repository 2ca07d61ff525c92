import json
import random
from typing import Any

import pytest

from tests.support.scenarios import calls, says
from tests.support.scripts import PLAIN_USER, Finished, Script, as_root, open_to_all


def sessions(script: Script, *arguments: str, **options: Any) -> Finished:
    return script.command("sessions", *arguments, "--cwd", str(script.folder), **options)


@pytest.fixture
def kept(script: Script) -> str:
    """The id of a session that holds a prompt, a call and an answer."""
    (script.folder / "a.txt").write_text("first\n")
    model = script.plays(calls("Read", file_path="a.txt"), says("It says **first**."))
    script.run("-p", "What does\na.txt say?", "--model", model)
    return script.logs[0].stem


def test_list_of_nothing_says_so(script: Script) -> None:
    done = sessions(script, "list")
    assert (done.code, done.stdout) == (0, f"no sessions in {script.folder}\n")
    assert (sessions(script, "list", "--json").stdout, done.stderr) == ("[]\n", "")
    assert not [*script.folder.iterdir()]


def test_list_has_a_row_for_each_session_newest_first(script: Script, kept: str) -> None:
    script.run("-p", "x" * 100, "--model", script.plays(says("Yes.")))
    heading, *rows = sessions(script, "list", env={"COLUMNS": "80"}).stdout.splitlines()
    assert heading.split() == ["ID", "AGE", "MSGS", "TITLE"]
    assert [row.split()[0] for row in rows] == [log.stem for log in reversed(script.logs)]
    assert "What does a.txt say?" in rows[1]
    assert rows[0].endswith("…")
    assert max(map(len, rows)) <= 80
    summaries = json.loads(sessions(script, "list", "--json").stdout)
    assert [summary["id"] for summary in summaries] == [row.split()[0] for row in rows]
    assert (summaries[1]["lastPrompt"], summaries[1]["messageCount"]) == (
        "What does a.txt say?", 4,
    )  # fmt: skip


def test_show_is_the_conversation_as_text(script: Script, kept: str) -> None:
    done = sessions(script, "show", kept)
    assert (done.code, done.stderr) == (0, "")
    parts = ["  What does\n  a.txt say?", "  - Read ", "  It says **first**."]
    places = [done.stdout.index(part) for part in parts]
    assert places == sorted(places)


def test_show_as_json_is_the_whole_state(script: Script, kept: str) -> None:
    state = json.loads(sessions(script, "show", kept, "--json").stdout)
    assert state["meta"]["id"] == kept
    assert [entry["type"] for entry in state["history"]] == [
        "user", "answer", "callResult", "answer",
    ]  # fmt: skip
    assert state["lastTurn"]["status"] == "completed"


@pytest.mark.parametrize("session_id", ["20260101-000000-abcdef", "../../etc/passwd", ""])
def test_unknown_session_is_a_usage_error(script: Script, session_id: str) -> None:
    done = sessions(script, "show", session_id)
    assert (done.code, done.stdout) == (2, "")
    assert session_id in done.told


def test_damaged_lines_are_named_and_the_rest_is_shown(script: Script, kept: str) -> None:
    [log] = script.logs
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([*lines[:2], b"\xff{half a li", *lines[2:], b'{"seq":1']))
    done = sessions(script, "show", kept)
    assert (done.code, "It says **first**." in done.stdout) == (0, True)
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["agentls"] * 2
    assert f"session {kept}, line 3: bytes that are not UTF-8" in done.stderr


def test_log_of_a_newer_version_is_refused_and_left_alone(script: Script, kept: str) -> None:
    [log] = script.logs
    newer = log.read_bytes().replace(b'"version":2', b'"version":99', 1)
    log.write_bytes(newer)
    done = sessions(script, "show", kept)
    assert (done.code, done.stdout) == (2, "")
    assert "version 99" in done.told
    assert "Update agentls" in done.told
    assert log.read_bytes() == newer


def test_one_log_of_a_newer_version_does_not_hide_the_others(script: Script, kept: str) -> None:
    newer = script.logs[0].with_name("newer.jsonl")
    newer.write_text('{"log":"agentls","version":99,"sessionId":"newer"}\n')
    done = sessions(script, "list")
    assert (done.code, kept in done.stdout) == (0, True)
    again = script.run("-p", "On.", "--continue", "--model", script.plays(says("Yes.")))
    assert (again.code, again.stdout) == (0, "Yes.\n")


@pytest.mark.parametrize("content", [b"", b"\n", b"\x00" * 100, b"{}\n", b"[]\n"])
def test_log_without_a_beginning_names_the_session(script: Script, content: bytes) -> None:
    log = script.folder / ".agentls" / "sessions" / "s1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(content)
    done = sessions(script, "show", "s1")
    assert (done.code, done.stdout) == (2, "")
    assert "session s1" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert sessions(script, "list").code == 0


def test_log_with_holes_is_shown_as_far_as_it_goes(script: Script, kept: str) -> None:
    """Whatever lines are lost behind the first event, nothing crashes."""
    [log] = script.logs
    header, first, *rest = log.read_bytes().splitlines(keepends=True)
    chance = random.Random(7)
    for number in range(8):
        some = [line for line in rest if chance.random() < 0.6]
        path = log.with_name(f"holes{number}.jsonl")
        path.write_bytes(
            b"".join([header, first, *some]).replace(kept.encode(), path.stem.encode())
        )
        done = sessions(script, "show", path.stem)
        assert (done.code, "Traceback" in done.stderr) == (0, False), done.stderr


@as_root
def test_sessions_of_a_folder_that_cannot_be_written_are_found(script: Script) -> None:
    open_to_all(script)
    script.folder.chmod(0o555)
    script.run("-p", "Hi.", "--model", script.plays(says("Yes.")), prefix=PLAIN_USER)
    assert "Hi." in sessions(script, "list", prefix=PLAIN_USER).stdout


def test_folder_that_is_not_there_is_a_usage_error(script: Script) -> None:
    script.folder.rmdir()
    done = sessions(script, "list")
    assert (done.code, str(script.folder) in done.told) == (2, True)
