"""Histories of every kind, as hypothesis makes them: what lives through, and what damage leaves."""

import pytest
from hypothesis import strategies as st

from agentls.llm import fitting
from agentls.protocol.content import (
    ImageBlock,
    RedactedThinkingPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from tests.support.attachments import document, got, mention, pdf, told
from tests.support.histories import answer, gap, image, picture, summary

SMALL, LARGE, OTHER = picture(4, 3), picture(2300, 2), picture(30, 20, "JPEG")
MEDIA = st.sampled_from(
    [
        image(SMALL),
        image(LARGE, "large.png"),
        image(OTHER, "a.jpg", "image/png"),
        image(SMALL[:-9], "cut.png"),
        image(b"BM", "\ud800", "image/bmp"),
        ImageBlock(media_type="", data="\udfff", name=None),
        ImageBlock(media_type="image/png", data=""),
        document(pdf(2), "a\nb.pdf", 2),
        document(pdf(3), None, 3),
        document(pdf(1, 4_000)),
        document(pdf(trailer=b"<< /Encrypt 9 0 R >>"), "\ud800.pdf"),
        document(b"PK", media_type="application/zip"),
        document("?", "x" * 600),
    ]
)
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=5),
    st.sampled_from(["", " \n", "word ", "\ud800", "\x00", "\u2028"]),
)
LONG_TEXTS = st.integers(150, 250).map(lambda length: "w\u2028" * (length // 2))
MENTIONS = st.builds(
    mention,
    TEXTS,
    TEXTS,
    first_line=st.none() | st.just(3),
    last_line=st.none() | st.just(4),
    symbol=st.none() | TEXTS,
    left_out=st.none() | TEXTS,
)
CALL_IDS = st.sampled_from(["1", "2", "1_2", "a/b", "", "\ud800", "x" * 200])
TIMES = st.sampled_from(["2026-11-30T15:00:00.000Z", "2026-11-30T16:00:00.000Z", ""])
SIGNATURES = st.sampled_from(["", "s", " ", "\ud800"])
PARTS = st.one_of(
    st.builds(TextPart, id=st.just("p"), text=TEXTS),
    st.builds(ThinkingPart, id=st.just("p"), text=TEXTS, signature=SIGNATURES),
    st.builds(ThinkingPart, id=st.just("p"), text=st.integers().map(str), signature=st.just("s")),
    st.builds(RedactedThinkingPart, id=st.just("p"), data=SIGNATURES),
    st.builds(
        ToolCallPart,
        id=CALL_IDS,
        name=st.sampled_from(["Read", "no such/tool", "", "n" * 200, "\ud800"]),
        input=st.dictionaries(
            TEXTS,
            TEXTS
            | st.lists(TEXTS, max_size=2)
            | st.integers(-(2**70), 2**70)
            | st.floats(allow_nan=True)
            | st.dictionaries(TEXTS, TEXTS, max_size=1),
            max_size=2,
        ),
        malformed_input=st.none() | TEXTS,
    ),
)
_CALL = ToolCallPart(id="1", name="Read")
OUTCOMES = st.sampled_from(["ok", "error", "denied", "cancelled", None])
STOPS = st.sampled_from(["endTurn", "toolUse", "maxTokens", "cancelled", "interrupted", "other"])
ENTRIES = st.one_of(
    st.builds(
        lambda content, author: told(*content, author=author),
        st.lists(TEXTS | MEDIA | MENTIONS, max_size=3),
        st.sampled_from(["user", "user", "user", "agentls"]),
    ),
    st.builds(
        lambda parts, stop, at: answer(*parts, stop_reason=stop, at=at),
        st.lists(PARTS, max_size=5),
        STOPS,
        TIMES,
    ),
    st.builds(
        lambda call_id, content, outcome: got(call_id, *content, outcome=outcome),
        CALL_IDS,
        st.lists(TEXTS | LONG_TEXTS | MEDIA, max_size=2),
        OUTCOMES,
    ),
    st.builds(
        lambda text, back, at: summary(text, at=at).model_copy(update={"put_back": back}),
        TEXTS,
        TEXTS,
        TIMES,
    ),
    st.builds(gap),
)
GOOD_MEDIA = [image(SMALL), image(LARGE), image(OTHER), document(pdf(2), pages=2)]
ROUNDS = st.builds(
    lambda shots, words, outcome: [
        told("See:", *shots[:1]),
        answer(ThinkingPart(id="p", text="Hm.", signature="s"), words, _CALL),
        got("1", *shots[1:], outcome=outcome),
    ],
    st.lists(st.sampled_from(GOOD_MEDIA) | LONG_TEXTS, max_size=3),
    st.builds(TextPart, id=st.just("p"), text=TEXTS),
    st.sampled_from(["ok", "ok", "error"]),
)
"""Turns that went well, with media, long outputs and thoughts."""
HISTORIES = st.lists(ENTRIES.map(lambda entry: [entry]) | ROUNDS, max_size=10).map(
    lambda rounds: [entry for entries in rounds for entry in entries]
)


def few_media(patch: pytest.MonkeyPatch) -> None:
    """Let the limits be reached by histories that are small enough to be made by the hundred."""
    patch.setattr(fitting, "MAX_IMAGES", 4)
    patch.setattr(fitting, "FEWER_IMAGES", 2)
    patch.setattr(fitting, "MANY_IMAGES", 2)
    patch.setattr(fitting, "MAX_PAGES", 6)
    patch.setattr(fitting, "FEWER_PAGES", 4)
    patch.setattr(fitting, "MAX_BYTES", 14_000)
    patch.setattr(fitting, "FEWER_BYTES", 9_000)
