"""What every flag of `agentls run` does, seen in real processes."""

import os
import socket
import subprocess

import pytest

from tests.support.scenarios import calls, calls_together, says
from tests.support.scripts import (
    AGENTLS,
    SECONDS,
    Script,
    as_input,
    interrupt,
    is_gone,
    kind,
    tool_results,
    user,
    written_pid,
)

HELLO = says("Hello.")
STREAM = ("--output-format", "stream-json")
ALL = ("--permission-mode", "bypassPermissions")
TALK = ("--input-format", "stream-json", *STREAM)


def hears(text: str) -> dict:
    """Return an answer that is given only to this prompt."""
    return says("Heard.", expect={"user": text})


def test_text_is_the_answer_and_nothing_else(script: Script) -> None:
    done = script.run("-p", "Hi.", "--model", script.plays(says("Grüß dich 😀")))
    assert (done.code, done.stdout, done.stderr) == (0, "Grüß dich 😀\n", "")


def test_prompt_can_come_from_stdin_alone(script: Script) -> None:
    done = script.run("--model", script.plays(hears("From a pipe")), stdin=b"From a pipe\n")
    assert (done.code, done.stdout) == (0, "Heard.\n")


def test_what_is_piped_in_is_appended_to_the_prompt(script: Script) -> None:
    model = script.plays(hears("Explain this:\n\nthe log"))
    done = script.run("-p", "Explain this:", "--model", model, stdin=b"the log")
    assert (done.code, done.stdout) == (0, "Heard.\n")


@pytest.mark.parametrize("kind_of_pipe", ["pipe", "socket"])
def test_silent_open_stdin_is_not_waited_for_with_a_prompt(script: Script, kind_of_pipe) -> None:
    ours, theirs = socket.socketpair()
    stdin = {"stdin": theirs} if kind_of_pipe == "socket" else {}
    with (
        ours,
        theirs,
        script.started("-p", "Hi.", "--model", script.plays(HELLO), **stdin) as running,
    ):
        assert running.finish().stdout == "Hello.\n"


def test_prompt_that_is_not_utf8_is_read_as_far_as_it_goes(script: Script) -> None:
    prompt = os.fsdecode(b"caf\xe9")
    done = script.run("-p", prompt, "--model", script.plays(hears("caf\ufffd")), "--no-session")
    assert (done.code, done.stdout, done.stderr) == (0, "Heard.\n", "")


def test_json_is_one_object(script: Script) -> None:
    model = script.plays(calls("LS", path="."), says("Done.", inputTokens=7, outputTokens=3))
    done = script.run("-p", "Look.", "--model", model, "--output-format", "json")
    result = done.result
    assert done.stdout == done.stdout.splitlines()[0] + "\n"
    assert (done.code, result["subtype"], result["is_error"]) == (0, "success", False)
    assert (result["result"], result["num_turns"]) == ("Done.", 2)
    assert result["terminal_reason"] == "completed"
    assert result["usage"]["output_tokens"] == result["modelUsage"][model]["output_tokens"] > 3
    assert result["session_id"] == script.logs[0].stem


def test_stream_tells_everything_in_order(script: Script) -> None:
    (script.folder / "a.txt").write_text("first\n")
    model = script.plays(calls("Read", file_path="a.txt"), says("It says first."))
    done = script.run("-p", "Read it.", "--model", model, *STREAM)
    lines = done.lines
    assert [kind(line) for line in lines] == [
        "system/init", "assistant", "user", "assistant", "result",
    ]  # fmt: skip
    start, call, result, answer, end = lines
    assert (start["cwd"], start["model"]) == (str(script.folder), model)
    assert (start["permissionMode"], start["mcp_servers"]) == ("default", [])
    assert {"Read", "Edit", "Bash"} <= {*start["tools"]}
    use = call["message"]["content"][0]
    assert (use["type"], use["name"]) == ("tool_use", "Read")
    assert result["message"]["content"][0]["tool_use_id"] == use["id"]
    assert "first" in tool_results(lines)[0]
    assert answer["message"]["content"] == [{"type": "text", "text": "It says first."}]
    assert end["result"] == "It says first."
    assert {line["session_id"] for line in lines} == {script.logs[0].stem}


def test_several_prompts_have_a_result_each(script: Script) -> None:
    model = script.plays(
        says("One.", expect={"user": "first"}), says("Two.", expect={"user": "b\n\nc"})
    )
    blocks = {
        "type": "user",
        "message": {"role": "user", "content": [{"text": "b"}, {"text": "c"}]},
    }
    done = script.run("--model", model, *TALK, stdin=as_input(user("first"), "", blocks))
    results = [line["result"] for line in done.lines if kind(line) == "result"]
    assert (done.code, results, done.stderr) == (0, ["One.", "Two."], "")


def test_prompt_of_the_command_line_comes_before_those_of_stdin(script: Script) -> None:
    model = script.plays(hears("first"), hears("second"))
    done = script.run("-p", "first", "--model", model, *TALK, stdin=as_input(user("second")))
    assert [kind(line) for line in done.lines].count("result") == 2
    assert done.code == 0


def test_first_line_comes_before_any_prompt(script: Script) -> None:
    with script.started("--model", script.plays(HELLO), *TALK) as running:
        running.line("system/init")
        running.send({"type": "control_request", "request_id": 5, "request": "nonsense"})
        answer = running.line("control_response")["response"]
        assert (answer["request_id"], answer["subtype"]) == (5, "error")
        assert "interrupt" in answer["error"]
        running.send(interrupt())
        assert running.line("control_response")["response"]["cancelled"] is False
        running.send(user("Hi."))
        assert running.line("result")["result"] == "Hello."
        running.close_stdin()
        done = running.finish()
    assert (done.code, len(done.lines)) == (0, 5)


def test_interrupt_stops_the_prompt_and_the_next_one_runs(script: Script) -> None:
    model = script.plays(calls("Bash", command="echo $$ > pid; exec sleep 600"), HELLO)
    with script.started("--model", model, *ALL, *TALK) as running:
        running.send(user("Wait."))
        pid = written_pid(script.folder / "pid")
        running.send(interrupt("mine"))
        answer = running.line("control_response")["response"]
        assert answer == {"request_id": "mine", "subtype": "success", "cancelled": True}
        stopped = running.line("result")
        assert (stopped["is_error"], stopped["terminal_reason"]) == (True, "interrupted")
        running.send(user("Go on."))
        assert running.line("result")["result"] == "Hello."
        running.close_stdin()
        assert running.finish().code == 0
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{broken", "stdin, line 3: not JSON"),
        ('["user"]', "stdin, line 3: not a JSON object"),
        ('{"type":"usr"}', "stdin, line 3: type 'usr' is not known here"),
        ('{"no":"type"}', "stdin, line 3: type None is not known here"),
        ('{"type":"user","message":"x"}', "stdin, line 3: message.content must be"),
        ('{"type":"user","message":{"content":" "}}', "stdin, line 3: the prompt has no text"),
    ],
)
def test_bad_line_ends_the_run_after_the_prompts_before_it(script, line: str, said: str) -> None:
    stdin = as_input(user("Hi."), "", line, user("never"))
    done = script.run("--model", script.plays(HELLO), *TALK, stdin=stdin)
    first, last = [line for line in done.lines if kind(line) == "result"]
    assert (first["result"], first["is_error"]) == ("Hello.", False)
    assert (last["is_error"], last["terminal_reason"]) == (True, "usage")
    assert said in last["result"]
    assert (done.code, said in done.told) == (2, True)


def test_offline_model_works_and_says_first_what_it_is(script: Script) -> None:
    (script.folder / "a.txt").write_text("needle\n")
    done = script.run("-p", "find needle", "--model", "offline", *STREAM)
    answers = [line["message"]["content"][0] for line in done.lines if kind(line) == "assistant"]
    assert answers[0]["text"].startswith("Offline model:")
    assert "a.txt" in done.result["result"]


EDIT = calls("Write", file_path="new.txt", content="new\n")


@pytest.mark.parametrize(
    ("flags", "is_written"),
    [
        ([], False),
        (["--permission-mode", "acceptEdits"], True),
        (["--permission-mode", "bypassPermissions"], True),
        (["--permission-mode", "plan"], False),
        (["--permission-mode", "dontAsk"], False),
        (["--allowed-tools", "Write"], True),
        (["--allowed-tools", "Bash(x)", "Write(new.txt)"], True),
        (["--allowed-tools", "Write", "--disallowed-tools", "Write(*.txt)"], False),
    ],
)
def test_mode_and_rules_decide(script: Script, flags: list[str], is_written: bool) -> None:
    done = script.run("-p", "Write.", "--model", script.plays(EDIT, HELLO), *flags, *STREAM)
    assert (script.folder / "new.txt").exists() == is_written
    mode = flags[1] if "--permission-mode" in flags else "default"
    assert done.lines[0]["permissionMode"] == mode
    kinds = [kind(line) for line in done.lines]
    denials = done.result["permission_denials"]
    assert ("system/permission_denied" in kinds) == bool(denials) == (not is_written)
    assert (done.code, done.result["result"]) == (0, "Hello.")
    for denial in denials:
        assert denial["tool_input"] == {"file_path": "new.txt", "content": "new\n"}
        assert "denied" in tool_results(done.lines)[0]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ([], 1),
        (["--disallowed-tools", "Write"], 0),
        (["--permission-mode", "dontAsk"], 0),
        (["--allowed-tools", "Write"], 0),
    ],
)
def test_fail_fails_for_an_approval_nobody_gave_and_for_nothing_else(script, flags, code) -> None:
    model = script.plays(EDIT, HELLO)
    flags = [*flags, "--permission-prompt", "fail"]
    done = script.run("-p", "Write.", "--model", model, *flags, *STREAM)
    assert done.code == code
    if code:
        assert done.result["terminal_reason"] == "permission_denied"
        assert "Write" in done.told
        assert "--allowed-tools" in done.told


def test_turn_limit_ends_the_run(script: Script) -> None:
    look = calls("LS", path=".")
    done = script.run(
        "-p", "Look.", "--model", script.plays(look, look), "--max-turns", "1", *STREAM
    )
    assert (done.code, done.result["subtype"]) == (1, "error_max_turns")
    assert (done.result["num_turns"], done.result["terminal_reason"]) == (1, "max_turns")
    assert "--max-turns" in done.told
    assert len(tool_results(done.lines)) == 1


def test_system_prompt_can_be_replaced_and_continued(script: Script) -> None:
    model = script.plays(says("Yes.", expect={"system": "You are a parrot.\n\nSay it twice."}))
    flags = ["--system-prompt", "You are a parrot.", "--append-system-prompt", "Say it twice."]
    assert script.run("-p", "Hi.", "--model", model, *flags).stdout == "Yes.\n"


def test_system_prompt_names_the_folder_and_is_continued_behind_it(script: Script) -> None:
    model = script.plays(says("Yes.", expect={"system": str(script.folder)}))
    assert script.run("-p", "Hi.", "--model", model).stdout == "Yes.\n"
    model = script.plays(says("Yes.", expect={"system": "\n\nBe brief."}))
    done = script.run("-p", "Hi.", "--model", model, "--append-system-prompt", "Be brief.")
    assert done.stdout == "Yes.\n"


def test_relative_cwd_is_where_tools_work(script: Script) -> None:
    model = script.plays(calls("Bash", command="pwd"), HELLO)
    done = script.command(
        "run", "-p", "Where?", "--cwd", "work", "--model", model, "--allowed-tools", "Bash(pwd)",
        *STREAM,
    )  # fmt: skip
    assert str(script.folder) in tool_results(done.lines)[0]
    assert done.lines[0]["cwd"] == str(script.folder)


def test_folder_whose_name_is_not_utf8_can_be_worked_in(script: Script) -> None:
    folder = script.folder / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    model = script.plays(calls("Bash", command="pwd"), calls("LS", path="."), HELLO)
    flags = ["--model", model, "--allowed-tools", "Bash(pwd)"]
    done = script.command("run", "-p", "Hi.", "--cwd", str(folder), *flags, *STREAM)
    assert (done.code, done.result["result"]) == (0, "Hello.")
    assert done.lines[0]["cwd"].endswith("caf?")


def test_nothing_but_the_format_is_on_stdout(script: Script) -> None:
    """Where a command, a library or the interpreter prints."""
    prints = script.folder.parent / "sitecustomize.py"
    prints.write_text(
        "import atexit, os, threading, time, warnings\n"
        "def print_meanwhile():\n"
        "    while not os.path.exists('work/running'):\n"
        "        time.sleep(0.02)\n"
        "    print('a stray print', flush=True)\n"
        "    os.write(1, b'raw bytes on 1\\n')\n"
        "    warnings.warn('careful')\n"
        "    open('work/printed', 'w').close()\n"
        "threading.Thread(target=print_meanwhile, daemon=True).start()\n"
        "atexit.register(print, 'a print at exit')\n"
    )
    wait = "touch running; until test -e printed; do sleep 0.05; done"
    loud = calls("Bash", command=f"echo out; echo err >&2; echo again > /dev/fd/1; {wait}")
    model = script.plays(calls_together(loud, calls("LS", path=".")), HELLO)
    env = {"PYTHONPATH": str(prints.parent)}
    done = script.run("-p", "Hi.", "--model", model, *ALL, *STREAM, env=env)
    assert [kind(line) for line in done.lines].count("user") == 2
    for text in ("a stray print", "raw bytes on 1", "careful", "a print at exit"):
        assert text in done.stderr
        assert text not in done.stdout


@pytest.mark.parametrize("model", ["offline", "scripted"])
def test_run_loads_neither_the_language_server_nor_the_sdk(script: Script, model: str) -> None:
    name = script.plays(HELLO) if model == "scripted" else model
    env = {"PYTHONPROFILEIMPORTTIME": "1"}
    done = script.run("-p", "Hi.", "--model", name, env=env)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"agentls.headless.run", "agentls.agent.turn"} <= imported
    heavy = ("pygls", "lsprotocol", "anthropic", "httpx2", "agentls.lsp")
    assert [name for name in imported if name.startswith(heavy)] == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_do_no_harm(script: Script, closed: str) -> None:
    """What is opened later must not get their numbers, and the tools still work."""
    model = script.plays(calls("Bash", command="echo made > made"), HELLO)
    flags = ["--cwd", script.folder, "--model", model, *ALL]
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', AGENTLS, "run", "-p", "Hi.", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        env=script.environment(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == (b"" if ">&-" in closed.split() else b"Hello.\n")
    assert (script.folder / "made").read_text() == "made\n"
