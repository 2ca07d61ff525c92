"""Signals at every moment of a run: it ends soon, says so, and leaves no command behind."""

import signal
from signal import SIGINT, SIGTERM

import pytest

from tests.support.scenarios import calls, says
from tests.support.scripts import (
    SECONDS,
    Script,
    eventually,
    is_gone,
    is_result,
    kind,
    user,
    written_pid,
)

STREAM = ("--output-format", "stream-json")
ALL = ("--permission-mode", "bypassPermissions")
TALK = ("--input-format", "stream-json", *STREAM)
SLOW = says("word " * 4000, chunk=4, delayMs=20)
CODES = [(SIGINT, 130), (SIGTERM, 143)]

both = pytest.mark.parametrize(("number", "code"), CODES)


def check_stopped(lines: list[dict]) -> None:
    """Check that the last of the lines is the one result, and that it says `interrupted`."""
    assert [is_result(line) for line in lines].count(True) == 1
    assert (lines[-1]["terminal_reason"], lines[-1]["is_error"]) == ("interrupted", True)


def wait_for_log(script: Script, text: str) -> None:
    """Wait until the session's log holds `text`."""
    eventually(lambda: any(text in log.read_text() for log in script.logs))


@both
def test_signal_while_the_answer_streams(script: Script, number: signal.Signals, code: int) -> None:
    with script.started("-p", "Hi.", "--model", script.plays(SLOW), *STREAM) as running:
        running.line("system/init")
        wait_for_log(script, "turnStarted")
        running.signal(number)
        done = running.finish()
    assert (done.code, done.told) == (code, "agentls: stopped before the end")
    check_stopped(done.lines)
    assert '"status":"cancelled"' in script.logs[0].read_text()


@both
@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pid; exec sleep 600",
        "trap '' TERM INT; echo $$ > pid; sleep 600; sleep 600",
        "setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
    ],
)
def test_signal_while_a_command_runs(script: Script, number, code: int, command: str) -> None:
    model = script.plays(calls("Bash", command=command), says("never"))
    with script.started("-p", "Hi.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        running.signal(number)
        done = running.finish()
        assert is_gone(pid)
    assert done.code == code
    check_stopped(done.lines)
    assert [kind(line) for line in done.lines] == ["system/init", "assistant", "user", "result"]


@both
@pytest.mark.parametrize("format_of_input", ["text", "stream-json"])
def test_signal_while_nothing_has_come_yet(script: Script, number, code, format_of_input) -> None:
    flags = ["--input-format", format_of_input, "--model", "offline", *STREAM]
    with script.started(*flags) as running:
        running.line("system/init")
        running.signal(number)
        done = running.finish()
    assert done.code == code
    check_stopped(done.lines)
    assert script.logs == []


@both
def test_signal_between_prompts_adds_no_second_result(script: Script, number, code: int) -> None:
    with script.started("--model", script.plays(says("One.")), *TALK) as running:
        running.send(user("Hi."))
        running.line("result")
        running.signal(number)
        done = running.finish()
    assert (done.code, done.result["result"]) == (code, "One.")


def test_signal_takes_no_further_prompt(script: Script) -> None:
    model = script.plays(SLOW, says("never"))
    with script.started("--model", model, *TALK) as running:
        running.send(user("Hi."), user("And then?"))
        wait_for_log(script, "turnStarted")
        running.signal(SIGTERM)
        done = running.finish()
    assert done.code == 143
    check_stopped(done.lines)


def test_many_signals_are_as_good_as_one(script: Script) -> None:
    stubborn = calls("Bash", command="trap '' TERM INT; echo $$ > pid; sleep 600; sleep 600")
    model = script.plays(stubborn, says("never"))
    with script.started("-p", "Hi.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        for number in (SIGINT, SIGINT, SIGTERM, SIGINT):
            running.signal(number)
        done = running.finish()
        assert is_gone(pid)
    assert done.code in (130, 143)
    check_stopped(done.lines)


@both
def test_signal_ends_a_run_whose_stdout_nobody_reads(script: Script, number, code: int) -> None:
    """More than a pipe holds waits to be read, and whoever should read it waits for the end."""
    big = says("x" * 300_000, chunk=50_000)
    with script.started("--model", script.plays(big), *TALK) as running:
        running.send(user("Hi."))
        wait_for_log(script, "turnFinished")
        running.signal(number)
        assert running.process.wait(SECONDS) == code


def test_slow_reader_gets_everything(script: Script) -> None:
    big = [says(f"{n}" * 200_000, chunk=50_000) for n in range(3)]
    with script.started("--model", script.plays(*big), *TALK) as running:
        running.send(user("a"), user("b"), user("c"))
        running.close_stdin()
        wait_for_log(script, "turnFinished")
        done = running.finish_reading()
    results = [line["result"] for line in done.lines if is_result(line)]
    assert (done.code, results) == (0, [f"{n}" * 200_000 for n in range(3)])


def test_killed_run_leaves_no_command_and_a_session_that_goes_on(script: Script) -> None:
    model = script.plays(calls("Bash", command="echo $$ > pid; exec sleep 600"))
    with script.started("-p", "Hi.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        running.process.kill()
        running.process.wait(SECONDS)
    eventually(lambda: is_gone(pid))
    done = script.run("-p", "On.", "--continue", "--model", script.plays(says("Yes.")), *STREAM)
    assert (done.code, done.result["result"], done.result["num_turns"]) == (0, "Yes.", 1)


def test_interrupt_while_the_run_is_loaded_leaves_no_traceback(script: Script) -> None:
    hook = script.folder.parent / "sitecustomize.py"
    hook.write_text(
        "import signal, sys\n"
        "class Hook:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'agentls.headless.run':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Hook())\n"
    )
    done = script.run("-p", "Hi.", "--model", "offline", env={"PYTHONPATH": str(hook.parent)})
    assert (done.code, done.stdout, done.stderr) == (130, "", "")
