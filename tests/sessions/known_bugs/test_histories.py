"""Histories that the API refused from then on, or that grew beyond what can be resumed."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.library import Library
from agentls.agent.session import Session
from agentls.llm.model import ModelRequest, StreamEvent
from agentls.llm.scripted import ScriptedModel
from agentls.llm.stream_events import WrittenAnswer, answer_events
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.state.reduce_compaction import boundary_state
from agentls.tools.list_folder import ListFolder, ListFolderInput
from agentls.tools.tool import ToolContext, ToolResult
from tests.sessions.known_bugs.at_work import (
    HOLDS,
    Sent,
    ask,
    at_rest,
    killed_in_a_tool,
    log_of,
    refused,
    texts,
)
from tests.support.agents import open_agent, results, until
from tests.support.api_rules import violations
from tests.support.scenarios import calls, calls_together, says

BIG = 12 * 1024 * 1024
READS = calls_together(calls("Read", file_path="a.txt"), calls("Read", file_path="b.txt"))


@pytest.mark.parametrize("written", ['{"file_path": "a.', "[1, 2]", '"a.txt"', "null", "{]"])
async def test_malformed_tool_arguments_do_not_poison_the_turns_after_them(
    folder: Path, sent: Sent, written: str
) -> None:
    """One call whose arguments were no object made every later request a refused one."""
    bad = {"calls": [{"name": "Read", "rawInput": written}]}
    answers = [says(f"answer {number}") for number in range(6)]
    workspace = open_agent(folder, bad, *answers)
    session = await workspace.new_session("s1")
    await ask(session, *(f"prompt {number}" for number in range(5)))
    await workspace.aclose()
    again = open_agent(folder, *answers)
    loaded = await again.load_session("s1")
    await ask(loaded, *(f"prompt {number}" for number in range(5, 10)))
    assert len(sent) == 11
    assert refused(sent) == []
    assert [entry.call.outcome for entry in loaded.state.history if entry.type == "callResult"] == [
        "error"
    ]
    await again.aclose()


async def test_a_kill_in_the_middle_of_a_tool_leaves_a_session_that_can_be_sent(
    folder: Path, sent: Sent
) -> None:
    """The call had no result, and the API refused each prompt after it."""
    both = calls_together(HOLDS, calls("Read", file_path="b.txt"))
    await killed_in_a_tool(folder, both)
    again = open_agent(folder, says("I see."))
    session = await again.load_session("s1")
    await at_rest(session)
    await ask(session, "second")
    assert refused(sent) == []
    assert len(results(session)) == 2
    assert "Check whether it took effect" in results(session)[0]
    await again.aclose()


async def test_esc_in_the_middle_of_a_tool_leaves_a_session_that_can_be_sent(
    folder: Path, sent: Sent
) -> None:
    """A call that was stopped had no result, and the API refused each prompt after it."""
    both = calls_together(HOLDS, calls("Read", file_path="b.txt"))
    workspace = open_agent(folder, both, says("Stopped."), mode="bypassPermissions")
    session = await workspace.new_session("s1")
    turn = session.prompt("first").turn_id
    await until((folder / "shell.pid").exists)
    assert session.cancel(turn)
    await at_rest(session)
    await ask(session, "second")
    await workspace.aclose()
    again = open_agent(folder, says("On."))
    await ask(await again.load_session("s1"), "third")
    assert refused(sent) == []
    assert len(sent) == 3
    await again.aclose()


def thought(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def read(call_id: str, path: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {"file_path": path}}


async def test_thinking_between_tools_is_sent_back_as_it_was_signed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thoughts were saved empty, with the signature of what they had been, and refused."""
    thoughts = [thought("First a.", "sig-1"), thought("", "sig-2"), thought("So.", "sig-3")]
    answers = [
        (thoughts[0], read("c1", "a.txt"), thoughts[1], read("c2", "b.txt")),
        (thoughts[2], {"type": "text", "text": "Read."}),
        ({"type": "text", "text": "Again."},),
    ]
    sent: Sent = []

    async def stream(_: ScriptedModel, request: ModelRequest) -> AsyncGenerator[StreamEvent]:
        blocks = answers[len(sent)]
        sent.append(list(request.messages))
        reason = "tool_use" if len(blocks) == 4 else "end_turn"
        written = WrittenAnswer(f"r{len(sent)}", request.model, blocks, reason)
        for event in answer_events(written, chunk=3):
            yield event

    monkeypatch.setattr(ScriptedModel, "stream", stream)
    workspace = open_agent(folder, says("never played"))
    await ask(await workspace.new_session("s1"), "first")
    await workspace.aclose()
    again = open_agent(folder, says("never played"))
    loaded = await again.load_session("s1")
    await ask(loaded, "second")
    assert [said for messages in sent for said in violations(messages, thoughts=thoughts)] == []
    in_the_turn = [block for block in sent[1][1]["content"] if block["type"] == "thinking"]
    assert in_the_turn == thoughts[:2]
    parts = [part for e in loaded.state.history if e.type == "answer" for part in e.parts]
    kept = [thought(part.text, part.signature) for part in parts if part.type == "thinking"]
    assert kept == thoughts
    await again.aclose()


async def test_thinking_that_was_saved_without_its_signature_is_left_out(
    folder: Path, sent: Sent
) -> None:
    """A thought that a cut stream had not signed was sent all the same."""
    thinks = {"thinking": "Hm.", "calls": READS["calls"]}
    workspace = open_agent(folder, thinks, says("Read.", thinking="So."), says("On."))
    session = await workspace.new_session("s1")
    await ask(session, "first", "second")
    assert refused(sent) == []
    await workspace.aclose()


def compact(session: Session, number: int) -> None:
    """Put a summary in place of all that was said."""
    state = session.state
    event = ConversationCompacted(
        id=f"sum{number}",
        parent=None,
        logical_parent=state.head,
        kept_from=None,
        kept_from_seq=None,
        summary=f"summary {number}",
        message_count=len(state.history),
        state=boundary_state(state),
    )
    session._chat.emit(event)


async def test_many_compactions_do_not_fill_the_log_with_copies(folder: Path) -> None:
    """Nine tenths of a log were copies that each compaction had made of the one before."""
    turns = 20
    answers = [says(f"marker-{number}. " + "word " * 400) for number in range(turns)]
    workspace = open_agent(folder, *answers)
    session = await workspace.new_session("s1")
    for number in range(turns):
        await ask(session, f"prompt-{number}.")
        compact(session, number)
    await workspace.aclose()
    lines = log_of(folder).read_bytes().split(b"\n")
    copies = [len(line) for line in lines if b'"conversationCompacted"' in line]
    assert len(copies) == turns
    assert copies[-1] < copies[0] + 200
    assert all(b"\n".join(lines).count(b"marker-%d." % number) == 1 for number in range(turns))
    size = log_of(folder).stat().st_size
    for _ in range(3):
        again = open_agent(folder)
        loaded = await again.load_session("s1")
        assert [entry.type for entry in loaded.state.history] == ["summary"]
        await again.aclose()
    assert log_of(folder).stat().st_size < size + 3 * 2000


async def test_usage_is_counted_once_for_an_answer_of_many_blocks(folder: Path) -> None:
    """Each block of an answer had its usage, and the session seemed to cost three times as much."""
    tokens = {"inputTokens": 100, "outputTokens": 10}
    thinks = {"thinking": "Hm.", "text": "I read.", "calls": READS["calls"], **tokens}
    workspace = open_agent(folder, thinks, says("Read.", **tokens))
    session = await workspace.new_session("s1")
    await ask(session, "first")
    await workspace.aclose()
    again = open_agent(folder, says("On.", **tokens))
    loaded = await again.load_session("s1")
    usage = loaded.state.usage
    assert (usage.responses, usage.total.input_tokens, usage.total.output_tokens) == (2, 200, 20)
    fork = await Library(again).fork("s1", None, "s2")
    await ask(fork, "second")
    await fork.flush()
    assert (fork.state.usage.responses, fork.state.usage.total.input_tokens) == (1, 100)
    counted = {kept.id: kept.usage.input_tokens for kept in await again.list_sessions()}
    assert counted == {"s1": 200, "s2": 100}
    await again.aclose()


async def test_a_tool_result_of_12_mb_is_loaded_and_resumed(
    folder: Path, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One huge line in a log kept its session from ever being opened again."""
    output = "0123456789abcde\n" * (BIG // 16)

    async def much(_: ListFolder, arguments: ListFolderInput, context: ToolContext) -> ToolResult:
        return ToolResult.ok(output, "Listed much")

    monkeypatch.setattr(ListFolder, "execute", much)
    workspace = open_agent(folder, calls("LS", path="."), says("Much."))
    session = await workspace.new_session("s1")
    await ask(session, "first")
    await workspace.aclose()
    lines = log_of(folder).read_bytes().split(b"\n")
    assert max(map(len, lines)) < 64 * 1024
    again = open_agent(folder, says("Still."))
    loaded = await again.load_session("s1")
    assert results(loaded) == [output]
    await ask(loaded, "second")
    assert texts(loaded) == ["first", "Much.", "second", "Still."]
    assert refused(sent) == []
    assert len(json.dumps(sent[-1])) > BIG
    await again.aclose()
