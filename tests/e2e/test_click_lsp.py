"""A whole turn in the source of click, over LSP, with a model behind a server of the Messages API.

pytest-lsp is the editor, with what real ones can do; npm's aimock is the model's server.
"""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_lsp
from pytest_lsp import ClientServerConfig

from agentls.protocol.events.envelope import Envelope
from agentls.protocol.session_state import SessionSnapshot
from agentls.sessions.chain import replay
from agentls.state.reduce import reduce
from agentls.state.selectors import snapshot
from tests.e2e.click_turn import (
    ANSWERS,
    CALLS,
    COMMAND,
    CORE,
    INPUT_TOKENS,
    LAST_WORDS,
    MORE_ANSWERS,
    MORE_PROMPT,
    NEW,
    OLD,
    OUTPUT_TOKENS,
    PROMPT,
    TODOS,
    TOOLS_CALLED,
    WHY_NOT,
    ClickTree,
    check_results,
)
from tests.e2e.recording_client import RecordingClient
from tests.support.mocks import HOW_TO_INSTALL, INSTALLED, Aimock
from tests.support.servers import AGENTLS, QUIET

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not INSTALLED, reason=HOW_TO_INSTALL),
]

EDITORS = ("neovim@v0.11.0", "visual_studio_code@v1.65.2", "emacs@v29.1")
CONFIG = ClientServerConfig(
    server_command=[str(AGENTLS), "lsp", "--stdio"], client_factory=RecordingClient
)
MODEL = "claude-sonnet-5-5"
INPUT_NANO_USD, OUTPUT_NANO_USD = 2_000, 10_000
"""What a token of the model costs."""
EPHEMERAL = ("answerStarted", "partStarted", "partDelta", "toolCallProgressed")

ROUND = ["answerFinished", "usageRecorded"]
ASKED = ["approvalRequested", "approvalAnswered"]
RUN = ["toolCallStarted", "toolCallFinished"]
KINDS = [
    *["sessionCreated", "promptQueued", "promptDequeued", "userMessageReceived", "turnStarted"],
    *ROUND, "toolCallStarted", "toolCallStarted", "toolCallFinished", "toolCallFinished",
    *ROUND, *RUN,
    *ROUND, "toolCallStarted", "todosChanged", "toolCallFinished",
    *ROUND, *ASKED, *RUN,
    *ROUND, *ASKED, "toolCallFinished",
    *ROUND, "turnFinished",
]  # fmt: skip
"""What is kept of the turn, in order; the two Reads begin together and may end in either order."""


@pytest.fixture(autouse=True)
def environment(
    monkeypatch: pytest.MonkeyPatch, aimock_server: Aimock, tmp_path: Path
) -> Iterator[None]:
    """What the server is started with; pytest-lsp hands this process's environment on."""
    private = {
        "ANTHROPIC_BASE_URL": aimock_server.base_url,
        "ANTHROPIC_API_KEY": "sk-test-0123456789",
        "AGENTLS_CONFIG_DIR": str(tmp_path / "config"),
        "AGENTLS_DATA_DIR": str(tmp_path / "data"),
    }
    for name, value in (QUIET | private).items():
        monkeypatch.setenv(name, value)
    aimock_server.forget()
    yield
    left = [child for child in psutil.Process().children() if _is_ours(child)]
    for child in left:
        child.kill()
    assert left == []


@pytest_lsp.fixture(config=CONFIG, params=EDITORS)  # pyright: ignore[reportUnknownMemberType]
async def editor(
    lsp_client: RecordingClient, request: pytest.FixtureRequest, tree: ClickTree
) -> AsyncIterator[None]:
    capabilities = pytest_lsp.client_capabilities(request.param)
    await lsp_client.greet(tree.folder.as_uri(), capabilities)
    yield
    if lsp_client.exit_code is None:
        await lsp_client.shutdown_session()


async def test_a_turn_in_a_real_project(
    editor: RecordingClient, tree: ClickTree, aimock_server: Aimock
) -> None:
    began = await editor.ask("session/new", sessionId="s1")
    await play_the_turn(editor)
    state = (await editor.ask("state/get", sessionId="s1"))["snapshot"]
    await editor.until(
        lambda: editor.params_of("state/didChange")[-1]["seq"] == state["seq"], "the last slices"
    )

    assert tree.changed() == {CORE: tree.edited_core()}
    check_approvals(editor)
    check_events(editor, tree)
    check_streamed_text(editor)
    check_slices(editor, began["snapshot"], state)
    check_requests(aimock_server, tree)
    assert tree.folder.joinpath(".agentls/sessions/s1.jsonl").stat().st_mode & 0o077 == 0

    await editor.shutdown_session()
    assert editor.exit_code == 0
    loaded = [Envelope.model_validate(line) for line in log_of(tree)]
    told = SessionSnapshot.model_validate(state)
    # What is allowed follows from model and settings, and is never written.
    kept = replay(loaded).model_copy(update={"gates": told.state.gates})
    assert snapshot(kept, loaded[-1].seq) == told

    await check_a_second_server(tree, aimock_server, state)


async def play_the_turn(editor: RecordingClient) -> None:
    """Prompt, allow the edit, deny the command, and wait for the end."""
    answer = await editor.ask("session/prompt", sessionId="s1", text=PROMPT, turnId="t1")
    assert answer == {"turnId": "t1", "queued": False}
    for number, (option, reason) in enumerate([("allow", None), ("deny", WHY_NOT)], 1):
        asked = (await editor.event("approvalRequested", number))["approval"]
        answer = {"sessionId": "s1", "callId": asked["callId"], "optionId": option}
        decision = (await editor.ask("approval/answer", **answer, reason=reason))["decision"]
        assert (decision["decidedBy"], decision["clientId"]) == ("user", "pytest-1")
        late = await editor.refused("approval/answer", **answer)
        assert late.code == -32005
    finished = await editor.event("turnFinished")
    assert (finished["status"], finished["error"]) == ("completed", None)
    assert finished["messageCount"] == 1 + len(ANSWERS) + len(CALLS)


def check_approvals(editor: RecordingClient) -> None:
    edit, command = (event["approval"] for event in editor.events("approvalRequested"))
    assert (edit["toolName"], edit["title"]) == ("Edit", f"Edit {CORE}")
    shown = edit["detail"].splitlines()
    assert f"-            {OLD}" in shown
    assert f"+            {NEW}" in shown
    assert sum(line.startswith(("+", "-")) for line in shown) == 4  # two of them name the file
    assert (command["toolName"], command["detail"]) == ("Bash", COMMAND)
    assert [option["kind"] for option in command["options"]][-1] == "deny"


def check_events(editor: RecordingClient, tree: ClickTree) -> None:
    """The log and what was told are the same events, numbered without a gap, in order."""
    log = log_of(tree)
    assert [line["seq"] for line in log] == list(range(1, len(KINDS) + 1))
    assert [line["event"]["type"] for line in log] == KINDS
    assert {line["sessionId"] for line in log} == {"s1"}
    assert {line["turnId"] for line in log[1:]} == {"t1"}
    told = editor.params_of("session/event")
    kept = [params for params in told if params["event"]["type"] not in EPHEMERAL]
    assert kept == log[1:]
    passing, last = [params for params in told if params not in kept], 0
    assert [params["event"]["type"] for params in passing].count("answerStarted") == len(ANSWERS)
    for params in told:
        assert params["seq"] in (last, last + 1) or not last
        last = params["seq"]
    by_client = [line["event"]["type"] for line in log if line["origin"]]
    assert by_client == ["promptQueued", "approvalAnswered", "approvalAnswered"]
    finished = {event["callId"]: event for event in editor.events("toolCallFinished")}
    outcomes = [finished[call["id"]]["outcome"] for call in CALLS]
    assert outcomes == ["ok", "ok", "ok", "ok", "ok", "denied"]
    (change,) = finished["toolu_edit"]["changes"]
    assert tree.folder / change["path"] == tree.folder / CORE
    answers = editor.events("answerFinished")
    asked_for = [
        (part["id"], part["name"], part["input"])
        for answer in answers
        for part in answer["parts"]
        if part["type"] == "toolCall"
    ]
    assert asked_for == [(call["id"], call["name"], call["input"]) for call in CALLS]
    assert answers[-1]["parts"][0]["text"] == LAST_WORDS


def check_streamed_text(editor: RecordingClient) -> None:
    """The deltas of every part add up to it; the answer is told after them, and in pieces."""
    finished = {part["id"]: part for e in editor.events("answerFinished") for part in e["parts"]}
    streamed: dict[str, str] = {}
    for delta in editor.params_of("session/delta"):
        known = streamed.get(delta["partId"], "")
        assert delta["offset"] == len(known), delta
        streamed[delta["partId"]] = known + delta["text"]
    texts = {key: part["text"] for key, part in finished.items() if part["type"] == "text"}
    assert {key: streamed[key] for key in texts} == texts
    inputs = {key: part["input"] for key, part in finished.items() if part["type"] == "toolCall"}
    assert {key: json.loads(streamed[key]) for key in inputs} == inputs
    assert streamed.keys() == finished.keys()
    started = [event["part"]["id"] for event in editor.events("partStarted")]
    assert started == list(finished)
    last = list(finished)[-1]
    assert sum(d["partId"] == last for d in editor.params_of("session/delta")) > 5


def check_slices(editor: RecordingClient, began: dict[str, Any], state: dict[str, Any]) -> None:
    """The slices that were told, laid over the first ones, are those of the state."""
    changes = editor.params_of("state/didChange")
    assert [change["seq"] for change in changes] == sorted(change["seq"] for change in changes)
    merged = began["slices"]
    for change in changes:
        slices = {key: value for key, value in change.items() if key not in ("sessionId", "seq")}
        assert slices
        assert all(merged[key] != value for key, value in slices.items())
        merged = merged | slices
    assert merged == state["slices"]
    assert [change["todos"] for change in changes if "todos" in change] == [TODOS]
    approvals = [change["approvals"] for change in changes if "approvals" in change]
    assert [[a["callId"] for a in some] for some in approvals] == (
        [["toolu_edit"], [], ["toolu_bash"], []]
    )
    statuses = [change["activity"]["status"] for change in changes if "activity" in change]
    changes_of_status = [
        s for s, before in zip(statuses, ["", *statuses], strict=False) if s != before
    ]
    assert changes_of_status == ["running", "waiting", "running", "waiting", "running", "idle"]
    labels = [change["activity"]["label"] for change in changes if "activity" in change]
    assert f"Editing {CORE}" in labels
    assert merged["todos"] == TODOS
    total = {"inputTokens": INPUT_TOKENS, "outputTokens": OUTPUT_TOKENS}
    total |= {"cacheReadTokens": 0, "cacheWriteTokens": 0, "unpricedResponses": 0}
    total["costNanoUsd"] = INPUT_TOKENS * INPUT_NANO_USD + OUTPUT_TOKENS * OUTPUT_NANO_USD
    usage = merged["usage"]
    assert (usage["total"], usage["byModel"], usage["responses"]) == (total, {MODEL: total}, 6)
    assert usage["last"]["inputTokens"] == ANSWERS[-1]["usage"][0]


def check_requests(server: Aimock, tree: ClickTree) -> None:
    """What was sent is what the Messages API takes, and holds what the tools gave."""
    requests = server.requests()
    assert len(requests) == len(ANSWERS)
    for number, request in enumerate(requests):
        assert (request["model"], request["stream"]) == (MODEL, True)
        assert {tool["function"]["name"] for tool in request["tools"]} >= set(TOOLS_CALLED)
        system, prompt, *rest = request["messages"]
        assert str(tree.folder) in system["content"]
        assert prompt == {"role": "user", "content": PROMPT}
        check_every_call_has_its_result(rest)
        assert sum(message["role"] == "assistant" for message in rest) == number
    told = [m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"]
    results = list(zip(TOOLS_CALLED, told, strict=True))
    denied = f"The user denied this call: the user said no: {WHY_NOT}."
    check_results(results, tree, why_denied=denied)


def check_every_call_has_its_result(messages: list[dict[str, Any]]) -> None:
    """An answer is followed by one result for each of its calls, in their order, and no more."""
    while messages:
        answer, *messages = messages
        assert answer["role"] == "assistant"
        called = [call["id"] for call in answer["tool_calls"]]
        results, messages = messages[: len(called)], messages[len(called) :]
        assert [(r["role"], r["tool_call_id"]) for r in results] == [("tool", c) for c in called]


async def check_a_second_server(tree: ClickTree, server: Aimock, state: dict[str, Any]) -> None:
    """Another server has the session as it was, and goes on with it."""
    client = await CONFIG.start()
    assert isinstance(client, RecordingClient)
    await client.greet(tree.folder.as_uri(), pytest_lsp.client_capabilities("neovim"))
    (row,) = (await client.ask("session/list"))["sessions"]
    assert (row["id"], row["messageCount"], row["lastPrompt"]) == ("s1", 13, PROMPT)
    loaded = (await client.ask("session/load", sessionId="s1"))["snapshot"]
    # That it was opened again is an event too.
    assert loaded == {**state, "seq": state["seq"] + 1}
    server.forget()
    await client.ask("session/prompt", sessionId="s1", text=MORE_PROMPT)
    assert (await client.event("turnFinished"))["status"] == "completed"
    (said,) = client.events("answerFinished")
    assert [part["text"] for part in said["parts"]] == [MORE_ANSWERS[0]["text"]]
    (request,) = server.requests()
    roles = [message["role"] for message in request["messages"]]
    assert roles.count("tool") == len(CALLS)
    assert roles[-2:] == ["assistant", "user"]
    now = SessionSnapshot.model_validate(
        (await client.ask("state/get", sessionId="s1"))["snapshot"]
    )
    resumed = SessionSnapshot.model_validate(loaded).state
    for params in client.params_of("session/event"):
        resumed = reduce(resumed, Envelope.model_validate(params))
    assert resumed == now.state
    await client.shutdown_session()
    assert client.exit_code == 0
    await client.stop()


def log_of(tree: ClickTree) -> list[dict[str, Any]]:
    """Return the events of the session's log; every line must be whole."""
    data = (tree.folder / ".agentls/sessions/s1.jsonl").read_bytes()
    assert data.endswith(b"\n")
    header, *lines = [json.loads(line) for line in data.split(b"\n")[:-1]]
    assert (header["log"], header["version"], header["sessionId"]) == ("agentls", 2, "s1")
    return [line for line in lines if "seq" in line]


def _is_ours(child: psutil.Process) -> bool:
    """Whether a child of this process is an agentls server, not the mock."""
    try:
        return "agentls" in " ".join(child.cmdline())
    except psutil.Error:
        return False
