import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.sessions.search.index import SearchIndex
from tests.support.index_logs import (
    answer,
    found,
    header,
    hits,
    line,
    message_text,
    no_blob,
    open_index,
    prompt,
    result,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["foo_bar.py is red", "日本語の検索", "getUserName", "a\u2028b red", "nul \0 red", "café"]
)


def log_of(texts: list[str]) -> bytes:
    return header() + b"".join(prompt(seq, text) for seq, text in enumerate(texts, start=1))


def everything(index: SearchIndex) -> list[object]:
    """Return what the index answers to queries that reach all that the tests write."""
    queries = ("red", "日本", "user name", "cafe", "foo_bar.py", "a*")
    return [hits(index, query) for query in queries]


@pytest.fixture
def index(tmp_path: Path) -> SearchIndex:
    calls = ("c1", "Bash", {"command": "pytest -q\nfailing", "deep": [{"path": "src/deep.py"}]})
    (tmp_path / "s1.jsonl").write_bytes(
        header()
        + prompt(1, "Please repair foo_bar.py and the café, 日本語の検索")
        + answer(2, "I look at getUserName in HTTPServer.", calls)
        + result(3, "m2", "c1", "3 passed, none failed")
        + line(4, {"type": "titleChanged", "title": "Repairs of the roof"})
        + line(5, {"type": "tagChanged", "tag": "houses"})
        + line(6, {"type": "tagChanged", "tag": None})
        + line(7, {"type": "conversationCompacted", "id": "m7", "summary": "A digest was made"})
        + line(8, {"type": "fromTheFuture", "id": "m8", "text": "unheard"})
    )
    return open_index(tmp_path)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("foo_bar.py", ["m1"]),
        ("bar", ["m1"]),
        ("CAFE", ["m1"]),
        ("cafe\u0301", ["m1"]),
        ("検索", ["m1"]),
        ("repair missing", []),
        ("repair*", ["title", "m1"]),
        ('"the roof"', ["title"]),
        ('"roof the"', []),
        ("the roof", ["title"]),
        ("getusername", ["m2"]),
        ("username", []),
        ("user", ["m2"]),
        ("server", ["m2"]),
        ("src/deep.py", ["m2"]),
        ("failing", ["m2"]),
        ("nfailing", []),
        ("passed", ["m2"]),
        ("houses", ["tag"]),
        ("digest", ["m7"]),
        ("unheard", []),
        ("pondering", []),
    ],
)
def test_what_people_type_finds_what_was_said_and_done(index, query, expected):
    assert found(index, query) == expected


def test_hit_tells_where_and_when_and_marks_the_words(index):
    (hit,) = hits(index, "passed")
    assert (hit.session_id, hit.seq, hit.message_id) == ("s1", 3, "m2")
    assert (hit.kind, hit.tool, hit.turn_id) == ("toolResult", "Bash", "t1")
    assert hit.at == "2026-11-30T12:00:03.000Z"
    assert [hit.snippet[a:b] for a, b in hit.marks] == ["passed"]
    assert hit.rank < 0


def test_hits_can_be_limited_to_kinds_a_session_and_away_from_tools(index, tmp_path):
    (tmp_path / "s2.jsonl").write_bytes(header("s2") + prompt(1, "repair the boat"))
    index.refresh()
    assert len(hits(index, "repair")) == 2
    assert [hit.session_id for hit in hits(index, "repair", session_id="s2")] == ["s2"]
    assert found(index, "repair*", kinds=("title",)) == ["title"]
    assert found(index, "repair*", kinds=()) == []
    assert found(index, "passed", without_tools=("Bash",)) == []
    assert found(index, "pytest", without_tools=("Bash",)) == []
    assert found(index, "passed", without_tools=("Read",)) == ["m2"]
    assert len(hits(index, "repair*", limit=1)) == 1
    assert hits(index, "repair*", limit=-1) == ()


def test_newest_comes_first_among_equals(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(log_of(["same words"] * 5))
    assert found(open_index(tmp_path), "same words") == ["m5", "m4", "m3", "m2", "m1"]


def test_message_is_read_whole_from_the_log(index):
    text = message_text(index, "m2")
    assert text == (
        "I look at getUserName in HTTPServer.\n\nBash\ncommand: pytest -q\nfailing\n"
        "path: src/deep.py\n\nRan it\n3 passed, none failed"
    )
    assert message_text(index, "m2", session_id="s1") == text
    assert message_text(index, "m2", session_id="other") is None
    assert message_text(index, "nobody \ud800") is None


def test_big_value_is_found_by_its_beginning_and_read_whole(tmp_path):
    big = b"needle " + b"hay " * 100_000 + b"pin"
    reference = {"at": ["event", "content", 0, "text"], "sha256": "abc", "size": len(big)}
    blobs = [{**reference, "mime": "text/plain"}]
    asked: list[tuple[str, str]] = []

    def blob(session_id: str, sha256: str) -> bytes:
        asked.append((session_id, sha256))
        return big

    (tmp_path / "s1.jsonl").write_bytes(header() + prompt(1, None, blobs=blobs))
    index = open_index(tmp_path, blob)
    assert found(index, "needle") == ["m1"]
    assert found(index, "pin") == []
    assert asked == [("s1", "abc")]
    assert message_text(index, "m1") == big.decode()


def test_missing_blob_and_picture_hide_nothing_else(tmp_path):
    at = ["event", "content", 0, "text"]
    gone = [{"at": at, "sha256": "x", "size": 9, "mime": "text/plain"}]
    picture = [{"at": at, "sha256": "x", "size": 9, "mime": "image/png"}]
    wrong = [{"at": ["event", "nowhere", 7], "sha256": "x", "size": 9, "mime": "text/plain"}, 5]
    (tmp_path / "s1.jsonl").write_bytes(
        result(1, "m0", "c1", None, blobs=gone)
        + result(2, "m0", "c2", None, blobs=picture)
        + result(3, "m0", "c3", "here", blobs=wrong)
    )
    assert len(hits(open_index(tmp_path), "ran it")) == 3


def test_only_what_is_new_is_read(tmp_path, monkeypatch):
    log = tmp_path / "s1.jsonl"
    log.write_bytes(log_of(["one red"]))
    index = open_index(tmp_path)
    parsed: list[bytes] = []
    from agentls.sessions.search import update as index_update

    original = index_update.passages_of
    monkeypatch.setattr(
        index_update, "passages_of", lambda line, blob: parsed.append(line) or original(line, blob)
    )
    index.refresh()
    assert parsed == []
    new = prompt(2, "two red")
    with log.open("ab") as file:
        file.write(new[:20])
    index.refresh()
    assert parsed == []
    with log.open("ab") as file:
        file.write(new[20:])
    index.refresh()
    assert parsed == [new]
    assert found(index, "red") == ["m2", "m1"]


def test_log_that_is_gone_shrank_or_was_replaced_leaves_no_hits(tmp_path):
    log = tmp_path / "s1.jsonl"
    log.write_bytes(log_of(["first red", "second red"]))
    index = open_index(tmp_path)
    os.truncate(log, len(log_of(["first red"])))
    index.refresh()
    assert found(index, "red") == ["m1"]

    other = tmp_path / "other"
    other.write_bytes(log_of(["blue"] * 9))
    other.replace(log)
    index.refresh()
    assert (found(index, "red"), len(found(index, "blue"))) == ([], 9)

    log.write_bytes(log_of(["green"] * 30))  # the same inode, and longer
    index.refresh()
    assert (found(index, "blue"), len(found(index, "green"))) == ([], 30)

    log.unlink()
    index.refresh()
    assert found(index, "green") == []
    assert message_text(index, "m1") is None
    assert b"green" not in (tmp_path / "index.sqlite").read_bytes()


def test_message_that_is_there_twice_counts_once(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(
        prompt(1, "red") + prompt(1, "red") + answer(2, "a", ("c", "Bash", {})) * 2
    )
    index = open_index(tmp_path)
    assert found(index, "red") == ["m1"]
    assert found(index, "bash") == ["m2"]


def test_damaged_lines_are_passed_over(tmp_path):
    good = prompt(9, "red ends")
    odd = [
        b"\0\0\0\0",
        b"{",
        b"[]",
        b"null",
        b'{"seq":1,"event":7}',
        b'{"seq":"x","event":{"type":"titleChanged","title":"red"}}',
        b'{"seq":18446744073709551615,"event":{"type":"titleChanged","title":"red"}}',
        b'{"seq":-1,"event":{"type":"titleChanged","title":"red"}}',
        b'{"seq":1,"event":{"type":"userMessageReceived","id":5,"content":"red"}}',
        b'{"seq":1,"event":{"type":"answerFinished","id":"a","parts":{"red":1}}}',
        b'{"seq":1,"event":{"type":["titleChanged"],"title":"red"}}',
        prompt(1, "red").strip() + prompt(2, "red").strip(),
        prompt(3, "red")[:40],
        b"\xff\xfe",
        b"[" * 5_000,
    ]
    (tmp_path / "s1.jsonl").write_bytes(header() + b"\n".join(odd) + b"\r\n" + good)
    assert found(open_index(tmp_path), "red") == ["m9"]


def test_half_of_a_surrogate_pair_does_not_hide_a_line(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(prompt(1, "red X end").replace(b"X", b"\\uD83d"))
    index = open_index(tmp_path)
    assert found(index, "red end") == ["m1"]
    assert hits(index, "red")[0].snippet == "red ? end"


def test_line_separators_in_text_end_no_line(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(prompt(1, "one\u2028two\u2029three\x85four"))
    index = open_index(tmp_path)
    assert found(index, "one two three four") == ["m1"]
    assert message_text(index, "m1") == "one\u2028two\u2029three\x85four"


def test_links_and_other_files_are_not_read(tmp_path):
    (tmp_path / "outside").write_bytes(log_of(["red"]))
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "link.jsonl").symlink_to(tmp_path / "outside")
    (tmp_path / "sessions" / "folder.jsonl").mkdir()
    (tmp_path / "sessions" / "notes.txt").write_bytes(log_of(["red"]))
    assert found(open_index(tmp_path / "sessions"), "red") == []


def test_folder_without_sessions_stays_untouched(tmp_path):
    index = SearchIndex(tmp_path / "missing", blob=no_blob)
    assert hits(index, "red") == ()
    index.refresh()
    index.rebuild()
    assert message_text(index, "m1") is None
    assert index.note is None
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=300)
@given(query=st.text(max_size=40) | st.text("ab\"*'()^:-+{} \0日\ud800\u0301", max_size=20))
def test_any_string_is_a_query(shared_index, query):
    for hit in hits(shared_index, query):
        hit.snippet.encode()
        for begin, end in hit.marks:
            assert 0 <= begin < end <= len(hit.snippet)


@given(TEXTS, TEXTS)
def test_every_message_is_found_by_its_own_words(tmp_path_factory, text, other):
    folder = tmp_path_factory.mktemp("logs")
    (folder / "s1.jsonl").write_bytes(log_of([text, other]))
    words = [word for word in text.split() if word.isascii() and word.isalnum()]
    for word in words:
        assert "m1" in found(open_index(folder), word)


@settings(max_examples=40)
@given(st.lists(TEXTS, max_size=8), st.lists(st.integers(0, 2_000), max_size=4), st.binary())
def test_index_that_followed_a_log_equals_one_made_anew(tmp_path_factory, texts, cuts, rubbish):
    folder = tmp_path_factory.mktemp("logs")
    log = folder / "s1.jsonl"
    data = log_of(texts) + rubbish + log_of(["red end"])
    index = SearchIndex(folder, blob=no_blob)
    for cut in cuts:
        log.write_bytes(data[:cut])
        (folder / "s2.jsonl").write_bytes(data[cut:])
        index.refresh()
    log.write_bytes(data)
    index.refresh()
    followed = everything(index)
    index.rebuild()
    assert everything(index) == followed
    assert index.note is None


async def test_threads_refresh_and_search_at_once(tmp_path):
    (tmp_path / "s1.jsonl").write_bytes(log_of(["red"] * 2_000))
    index = SearchIndex(tmp_path, blob=no_blob)
    works = [index.refresh, lambda: hits(index, "red"), lambda: message_text(index, "m7")] * 6
    await asyncio.gather(*(asyncio.to_thread(work) for work in works))
    assert len(hits(index, "red", limit=1_000)) == 1_000
    assert index.note is None


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    folder = tmp_path_factory.mktemp("logs")
    texts = ["a b ab", "日本 a", 'quotes " and * stars', "getAb", "NEAR(a b) AND NOT b"]
    (folder / "s1.jsonl").write_bytes(log_of(texts))
    return open_index(folder)
