import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import LogUnreadable
from agentls.protocol.content import TextBlock
from agentls.protocol.events.conversation import PromptQueued, SessionCreated, SessionMeta
from agentls.protocol.events.envelope import Envelope
from agentls.sessions.chain import replay
from agentls.sessions.records import envelope_line, header_line, parse_log


def queued(seq: int, text: str) -> Envelope:
    return Envelope(
        seq=seq,
        session_id="s",
        turn_id=None,
        origin=None,
        at="2026-11-30T12:00:00.000Z",
        event=PromptQueued(item_id=f"t{seq}", content=(TextBlock(text=text),)),
    )


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=20))
def test_any_text_goes_through_a_log_unchanged(texts):
    envelopes = [queued(seq, text) for seq, text in enumerate(texts, start=1)]
    data = header_line("s") + b"".join(envelope_line(envelope) for envelope in envelopes)
    loaded = parse_log(data, "test")
    assert list(loaded.envelopes) == envelopes
    assert loaded.problems == ()


@given(st.integers(0, 400), st.binary(max_size=12))
def test_a_log_cut_or_soiled_anywhere_loses_no_other_line(cut, rubbish):
    lines = [envelope_line(queued(seq, f"text {seq}")) for seq in range(1, 6)]
    whole = b"".join(lines[:2])
    torn = lines[2][: cut % len(lines[2])] + rubbish.replace(b"\n", b"")
    data = header_line("s") + whole + torn + b"\n" + lines[3] + lines[4]
    loaded = parse_log(data, "test")
    seqs = [envelope.seq for envelope in loaded.envelopes]
    assert {1, 2, 4, 5} <= set(seqs)


def test_a_newer_version_is_refused_and_named():
    with pytest.raises(LogUnreadable, match=r"here\.jsonl was written in log version 2"):
        parse_log(b'{"log":"agentls","version":2,"sessionId":"s"}\n', "here.jsonl")


def test_a_log_without_a_beginning_is_refused():
    with pytest.raises(LogUnreadable, match="does not begin"):
        replay([queued(1, "x")])


def test_carriage_returns_and_empty_lines_do_no_harm():
    created = queued(1, "x").model_copy(
        update={
            "event": SessionCreated(
                session=SessionMeta(id="s", created_at="x", cwd=".", agentls_version="0"), model="m"
            )
        }
    )
    data = header_line("s") + envelope_line(created).replace(b"\n", b"\r\n") + b"\n\r\n"
    assert parse_log(data, "test").problems == ()
    assert replay(parse_log(data, "test").envelopes).model.default == "m"
