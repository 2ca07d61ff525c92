"""Documents and mentions as they are sent, and what of them is not."""

import base64
from typing import Any

import pytest

from agentls.llm import documents
from agentls.llm.documents import SendableDocument, sendable_document
from agentls.llm.normalise import NOTICE, SUMMARY, Conversation, Messages
from agentls.protocol.content import FileBlock
from agentls.protocol.history import Entry, History
from tests.support.api_rules import violations
from tests.support.attachments import document, got, mention, pdf, told
from tests.support.histories import answer, call, image, noise, picture, summary, text


def converted(*entries: Entry) -> Messages:
    return Conversation().messages(list(entries))


def first(*entries: Entry) -> list[dict[str, Any]]:
    """Return the blocks of the first message."""
    return converted(*entries)[0]["content"]


def note(*entries: Entry) -> str:
    return first(*entries)[0]["text"]


def test_document_is_sent_with_its_name() -> None:
    data = pdf(3)
    messages = converted(told("Read this.", document(data, "The\n paper.pdf")))

    assert messages[0]["content"][1] == {
        "type": "document",
        "source": {
            "type": "base64",
            "media_type": "application/pdf",
            "data": base64.b64encode(data).decode(),
        },
        "title": "The paper.pdf",
    }
    assert not violations(messages)


@pytest.mark.parametrize("name", [None, "", " \n"])
def test_document_without_a_name_has_no_title(name: str | None) -> None:
    assert "title" not in first(told(document(pdf(), name)))[0]


def test_title_is_cut_to_what_the_api_takes() -> None:
    messages = converted(told(document(pdf(), "n" * 2_000 + "\ud800")))

    assert len(messages[0]["content"][0]["title"]) == 255
    assert not violations(messages)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PK\x03\x04", "it is no PDF, and the model takes no other document"),
        ("%%%", "its data is not base64"),
        ("", "it is empty"),
        (pdf(trailer=b"<< /Root 1 0 R /Encrypt 12 0 R >>"), "it is encrypted"),
        (pdf(trailer=b"<< /Encrypt << /V 4 >> >>"), "it is encrypted"),
    ],
)
def test_document_that_the_api_would_not_take_is_a_note(data: bytes | str, why: str) -> None:
    said = note(told(document(data, "a\nb.pdf")))

    assert said.startswith(f"[Document a b.pdf (application/pdf) is not shown: {why}")


@pytest.mark.parametrize("wrapped", ["data:application/pdf;base64,{}", "{}\n", " {}"])
def test_base64_as_it_is_met_is_made_plain(wrapped: str) -> None:
    plain = base64.b64encode(pdf(2)).decode()

    assert sendable_document(document(wrapped.format(plain), pages=2)) == SendableDocument(plain, 2)


def test_document_in_a_result_is_sent_and_in_that_of_a_failed_call_is_a_note() -> None:
    rounds: list[Entry] = [told("Go."), answer(call("1"), call("2")), got("1", document(pdf()))]
    messages = converted(*rounds, got("2", "No.", document(pdf()), outcome="error"))
    good, bad = messages[2]["content"]

    assert good["content"][0]["type"] == "document"
    assert "failed may hold text only" in bad["content"][1]["text"]
    assert not violations(messages)


def test_documents_count_towards_the_size_of_a_request_and_the_oldest_goes() -> None:
    asked: list[Entry] = [told(document(pdf(1, 9_000_000), f"{i}.pdf")) for i in range(3)]
    messages = converted(asked[0], answer(text("One.")), asked[1], answer(text("Two.")), asked[2])

    assert messages[0]["content"][0]["text"] == (
        "[Document 0.pdf (application/pdf) is not shown: a request holds 32 MB at most, and this "
        "is one of the oldest]"
    )
    assert [m["content"][0]["type"] for m in list(messages)[2::2]] == ["text", "document"]
    assert not violations(messages)


def test_newest_document_stays_where_there_is_room_for_it_alone() -> None:
    small, large = document(pdf(1, 9_000_000)), document(pdf(1, 20_000_000))
    messages = converted(told(small), answer(text("One.")), told(large))

    assert [m["content"][0]["type"] for m in list(messages)[::2]] == ["text", "document"]
    assert not violations(messages)


def test_document_that_is_too_large_alone_is_a_note() -> None:
    assert "32 MB at most" in note(told(document(pdf(1, 23_000_000))))


def test_pictures_and_documents_share_the_room() -> None:
    shots = [image(noise(1100, 1000), f"{i}.png") for i in range(3)]
    messages = converted(told(*shots), answer(text("I see.")), told(document(pdf(1, 15_000_000))))

    assert [b["type"] for b in messages[0]["content"]] == ["text"] * 3
    assert messages[2]["content"][0]["type"] == "document"
    assert not violations(messages)


def test_pages_of_all_documents_are_bounded() -> None:
    asked = [told(document(pdf(250), f"{number}.pdf", 250)) for number in range(3)]
    messages = converted(asked[0], answer(text("One.")), asked[1], answer(text("Two.")), asked[2])

    assert "600 pages of documents at most" in messages[0]["content"][0]["text"]
    assert messages[4]["content"][0]["type"] == "document"
    assert not violations(messages)


async def test_documents_are_looked_at_in_a_thread_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conversation = Conversation()
    history = History([told(document(pdf(1, 77)))])
    await conversation.prepare(history)
    monkeypatch.setattr(documents, "_looked_at", lambda _: pytest.fail("on the loop"))

    assert conversation.messages(history)[0]["content"][0]["type"] == "document"


@pytest.mark.parametrize(
    ("block", "head"),
    [
        (mention("a.py", "x"), "[The file a.py, which the user mentioned:]"),
        (
            mention("a.py", "x", what="range", first_line=3, last_line=9),
            "[The range a.py, lines 3 to 9, which the user mentioned:]",
        ),
        (
            mention("a.py", "x", what="symbol", symbol="main", first_line=3),
            "[The symbol main in a.py, lines 3 to 3, which the user mentioned:]",
        ),
        (mention("src", "x", what="folder"), "[The folder src, which the user mentioned:]"),
    ],
)
def test_mention_is_sent_with_where_it_is_from(block: FileBlock, head: str) -> None:
    assert note(told(block)) == f"{head}\nx"


def test_mention_says_what_is_missing_of_it() -> None:
    block = mention("a.py", "x = 1", left_out="1,200 more lines are not shown")

    assert note(told(block)).endswith("x = 1\n[1,200 more lines are not shown]")
    assert not violations(converted(told(mention("empty.py", ""))))


def test_notice_says_that_the_user_did_not_write_it() -> None:
    assert note(told("Task 3 has ended.", author="agentls")) == f"{NOTICE}\nTask 3 has ended."


def test_media_of_a_notice_are_named_only() -> None:
    messages = converted(told("See", image(picture(), "a.png"), author="agentls"))

    assert messages[0]["content"][0]["text"] == f"{NOTICE}\nSee\n[image: a.png]"


def test_what_is_put_back_stands_behind_the_summary() -> None:
    entry = summary("Two files were read.").model_copy(update={"put_back": "The plan: none."})
    blocks = first(entry, told("Go on."))

    assert [block["text"] for block in blocks] == [
        f"{SUMMARY}\n\nTwo files were read.",
        "The plan: none.",
        "Go on.",
    ]


def test_what_is_put_back_counts_towards_the_size_of_a_request() -> None:
    entry = summary("So.").model_copy(update={"put_back": "x" * 30_000_000})

    assert "32 MB at most" in first(entry, told(image(picture())))[2]["text"]
