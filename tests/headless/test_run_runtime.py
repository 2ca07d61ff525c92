"""What a long run meets: waits, a full window, work beside the conversation, and what it costs."""

import asyncio
import json
from decimal import Decimal
from signal import SIGINT
from typing import Any

import pytest

from benchmarks.messages_api import serving
from tests.support.log_lines import records
from tests.support.scenarios import calls, fails, says
from tests.support.scripts import (
    ROOT,
    Line,
    Script,
    as_input,
    eventually,
    is_gone,
    is_result,
    kind,
    tool_results,
    user,
    written_pid,
)

STREAM = ("--output-format", "stream-json")
ALL = ("--permission-mode", "bypassPermissions")
TALK = ("--input-format", "stream-json", *STREAM)
DONE = says("Done.")
PRICED, UNPRICED = "claude-sonnet-5-5", "claude-nobody-9"
PRICES = ROOT / "server" / "agentls" / "llm" / "models.json"
SUMMARY = says("## Done\nThe prompts were answered.\n## Next step\nnone")


def of_kind(wanted: str, lines: list[Line]) -> list[Line]:
    return [line for line in lines if kind(line) == wanted]


def test_waits_for_the_model_are_told_and_the_run_succeeds_after_them(script: Script) -> None:
    model = script.plays(
        fails("rateLimited", "Slow down.", retryAfter=0.75),
        fails("serverFailed", "Oops."),
        {**fails("streamBroken", "Cut off."), "text": "Half"},
        DONE,
    )
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    assert (done.code, done.result["result"], done.stderr) == (0, "Done.", "")
    assert [kind(line) for line in done.lines] == [
        "system/init", *["system/api_retry"] * 2, "assistant", "system/api_retry", "assistant",
        "result",
    ]  # fmt: skip
    waits = of_kind("system/api_retry", done.lines)
    assert [(wait["error"], wait["message"]) for wait in waits] == [
        ("rateLimited", "Slow down."),
        ("serverFailed", "Oops."),
        ("streamBroken", "Cut off."),
    ]
    assert [(wait["attempt"], wait["max_retries"]) for wait in waits] == [(1, 9), (1, 4), (1, 4)]
    asked, backed_off, at_once = [wait["retry_delay_ms"] for wait in waits]
    assert asked == 750, "as long as the server asks for"
    assert 500 <= backed_off <= 625
    assert at_once == 0


@pytest.mark.parametrize("output", ["text", "json"])
def test_waits_are_not_in_the_other_formats(script: Script, output: str) -> None:
    model = script.plays(fails("connectionLost"), DONE)
    done = script.run("-p", "Hi.", "--model", model, "--output-format", output)
    said = done.stdout if output == "text" else done.result["result"]
    assert (done.code, said.strip(), done.stderr) == (0, "Done.", "")


def test_tries_are_counted_up_to_their_number(script: Script) -> None:
    model = script.plays(fails("connectionLost", "Reset.") | {"repeat": True})
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    assert (done.code, done.told) == (75, "agentls: Reset.")
    [wait] = of_kind("system/api_retry", done.lines)
    assert (wait["attempt"], wait["max_retries"], wait["retry_delay_ms"]) == (1, 1, 0)


async def test_wait_longer_than_is_allowed_ends_the_run_at_once(script: Script) -> None:
    async with serving() as api:
        env = {"ANTHROPIC_BASE_URL": api.url}
        prompt = ("-p", "[[retry-after:4000]]", "--model", PRICED)
        done = await asyncio.to_thread(script.run, *prompt, *STREAM, env=env)
        assert len(api.requests) == 1
    assert (done.code, done.lines[-1]["terminal_reason"]) == (75, "failed")
    assert "takes no more requests just now: slow down" in done.told
    assert not of_kind("system/api_retry", done.lines)


def test_wait_longer_than_is_allowed_is_named(script: Script) -> None:
    model = script.plays(fails("rateLimited", "Slow down.", retryAfter=4000))
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    assert done.code == 75
    for told in (done.told, done.result["result"]):
        assert "Slow down." in told
        assert "1 h 6 min 40 s" in told


def test_wait_that_settings_allow_is_waited_for(script: Script) -> None:
    """The budget is a setting: what ends one run at once is waited for in another."""
    model = script.plays(fails("overloaded", retryAfter=0.5), DONE)
    script.settings(retry={"overloadSeconds": 0})
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    assert (done.code, of_kind("system/api_retry", done.lines)) == (75, [])
    script.settings(retry={"overloadSeconds": 1})
    done = script.run("-p", "Hi.", "--model", model, *STREAM)
    [wait] = of_kind("system/api_retry", done.lines)
    assert (done.code, wait["retry_delay_ms"] <= 1000) == (0, True)


def test_signal_during_a_wait_ends_it(script: Script) -> None:
    """The wait is longer than a test may take, so one that went on would fail this."""
    model = script.plays(fails("overloaded", retryAfter=100), says("never"))
    with script.started("-p", "Hi.", "--model", model, *STREAM) as running:
        assert running.line("system/api_retry")["retry_delay_ms"] == 100_000
        running.signal(SIGINT)
        done = running.finish()
    assert (done.code, done.told) == (130, "agentls: stopped before the end")
    assert done.result["terminal_reason"] == "interrupted"
    again = script.run("-p", "On.", "--continue", "--model", script.plays(DONE), *STREAM)
    assert (again.code, again.result["result"]) == (0, "Done.")
    assert not of_kind("system/api_retry", again.lines), "the wait is over with its turn"


def test_conversation_that_outgrows_the_window_is_summarised(script: Script) -> None:
    asked_again = says("Still here.", expect={"user": "Prompt 5"})
    model = script.plays(*[says("word " * 1_500)] * 5, SUMMARY, asked_again)
    script.settings(models={model: {"contextWindow": 16_000, "maxOutput": 1_000}})
    prompts = as_input(*(user(f"Prompt {number}.") for number in range(6)))
    done = script.run("--model", model, *TALK, stdin=prompts)
    assert (done.code, done.lines[-1]["result"], done.stderr) == (0, "Still here.", "")
    [boundary] = of_kind("system/compact_boundary", done.lines)
    told = boundary["compact_metadata"]
    assert told["trigger"] == "auto"
    assert 0 < told["post_tokens"] < told["pre_tokens"] * 0.9
    kinds = [kind(line) for line in done.lines]
    assert kinds[-3:] == ["system/compact_boundary", "assistant", "result"]
    last = done.lines[-1]["usage"]["output_tokens"]
    assert last > done.lines[-2]["message"]["usage"]["output_tokens"], "the summary counts too"


def test_window_is_not_made_room_in_where_that_is_turned_off(script: Script) -> None:
    model = script.plays(*[says("word " * 1_500)] * 6)
    script.settings(
        models={model: {"contextWindow": 16_000, "maxOutput": 1_000}}, compaction={"auto": False}
    )
    prompts = as_input(*(user(f"Prompt {number}.") for number in range(6)))
    done = script.run("--model", model, *TALK, stdin=prompts)
    assert (done.code, of_kind("system/compact_boundary", done.lines)) == (0, [])


def test_prompt_that_looks_like_a_command_is_a_prompt(script: Script) -> None:
    model = script.plays(says("It is a word.", expect={"user": "/compact"}))
    done = script.run("-p", "/compact", "--model", model, *STREAM)
    assert (done.code, done.result["result"]) == (0, "It is a word.")
    assert [kind(line) for line in done.lines] == ["system/init", "assistant", "result"]


def test_command_in_the_background_is_told_from_its_start_to_its_end(script: Script) -> None:
    model = script.plays(
        calls("Bash", command="echo built; exit 3", description="Build", run_in_background=True),
        calls("Bash", command="until [ -e go ]; do sleep 0.05; done"),
        says("It failed.", expect={"user": "exit code 3"}),
    )
    with script.started("-p", "Build it.", "--model", model, *ALL, *STREAM) as running:
        started = running.line("system/task_started")
        ended = running.line("system/task_notification")
        (script.folder / "go").touch()
        done = running.finish()
    assert (done.code, done.result["result"], done.stderr) == (0, "It failed.", "")
    assert started["description"] == "Build"
    [call] = of_kind("assistant", done.lines)[0]["message"]["content"]
    assert started["tool_use_id"] == call["id"]
    assert started["task_id"] == ended["task_id"]
    assert started["task_id"] in tool_results(done.lines)[0]
    assert (ended["status"], ended["summary"]) == ("failed", "Build: exit code 3")


def test_output_of_a_background_command_is_in_the_file_that_is_named(script: Script) -> None:
    model = script.plays(
        calls("Bash", command="echo built", description="Build", run_in_background=True),
        calls("Bash", command="until [ -e go ]; do sleep 0.05; done; cat $(cat go)"),
        DONE,
    )
    with script.started("-p", "Build it.", "--model", model, *ALL, *STREAM) as running:
        ended = running.line("system/task_notification")
        (script.folder / "named").write_text(ended["output_file"])
        (script.folder / "named").rename(script.folder / "go")
        done = running.finish()
    assert (done.code, ended["status"]) == (0, "completed")
    assert tool_results(done.lines)[1].startswith("built\n")


@pytest.mark.parametrize(
    "command",
    [
        "echo $$ > pid; exec sleep 600",
        "trap '' TERM INT; echo $$ > pid; sleep 600; sleep 600",
        "setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
    ],
)
def test_background_commands_end_with_the_run(script: Script, command: str) -> None:
    model = script.plays(
        calls("Bash", command=command, run_in_background=True),
        calls("Bash", command="until [ -s pid ]; do sleep 0.05; done"),
        DONE,
    )
    done = script.run("-p", "Serve it.", "--model", model, *ALL, *STREAM)
    assert (done.code, done.result["result"], done.stderr) == (0, "Done.", "")
    pid = written_pid(script.folder / "pid")
    assert is_gone(pid), "it was ended before the run was"
    assert len(of_kind("system/task_started", done.lines)) == 1
    [ended] = logged(script, "taskFinished")
    assert (ended["status"], ended["reason"]) == ("killed", "agentls ended while it ran")


def test_command_past_its_timeout_is_a_task_and_ends_with_the_run(script: Script) -> None:
    slow = calls("Bash", command="echo $$ > pid; exec sleep 600", timeout=200)
    done = script.run("-p", "Go.", "--model", script.plays(slow, DONE), *ALL, *STREAM)
    assert (done.code, done.result["result"]) == (0, "Done.")
    [started] = of_kind("system/task_started", done.lines)
    assert started["task_id"] in tool_results(done.lines)[0]
    pid = written_pid(script.folder / "pid")
    assert is_gone(pid)


def test_signal_ends_what_runs_in_the_background(script: Script) -> None:
    model = script.plays(
        calls("Bash", command="echo $$ > pid; exec sleep 600", run_in_background=True),
        says("word " * 4000, chunk=4, delayMs=20),
    )
    with script.started("-p", "Serve it.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        running.line("user")
        running.signal(SIGINT)
        done = running.finish()
    assert (done.code, done.result["terminal_reason"]) == (130, "interrupted")
    assert is_gone(pid)


def test_killed_run_leaves_no_background_command_and_says_so_when_resumed(script: Script) -> None:
    model = script.plays(
        calls("Bash", command="echo $$ > pid; exec sleep 600", run_in_background=True),
        says("word " * 4000, chunk=4, delayMs=20),
    )
    with script.started("-p", "Serve it.", "--model", model, *ALL, *STREAM) as running:
        pid = written_pid(script.folder / "pid")
        running.line("user")
        eventually(lambda: logged(script, "taskStarted"))
        running.process.kill()
        running.process.wait()
    eventually(lambda: is_gone(pid))
    heard = says("I see.", expect={"user": "agentls ended while it ran"})
    done = script.run("-p", "On.", "--continue", "--model", script.plays(heard), *STREAM)
    assert (done.code, done.result["result"], done.stderr) == (0, "I see.", "")


async def test_cost_is_the_usage_at_list_prices(script: Script) -> None:
    (script.folder / "a.txt").write_text("alpha\n")
    done = await priced_run(script, "[[reads:2:a.txt]]", PRICED)
    assert (done["result"], done["num_turns"]) == ("done", 3)
    usage = done["usage"]
    assert usage == {
        "input_tokens": 300, "output_tokens": 30, "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 0,
    }  # fmt: skip
    price = json.loads(PRICES.read_text(), parse_float=Decimal)["models"][PRICED]["price"]
    owed = 300 * price["input"] + 30 * price["output"] + 60 * price["cacheRead"]
    assert owed > 0
    assert done["total_cost_usd"] == owed / 1_000_000
    assert done["modelUsage"] == {PRICED: usage}


async def test_cost_is_not_known_without_a_price(script: Script) -> None:
    done = await priced_run(script, "[[text:hello]]", UNPRICED)
    assert (done["result"], done["total_cost_usd"]) == ("hello", None)
    assert done["usage"]["input_tokens"] == 100


async def test_price_of_the_settings_counts(script: Script) -> None:
    script.settings(models={UNPRICED: {"price": {"input": 3, "output": 7, "cacheRead": 0.5}}})
    done = await priced_run(script, "[[text:hello]]", UNPRICED)
    assert done["total_cost_usd"] == Decimal(100 * 3 + 10 * 7 + 10) / 1_000_000


def logged(script: Script, name: str) -> list[dict[str, Any]]:
    """Return the events of a type in the one log there is."""
    [log] = script.logs
    events = (record["event"] for record in records(log) if "event" in record)
    return [event for event in events if event["type"] == name]


async def priced_run(script: Script, prompt: str, model: str) -> Line:
    """Run a prompt against a server of the API; return the result, its numbers exact."""
    async with serving() as api:
        arguments = ("-p", prompt, "--model", model, *STREAM)
        env = {"ANTHROPIC_BASE_URL": api.url}
        done = await asyncio.to_thread(script.run, *arguments, env=env)
    assert (done.code, done.stderr) == (0, "")
    lines = [json.loads(line, parse_float=Decimal) for line in done.stdout.splitlines()]
    [result] = [line for line in lines if is_result(line)]
    return result
