"""Every way a run of `agentls run` can end, but for signals: exit code, last line, stderr."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.messages_api import serving
from tests.support.scenarios import calls, fails, says
from tests.support.scripts import (
    IMPATIENT,
    PLAIN_USER,
    SECONDS,
    Finished,
    Script,
    as_root,
    eventually,
    is_gone,
    kind,
    open_to_all,
    tool_results,
    written_pid,
)

HELLO = says("Hello.")
STREAM = ("--output-format", "stream-json")
ALL = ("--permission-mode", "bypassPermissions")
SECRET = "sk-secret-123"


def check_failed(done: Finished, code: int, *said: str, reason: str = "failed") -> None:
    """Check that a run of stream-json failed as it should, and says why in one line."""
    result = done.lines[-1]
    assert (done.code, result["terminal_reason"]) == (code, reason), done.stderr
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    for text in said:
        assert text in done.told
        assert text in result["result"]


@pytest.mark.parametrize(
    ("kind_of_error", "code"),
    [
        ("keyRefused", 2),
        ("requestRefused", 1),
        ("promptTooLong", 1),
        ("rateLimited", 75),
        ("overloaded", 75),
        ("serverFailed", 75),
        ("connectionLost", 75),
        ("unreachable", 75),
        ("streamBroken", 75),
        ("streamStalled", 75),
    ],
)
def test_error_of_the_model_decides_the_exit_code(script: Script, kind_of_error, code) -> None:
    script.settings(retry=IMPATIENT)
    model = script.plays(fails(kind_of_error, "No luck today.") | {"repeat": True})
    check_failed(script.run("-p", "Hi.", "--model", model, *STREAM), code, "No luck today.")


def test_error_in_mid_answer_keeps_what_was_said(script: Script) -> None:
    script.settings(retry=IMPATIENT)
    halves = [{**fails("streamBroken", "Cut off."), "text": half} for half in ("Half", "The rest")]
    done = script.run("-p", "Hi.", "--model", script.plays(*halves), *STREAM)
    check_failed(done, 75, "Cut off.")
    answers = [line for line in done.lines if kind(line) == "assistant"]
    said = [answer["message"]["content"][0]["text"] for answer in answers]
    assert said == ["Half", "The rest"], "what each of the two tries said"


@pytest.mark.parametrize("output", ["text", "json"])
def test_failure_in_the_other_formats(script: Script, output: str) -> None:
    script.settings(retry=IMPATIENT)
    model = script.plays(fails("overloaded", "Later."))
    done = script.run("-p", "Hi.", "--model", model, "--output-format", output)
    assert (done.code, done.told) == (75, "agentls: Later.")
    if output == "text":
        assert done.stdout == ""
    else:
        assert (done.result["is_error"], done.result["result"]) == (True, "Later.")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--resume", "20260101-000000-abcdef"], ["20260101-000000-abcdef", "sessions list"]),
        (["--resume", "../x"], ["no session '../x'"]),
        (["--resume", ""], ["no session ''"]),
        (["--model", "claude-sonnet-5-5"], ["ANTHROPIC_API_KEY", "--model offline"]),
        (["--model", "gpt"], ["'gpt'", "offline"]),
        (["--model", "scripted:none.json"], ["none.json", "cannot be read"]),
        (["--cwd", "/no/such/folder"], ["/no/such/folder is not there"]),
        (["--cwd", "/etc/hostname"], ["/etc/hostname is not a folder"]),
    ],
)
def test_what_cannot_be_used_is_named(script: Script, flags: list[str], said: list[str]) -> None:
    done = script.run("-p", "Hi.", "--model", "offline", *flags, *STREAM)
    check_failed(done, 2, *said, reason="usage")


def test_mistake_in_a_scenario_names_file_and_line(script: Script) -> None:
    model = script.plays({"txt": "typo"})
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    check_failed(done, 2, "scenario.json, line ", "'txt'", reason="usage")


@pytest.mark.parametrize("flags", [[], ["-p", ""], ["-p", " \n"]])
def test_no_prompt_is_a_usage_error(script: Script, flags: list[str]) -> None:
    done = script.run(*flags, "--model", "offline", *STREAM, stdin=b" \n")
    check_failed(done, 2, "no prompt", reason="usage")


def test_too_much_on_stdin_is_refused(script: Script) -> None:
    done = script.run("--model", "offline", *STREAM, stdin=b"x" * ((10 << 20) + 1))
    check_failed(done, 2, "10 MiB", reason="usage")


@pytest.mark.parametrize(
    "flags",
    [
        ["--max-turns", "0"],
        ["--max-turns", "x"],
        ["--permission-mode", "yolo"],
        ["--output-format", "xml"],
        ["--resume", "a", "--continue"],
        ["--no-such-flag"],
        ["stray"],
        ["--allowed-tools", os.fsdecode(b"caf\xe9")],
        ["--model", os.fsdecode(b"caf\xe9")],
    ],
)
def test_wrong_flag_is_a_usage_error(script: Script, flags: list[str]) -> None:
    done = script.run("-p", "Hi.", *flags)
    assert (done.code, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert any(flag.removeprefix("--") in last for flag in flags)
    assert "Traceback" not in done.stderr


MARKERS = [
    ("[[status:400:bad thing]]", 1, "bad thing"),
    ("[[status:401]]", 2, "refused the key in ANTHROPIC_API_KEY"),
    ("[[status:429]]", 75, "no more requests"),
    ("[[status:529]]", 75, "overloaded"),
    ("[[html:502]]", 75, "Bad Gateway"),
    ("[[cut]]", 75, "broke off"),
]
ECHOES = [
    ("[[echo-key:401]]", 2, "refused the key"),
    ("[[echo-key:400]]", 1, "refused the request"),
]


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_errors_of_a_real_server_and_no_key_in_any_of_them(script: Script, variable) -> None:
    """The key is nowhere: not in lines, logs, or stderr, also where the server sends it back."""
    script.settings(retry=IMPATIENT)
    async with serving() as api:
        env = {variable: SECRET, "ANTHROPIC_BASE_URL": api.url}
        for marker, code, said in MARKERS if "KEY" in variable else ECHOES:
            done = await asyncio.to_thread(script.run, "-p", marker, *STREAM, env=env)
            check_failed(done, code, said, api.url)
            assert SECRET not in done.stdout + done.stderr
        assert any(SECRET in value for value in api.headers.values())
    assert not holders_of(SECRET, script.folder.parent)


async def test_key_is_not_in_the_most_talkative_log_either(script: Script) -> None:
    async with serving() as api:
        env = {"ANTHROPIC_AUTH_TOKEN": SECRET, "ANTHROPIC_BASE_URL": api.url}
        arguments = ["--verbose", "run", "-p", "[[echo-key:401]]", "--cwd", str(script.folder)]
        done = await asyncio.to_thread(script.command, *arguments, env=env)
    assert (done.code, done.stdout) == (2, "")
    assert " DEBUG " in done.stderr
    assert SECRET not in done.stderr


async def test_answer_of_a_real_server(script: Script) -> None:
    async with serving() as api:
        env = {"ANTHROPIC_BASE_URL": api.url}
        done = await asyncio.to_thread(script.run, "-p", "[[text:hello there]]", *STREAM, env=env)
    assert (done.code, done.result["result"], done.stderr) == (0, "hello there", "")
    assert done.result["usage"]["cache_read_input_tokens"] == 20


def test_server_that_is_not_there_is_worth_a_retry(script: Script) -> None:
    script.settings(retry=IMPATIENT)
    env = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    done = script.run("-p", "Hi.", *STREAM, env=env)
    check_failed(done, 75, "http://127.0.0.1:9", "cannot be reached")


def test_base_url_that_is_none_is_a_usage_error(script: Script) -> None:
    done = script.run("-p", "Hi.", *STREAM, env={"ANTHROPIC_BASE_URL": f"{SECRET}@nowhere"})
    check_failed(done, 2, "ANTHROPIC_BASE_URL", reason="usage")


def holders_of(secret: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if secret.encode() in path.read_bytes()]


@as_root
def test_folder_that_cannot_be_read_is_a_usage_error(script: Script) -> None:
    script.folder.chmod(0o700)
    open_to_all(script)
    done = script.run("-p", "Hi.", "--model", "offline", *STREAM, prefix=PLAIN_USER)
    check_failed(done, 2, f"{script.folder} cannot be read", reason="usage")


@as_root
def test_folder_that_cannot_be_written_keeps_its_sessions_elsewhere(script: Script) -> None:
    open_to_all(script)
    script.folder.chmod(0o555)
    model = script.plays(HELLO)
    done = script.run("-p", "Hi.", "--model", model, *STREAM, prefix=PLAIN_USER)
    assert (done.code, done.result["result"]) == (0, "Hello.")
    assert f"{script.folder} cannot be written" in done.told
    [log] = script.data.rglob("*.jsonl")
    assert str(log.parent.parent) in done.told
    assert not [*script.folder.iterdir()]
    again = script.run("-p", "Go on.", "--continue", "--model", model, *STREAM, prefix=PLAIN_USER)
    assert again.result["session_id"] == log.stem


@as_root
def test_where_no_log_can_be_written_the_model_is_not_asked(script: Script) -> None:
    open_to_all(script)
    for folder in (script.folder, script.data):
        folder.chmod(0o555)
    model = script.plays(HELLO)
    done = script.run("-p", "Hi.", "--model", model, *STREAM, prefix=PLAIN_USER)
    assert (done.code, done.result["num_turns"]) == (1, 0)
    assert str(script.data) in done.result["result"]
    assert "Traceback" not in done.stderr
    unkept = script.run("-p", "Hi.", "--model", model, "--no-session", prefix=PLAIN_USER)
    assert (unkept.code, unkept.stdout, unkept.stderr) == (0, "Hello.\n", "")


def test_full_disk_fails_the_turn_and_says_so(script: Script) -> None:
    """The limit on a file's size stands for a disk that is full from some byte on."""
    model = script.plays(calls("Bash", command="seq 9000"), HELLO)
    small = ("prlimit", "--fsize=4000")
    done = script.run("-p", "Hi.", "--model", model, *ALL, *STREAM, prefix=small)
    assert (done.code, done.result["terminal_reason"]) == (1, "failed")
    assert str(script.logs[0]) in done.result["result"]
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
    shown = script.command("sessions", "show", script.logs[0].stem, "--cwd", str(script.folder))
    assert (shown.code, "Hi." in shown.stdout) == (0, True)


def test_disk_that_is_full_at_once_fails_before_the_model_is_asked(script: Script) -> None:
    done = script.run("-p", "Hi.", "--model", script.plays(HELLO), *STREAM,
                      prefix=("prlimit", "--fsize=10"))  # fmt: skip
    assert (done.code, done.result["num_turns"]) == (1, 0)
    assert "the file may not grow larger here" in done.result["result"]


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_real_disk_that_is_full_loses_nothing_that_was_written(script, tiny_disk: Path) -> None:
    model = script.plays(calls("Bash", command="seq 9000"), HELLO)
    done = script.command(
        "run", "-p", "Hi.", "--cwd", str(tiny_disk), "--model", model, *ALL, *STREAM
    )
    assert (done.code, done.result["terminal_reason"]) == (1, "failed")
    assert "there is no room on the disk" in done.result["result"]
    [log] = tiny_disk.rglob("*.jsonl")
    assert [json.loads(line) for line in log.read_bytes().split(b"\n")[:-1]]


def test_reader_that_leaves_ends_the_run_and_its_command(script: Script) -> None:
    model = script.plays(calls("Bash", command="echo $$ > pid; exec sleep 600"), HELLO)
    with script.started("-p", "Hi.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        running.process.stdout.close()
        assert running.process.wait(SECONDS) == 1
        assert running.process.stderr.read() == b""
    eventually(lambda: is_gone(pid))
    text = script.logs[0].read_text()
    assert text.rstrip().endswith("}")
    assert '"cancelled"' in text


def test_reader_that_leaves_with_the_last_line_is_no_failure(script: Script) -> None:
    flags = ["--model", script.plays(HELLO), "--output-format", "json"]
    with script.started("-p", "Hi.", *flags, stdin=subprocess.DEVNULL) as running:
        assert running.process.stdout.readline().endswith(b"}\n")
        running.process.stdout.close()
        assert running.process.wait(SECONDS) == 0
        assert running.process.stderr.read() == b""


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_nobody_reads_from_the_start(script: Script, output: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    flags = ["--model", script.plays(HELLO), "--output-format", output]
    try:
        with script.started("-p", "Hi.", *flags, stdout=write_end, stdin=None) as running:
            done = running.finish()
    finally:
        os.close(write_end)
    assert (done.code, done.stderr) == (1, "")


def test_stdout_on_a_full_disk_is_an_error_that_is_told(script: Script) -> None:
    with Path("/dev/full").open("wb") as full:
        flags = ["--model", script.plays(HELLO), *STREAM]
        with script.started("-p", "Hi.", *flags, stdout=full, stdin=subprocess.DEVNULL) as running:
            done = running.finish()
    assert done.code == 1
    assert done.told == "agentls: stdout cannot be written: No space left on device"


def test_stderr_that_nobody_reads_does_no_harm(script: Script) -> None:
    script.settings(retry=IMPATIENT)
    read_end, write_end = os.pipe()
    os.close(read_end)
    flags = ["--model", script.plays(fails("overloaded")), *STREAM]
    try:
        with script.started("-p", "Hi.", *flags, stderr=write_end) as running:
            running.close_stdin()
            done = running.finish()
    finally:
        os.close(write_end)
    assert (done.code, done.lines[-1]["is_error"]) == (75, True)


def test_damaged_log_is_told_and_gone_on_with(script: Script) -> None:
    script.run("-p", "Hi.", "--model", script.plays(HELLO))
    [log] = script.logs
    with log.open("ab") as damaged:
        damaged.write(b'{"seq": 99, "broken\n')
    done = script.run("-p", "On.", "--continue", "--model", script.plays(HELLO), *STREAM)
    assert (done.code, done.result["result"]) == (0, "Hello.")
    assert log.stem in done.told
    assert "line " in done.told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"log":"agentls","version":99,"sessionId":"s1"}\n', "log version 99"),
        (b'{"log":"agentls","version":1,"sessionId":"s1"}\n', "s1"),
        (b"", "s1"),
        (b"\x00\x01 not a log\n", "s1"),
    ],
)
def test_log_that_cannot_be_resumed_is_left_as_it_is(script: Script, content, said: str) -> None:
    log = script.folder / ".agentls" / "sessions" / "s1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(content)
    done = script.run("-p", "Hi.", "--resume", "s1", "--model", "offline", *STREAM)
    assert (done.code, done.lines[-1]["is_error"]) == (2, True)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert log.read_bytes() == content


def test_deleted_current_folder_is_a_usage_error(script: Script) -> None:
    gone = script.folder / "gone"
    gone.mkdir()
    command = f'cd {gone} && rmdir {gone} && exec "$@"'
    done = script.command("run", "-p", "Hi.", "--model", "offline",
                          prefix=("sh", "-c", command, "sh"))  # fmt: skip
    assert (done.code, done.stdout) == (2, "")
    assert "--cwd" in done.told


def test_tool_that_fails_does_not_fail_the_run(script: Script) -> None:
    model = script.plays(calls("NoSuchTool"), calls("Read", file_path="none"), HELLO)
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    assert (done.code, done.stderr) == (0, "")
    assert len(tool_results(done.lines)) == 2
