import os
from hashlib import sha256

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.protocol.content import DocumentBlock, FileBlock, ImageBlock, TextBlock, Usage
from agentls.protocol.events.conversation import (
    ForkOrigin,
    PromptQueued,
    SessionCreated,
    SessionMeta,
    TagChanged,
    TurnStarted,
    UsageRecorded,
    UserMessageReceived,
)
from agentls.sessions.catalog import FURTHEST_BYTES, WINDOW_BYTES, summarise, summary_of_lines
from agentls.sessions.records import envelope_line, header_line, summary_line
from tests.support.log_lines import at, created, enveloped, finished, queued, said, summary, titled


@pytest.fixture
def keep(tmp_path):
    """Write a log of these envelopes and lines."""

    def write(*parts, session_id="s", header=None):
        lines = [part if isinstance(part, bytes) else envelope_line(part) for part in parts]
        path = tmp_path / f"{session_id}.jsonl"
        path.write_bytes((header or header_line(session_id)) + b"".join(lines))
        return path

    return write


def test_a_log_without_a_summary_shows_what_its_events_say(keep):
    usage = UsageRecorded(response_id="r", model="m", usage=Usage(input_tokens=5, output_tokens=2))
    path = keep(
        created(),
        queued(2, "fix\n the   bug"),
        enveloped(3, TurnStarted(parent="x", model="m2")),
        enveloped(4, usage),
        enveloped(5, usage),
        finished(6, 4),
        titled(7, "The bug"),
        enveloped(8, TagChanged(tag="work")),
    )
    shown = summarise(path)
    assert shown is not None
    assert shown.model_dump(by_alias=False) == {
        "id": "s",
        "title": "The bug",
        "tag": "work",
        "last_prompt": "fix the bug",
        "created_at": at(1),
        "updated_at": at(8),
        "message_count": 4,
        "model": "m2",
        "git_branch": "trunk",
        "usage": Usage(input_tokens=10, output_tokens=4).model_dump(by_alias=False),
        "forked_from": None,
        "open": False,
    }


def test_notices_and_compactions_are_no_last_prompt(keep):
    words = (TextBlock(text="The task b3k9x0q2m has ended."),)
    notice = UserMessageReceived(id="m3", parent="m2", content=words, author="agentls")
    heed = (TextBlock(text="Keep the names."),)
    path = keep(
        created(),
        queued(2, "fix it"),
        enveloped(3, notice),
        enveloped(4, PromptQueued(item_id="t4", content=heed, kind="compact")),
    )
    shown = summarise(path)
    assert shown is not None
    assert shown.last_prompt == "fix it"


def test_what_went_with_a_prompt_is_named(keep):
    content = (
        TextBlock(text="Compare"),
        DocumentBlock(media_type="application/pdf", data="JVBERi0=", name="plan.pdf"),
        FileBlock(what="range", path="a.py", text="secret", first_line=1, last_line=2),
    )
    path = keep(created(), enveloped(2, UserMessageReceived(id="m", parent=None, content=content)))
    shown = summarise(path)
    assert shown is not None
    assert shown.last_prompt == "Compare [document: plan.pdf] [range: a.py]"


def test_what_was_paid_adds_up(keep):
    used = UsageRecorded(response_id="r", model="m", usage=Usage(cost_nano_usd=7))
    unpriced = UsageRecorded(response_id="q", model="n", usage=Usage(unpriced_responses=1))
    path = keep(
        created(),
        queued(2, "go"),
        summary_line(summary(usage=Usage(cost_nano_usd=5)), at(3)),
        enveloped(4, used),
        enveloped(5, unpriced),
    )
    shown = summarise(path)
    assert shown is not None
    assert (shown.usage.cost_nano_usd, shown.usage.unpriced_responses) == (12, 1)


def test_the_last_summary_counts_and_what_comes_after_it(keep):
    path = keep(
        created(),
        summary_line(summary(title="First"), at(2)),
        titled(3, "Between"),
        summary_line(summary(title="Second", tag="t", message_count=7), at(4)),
        queued(5, "and now?"),
        enveloped(6, UsageRecorded(response_id="r", model="m", usage=Usage(input_tokens=5))),
        enveloped(7, TagChanged(tag=None)),
    )
    shown = summarise(path)
    assert shown is not None
    assert (shown.title, shown.tag, shown.message_count) == ("Second", None, 7)
    assert shown.last_prompt == "and now?"
    assert shown.usage == Usage(input_tokens=15, output_tokens=1)
    assert shown.updated_at == at(7)
    assert shown.open is False


def test_only_the_ends_of_a_large_log_are_read(keep, monkeypatch):
    path = keep(
        created(),
        *(said(number, "x" * 1000) for number in range(2, 1000)),
        summary_line(summary(title="Large"), at(1000)),
        said(1001, "last"),
    )
    reads = []
    real = os.pread
    monkeypatch.setattr(os, "pread", lambda *a: reads.append(a[1]) or real(*a))
    shown = summarise(path)
    assert shown is not None
    assert (shown.title, shown.last_prompt) == ("Large", "last")
    assert sum(reads) <= WINDOW_BYTES + 4096


def test_a_large_log_without_a_summary_shows_head_and_tail(keep):
    path = keep(created(), *(said(n, "x" * 1000) for n in range(2, 300)), queued(300, "the last"))
    shown = summarise(path)
    assert shown is not None
    assert (shown.created_at, shown.last_prompt, shown.model) == (at(1), "the last", "m")


@pytest.mark.parametrize("size", [WINDOW_BYTES, WINDOW_BYTES + 1, 5 * WINDOW_BYTES])
def test_a_last_line_that_fills_the_window_is_read_whole(keep, size):
    path = keep(created(), summary_line(summary(title="T"), at(2)), said(3, "y" * size))
    shown = summarise(path)
    assert shown is not None
    assert shown.updated_at == at(3)
    assert shown.title == "T"


def test_a_last_line_longer_than_all_that_is_read_leaves_what_the_head_says(keep):
    path = keep(created(), said(2, "z" * (FURTHEST_BYTES + 1)))
    shown = summarise(path)
    assert shown is not None
    assert (shown.created_at, shown.updated_at) == (at(1), at(1))


def test_a_summary_that_stands_in_a_text_is_no_summary(keep):
    trap = summary_line(summary(title="Trap"), at(9)).decode()
    path = keep(created(), summary_line(summary(title="True"), at(2)), said(3, f"a\n{trap}"))
    shown = summarise(path)
    assert shown is not None
    assert shown.title == "True"


def test_a_damaged_summary_is_passed_over_for_the_one_before(keep):
    path = keep(
        created(),
        summary_line(summary(title="Whole"), at(2)),
        titled(3, "Later"),
        b'{"summary":{"id":"s"},"at":"x"}\n',
        summary_line(summary(title="Cut"), at(4))[:-40],
    )
    shown = summarise(path)
    assert shown is not None
    assert (shown.title, shown.updated_at) == ("Later", at(3))


def test_a_session_has_the_name_of_its_file(keep, tmp_path):
    keep(created(), queued(2, "x")).rename(tmp_path / "copy.jsonl")
    shown = summarise(tmp_path / "copy.jsonl")
    assert shown is not None
    assert shown.id == "copy"


def test_a_copied_log_was_not_updated_by_the_copying(keep):
    path = keep(created(), queued(2, "x"))
    os.utime(path, (4e9, 4e9))
    shown = summarise(path)
    assert shown is not None
    assert shown.updated_at == at(2)


def test_a_fork_says_what_it_is_one_of(keep):
    meta = SessionMeta(
        id="s",
        created_at=at(1),
        cwd=".",
        agentls_version="0",
        forked_from=ForkOrigin(session_id="origin", message_id="m3"),
    )
    shown = summarise(keep(enveloped(1, SessionCreated(session=meta, model=None))))
    assert shown is not None
    assert (shown.forked_from, shown.model) == ("origin", None)


def test_a_prompt_of_pictures_and_of_long_text_is_shown_by_marks(keep):
    picture = ImageBlock(media_type="image/png", data="eA==", name="plan.png")
    content = (picture, TextBlock(text="w" * 70_000))
    event = enveloped(2, UserMessageReceived(id="m", parent=None, content=content))
    line = envelope_line(event, lambda data: sha256(data).hexdigest())
    assert b'"blobs"' in line
    shown = summarise(keep(created(), line))
    assert shown is not None
    assert shown.last_prompt == "[image: plan.png] [a long text]"


def test_a_log_of_a_newer_version_shows_its_summary_or_nothing(keep):
    header = b'{"log":"agentls","version":99,"sessionId":"s"}\n'
    assert summarise(keep(created(), queued(2, "x"), header=header)) is None
    line = orjson.dumps(
        {"summary": {**summary(title="New").model_dump(by_alias=True), "mood": "good"}, "at": at(3)}
    )
    shown = summarise(keep(b'{"unheard":"of"}\n', line + b"\n", header=header))
    assert shown is not None
    assert shown.title == "New"


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\0" * 9000, b"a picture\xff\xfe", b"[1, 2]\n{}\n", b'{"event": 3, "at": "x"}\n'],
)
def test_what_is_no_log_is_passed_over(tmp_path, content):
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    assert summarise(path) is None


def test_what_is_no_file_is_passed_over(tmp_path, keep):
    keep(created(), queued(2, "x"))
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "s.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("folder", "link", "pipe", "missing"):
        assert summarise(tmp_path / f"{name}.jsonl") is None


def test_lines_from_the_last_summary_on_are_enough():
    lines = [summary_line(summary(title="T"), at(2)), envelope_line(titled(3, "U"))]
    shown = summary_of_lines(line.rstrip(b"\n") for line in lines)
    assert shown is not None
    assert shown.title == "U"
    assert summary_of_lines([]) is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "event", "at", "summary", "log", "version", "usage", "content", "session"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
TYPES = st.sampled_from(
    [
        "sessionCreated",
        "promptQueued",
        "turnFinished",
        "titleChanged",
        "usageRecorded",
        "tagChanged",
    ]
)
EVENTS = st.dictionaries(
    st.sampled_from(["session", "content", "messageCount", "title", "usage", "tag", "model"]), JUNK
)


RECORDS = st.builds(
    lambda kind, event: {"at": "x", "event": {**event, "type": kind}}, TYPES, EVENTS
)


@given(st.lists(st.one_of(JUNK, RECORDS)))
def test_no_line_that_is_json_is_too_much(parts):
    lines = [orjson.dumps(part) for part in parts]
    summary_of_lines(lines)
    good = [envelope_line(created()), summary_line(summary(title="Good"), at(2))]
    assert summary_of_lines([*lines, *good]) is not None


@given(st.data())
def test_a_log_cut_anywhere_is_shown_or_passed_over(data):
    lines = [created(), queued(2, "one"), titled(3, "T"), finished(4, 2)]
    whole = header_line("s") + b"".join(map(envelope_line, lines))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    shown = summary_of_lines(cut.split(b"\n"))
    begun = cut.count(b"\n") >= 2 or cut.split(b"\n")[1:2] == [envelope_line(created()).rstrip()]
    assert (shown is not None) == begun
