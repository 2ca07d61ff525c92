"""Sessions as `agentls run` keeps them and goes on with them."""

import json

import pytest

from tests.support.scenarios import calls, says
from tests.support.scripts import Script, tool_results

HELLO = says("Hello.")
EDIT = calls("Write", file_path="new.txt", content="new\n")
STREAM = ("--output-format", "stream-json")


def test_session_can_be_resumed_by_its_id(script: Script) -> None:
    first = script.run("-p", "Remember me.", "--model", script.plays(HELLO), *STREAM)
    session = first.result["session_id"]
    model = script.plays(says("Two."))
    second = script.run("-p", "And now?", "--resume", session, "--model", model, *STREAM)
    assert second.result["session_id"] == session
    assert [log.stem for log in script.logs] == [session]
    shown = script.command("sessions", "show", session, "--cwd", str(script.folder)).stdout
    places = [shown.index(text) for text in ("Remember me.", "Hello.", "And now?", "Two.")]
    assert places == sorted(places)


def test_continue_takes_the_latest_session(script: Script) -> None:
    ids = [
        script.run("-p", f"Hi {n}.", "--model", script.plays(HELLO), *STREAM).result["session_id"]
        for n in range(2)
    ]
    done = script.run("-p", "On.", "--continue", "--model", script.plays(HELLO), *STREAM)
    assert done.result["session_id"] == ids[1]


def test_continue_with_nothing_to_continue_says_so(script: Script) -> None:
    done = script.run("-p", "On.", "--continue", "--model", "offline", *STREAM)
    assert (done.code, done.result["terminal_reason"]) == (2, "usage")
    assert str(script.folder) in done.told
    assert "--continue" in done.told


def test_no_session_leaves_nothing_on_disk(script: Script) -> None:
    done = script.run("-p", "Hi.", "--no-session", "--model", script.plays(HELLO))
    assert (done.code, done.stdout) == (0, "Hello.\n")
    assert [*script.folder.iterdir(), *script.data.iterdir(), *script.config.iterdir()] == []


@pytest.mark.parametrize("which", [["--resume", "x"], ["--continue"]])
def test_no_session_cannot_go_on_with_one(script: Script, which: list[str]) -> None:
    done = script.run("-p", "Hi.", "--no-session", *which, "--model", "offline")
    assert (done.code, "--no-session" in done.told) == (2, True)


def test_mode_of_the_flag_holds_in_a_resumed_session(script: Script) -> None:
    script.run("-p", "Hi.", "--model", script.plays(HELLO))
    flags = ["--continue", "--permission-mode", "acceptEdits"]
    done = script.run("-p", "Write.", "--model", script.plays(EDIT, HELLO), *flags, *STREAM)
    assert done.lines[0]["permissionMode"] == "acceptEdits"
    assert (script.folder / "new.txt").exists()


def test_open_approval_of_an_editor_does_not_hang_a_resumed_run(script: Script) -> None:
    """An editor that ended while it asked leaves a call that waits."""
    script.run("-p", "Write.", "--model", script.plays(EDIT, HELLO))
    [log] = script.logs
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    kept = [line for line in lines if line.get("event", {}).get("type") not in AFTER_THE_CALL]
    [answer] = [line for line in kept if line.get("event", {}).get("type") == "answerFinished"][:1]
    upto = kept[: kept.index(answer) + 1]
    asked = answer | {"seq": answer["seq"] + 1, "event": approval_of(answer)}
    log.write_text("".join(json.dumps(line) + "\n" for line in [*upto, asked]))
    model = script.plays(says("I see."), says("On it.", expect={"user": "Go on."}))
    done = script.run("-p", "Go on.", "--continue", "--model", model, *STREAM)
    assert (done.code, done.result["result"], done.result["num_turns"]) == (0, "On it.", 1)
    assert "nobody is there" in tool_results(done.lines)[0]
    assert not (script.folder / "new.txt").exists()


AFTER_THE_CALL = ("toolCallStarted", "toolCallFinished", "turnFinished")


def approval_of(answer: dict) -> dict:
    call = next(part for part in answer["event"]["parts"] if part["type"] == "toolCall")
    option = {"id": "deny", "kind": "deny", "label": "Deny", "rule": None}
    approval = {
        "callId": call["id"], "toolName": "Write", "title": "Write new.txt", "detail": "",
        "reason": "", "options": [option], "requestedAt": answer["at"],
    }  # fmt: skip
    parent = answer["event"]["id"]
    return {"type": "approvalRequested", "parent": parent, "approval": approval}
