import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.code_spans import spans
from agentls.context.mentions import Mention, find_mentions


def only(text: str) -> Mention:
    """Return the one mention in a text."""
    [mention] = find_mentions(text)
    return mention


def parts(text: str) -> tuple[Any, ...]:
    """Return what the one mention in a text says."""
    found = only(text)
    return found.path, found.first_line, found.last_line, found.symbol


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@src/main.py", ("src/main.py", None, None, None)),
        ('Look at @"my file.py" now', ("my file.py", None, None, None)),
        ("@src/", ("src/", None, None, None)),
        ("@./", ("./", None, None, None)),
        ("@src/main.py:10", ("src/main.py", 10, 10, None)),
        ("@src/main.py:10-20", ("src/main.py", 10, 20, None)),
        ("@src/main.py:20-10", ("src/main.py", 10, 20, None)),
        ("@src/main.py:10:5", ("src/main.py", 10, 10, None)),
        ("@src/main.py#L10", ("src/main.py", 10, 10, None)),
        ("@src/main.py#L10-L20", ("src/main.py", 10, 20, None)),
        ("@src/main.py#L10-20", ("src/main.py", 10, 20, None)),
        ("@src/main.py#L10C3-L20C5", ("src/main.py", 10, 20, None)),
        ("@src/main.py:0", ("src/main.py", 1, 1, None)),
        ('@"my file.py":10-20', ("my file.py", 10, 20, None)),
        ('@"my file.py#L7"', ("my file.py", 7, 7, None)),
        ('@"my file.py"#Name', ("my file.py", None, None, "Name")),
        ("@src/main.py#Class.method", ("src/main.py", None, None, "Class.method")),
        ("@src/main.rs#Foo::new", ("src/main.rs", None, None, "Foo.new")),
        ("@#name", ("", None, None, "name")),
        ("@src/#name", ("src/", None, None, "name")),
        ("@~/notes.md", ("~/notes.md", None, None, None)),
        ("@c#/main.cs#Foo", ("c#/main.cs", None, None, "Foo")),
        ("@notes#1.md", ("notes#1.md", None, None, None)),
        ("@icons/logo@2x.png", ("icons/logo@2x.png", None, None, None)),
        ("@packages/@scope/x", ("packages/@scope/x", None, None, None)),
    ],
)
def test_each_way_to_write_a_mention(text: str, expected: tuple[Any, ...]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Is it in @a.py?",
        "It is in @a.py.",
        "See @a.py: it fails...",
        "(@a.py)",
        "([@a.py])",
        "see @a.py, then stop",
        '"@a.py"',
        "<@a.py>",
        "@a.py's end",
        "**@a.py**",
        "看一下 @a.py。",
        "看（@a.py）",  # noqa: RUF001
        "@a.py\n",
        "--data=@a.py",
        "@a.py...",
    ],
)
def test_punctuation_of_the_sentence_is_not_part_of_a_mention(text: str) -> None:
    found = only(text)
    assert (found.path, found.text) == ("a.py", "@a.py")
    assert not found.in_word


def test_brackets_that_belong_to_a_name_stay() -> None:
    assert parts("@app/(group)/[id]/page.tsx")[0] == "app/(group)/[id]/page.tsx"
    assert parts("(@app/[id])")[0] == "app/[id]"
    assert parts("(@src/a.py:10-20).")[:3] == ("src/a.py", 10, 20)


@pytest.mark.parametrize(
    "text",
    ["", "@", "a @ b", "@@ -1,2 +3,4 @@", "@@name", r"\@name", "@.", "@...", "@)", "@``", '@""'],
)
def test_what_names_nothing_is_no_mention(text: str) -> None:
    assert find_mentions(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "Mail me@example.com",
        "git@github.com:owner/repo",
        "https://x.org/@user/repo",
        "node_modules/@types/node",
        "left-pad@1.2.3",
    ],
)
def test_at_sign_inside_of_a_word_is_marked(text: str) -> None:
    assert only(text).in_word


@pytest.mark.parametrize(
    "text",
    [
        "`@a.py`",
        "``@a.py ` @b.py``",
        "```\n@a.py\n```",
        "```python\n@dataclass\n\n@other\n```\n",
        "~~~\n@a.py\n```\n@b.py\n~~~",
        "- item\n\n    ```\n    @a.py\n    ```",
        "> ```\n> @a.py\n> ```",
        "````\n```\n@a.py\n````",
        "```\n@a.py, never closed",
        "`two\nlines @a.py`",
        "```\r\n@a.py\r\n```\r\n",
    ],
)
def test_in_code_nothing_is_a_mention(text: str) -> None:
    assert find_mentions(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "a ` b @a.py",
        "`a\n\n@a.py b`",
        "```\ncode\n```\n@a.py",
        "```code``` @a.py",
        "`one` @a.py `two`",
        "``one` @a.py",
        "<!-- @a.py -->",
        "```\r\n@b.py\r\n```\r\n@a.py",
    ],
)
def test_beside_code_and_behind_lone_backticks_mentions_count(text: str) -> None:
    assert only(text).path == "a.py"


def test_several_mentions_come_in_order() -> None:
    found = find_mentions("@b.py and @a.py, @b.py:3 and `@c.py`\n@d/")
    assert [each.text for each in found] == ["@b.py", "@a.py", "@b.py:3", "@d/"]


def test_comments_are_pieces_of_their_own_where_that_is_asked_for() -> None:
    text = "a <!-- ` --> b ` <!-- c -->` `<!--` <!-- open"
    found = [(span.kind, text[span.start : span.end]) for span in spans(text, comments=True)]
    assert found == [
        ("prose", "a "),
        ("comment", "<!-- ` -->"),
        ("prose", " b "),
        ("code", "` <!-- c -->`"),
        ("prose", " "),
        ("code", "`<!--`"),
        ("prose", " <!-- open"),
    ]


PIECES = st.sampled_from(
    [
        "@", "a", ".py", "/", "#", ":", "10", "-", "L", '"', "`", "``", "```", "~~~", "\n", "\n\n",
        " ", "(", ")", ".", ",", "<!--", "-->", "\\", "é", "。", "\ud800", "\r\n", "\0", "  ", "> ",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join))


@given(TEXTS)
def test_mentions_are_pieces_of_the_text_in_order_and_not_of_code(text: str) -> None:
    at = 0
    code = [span for span in spans(text) if span.kind == "code"]
    for mention in find_mentions(text):
        end = mention.start + len(mention.text)
        assert mention.start >= at
        assert text[mention.start : end] == mention.text
        assert mention.text.startswith("@")
        assert mention.path or mention.symbol
        assert mention.path in mention.text
        assert (mention.first_line is None) == (mention.last_line is None)
        assert 1 <= (mention.first_line or 1) <= (mention.last_line or 1)
        assert all(end <= span.start or span.end <= mention.start for span in code)
        at = end


@given(TEXTS, st.booleans())
def test_spans_cover_a_text_without_gaps(text: str, comments: bool) -> None:
    found = [*spans(text, comments=comments)]
    assert "".join(text[span.start : span.end] for span in found) == text
    assert all(span.start < span.end for span in found)
    assert all(one.end == other.start for one, other in pairwise(found))
    assert comments or all(span.kind != "comment" for span in found)


@given(st.text(alphabet="abc @/.", max_size=40))
def test_whatever_stands_in_inline_code_is_no_mention(text: str) -> None:
    assert find_mentions(f"`x{text}x`") == ()


@given(TEXTS)
def test_whatever_stands_in_a_fence_is_no_mention(text: str) -> None:
    quiet = re.sub("[~\\r]", "", text)
    assert find_mentions(f"~~~\n{quiet}\n~~~\n") == ()


@pytest.mark.parametrize(
    "text",
    [
        "@" + ")" * 200_000,
        "@a" * 100_000,
        "`" * 100_000,
        "` `` " * 40_000,
        "<!--" * 50_000,
        "@" + "a#" * 100_000,
        "@" + ":1" * 100_000,
        "~~~\n" * 50_000,
        "\n> " * 70_000,
        '@"' * 50_000,
        " " * 200_000,
    ],
)
def test_no_text_is_slow_to_look_through(text: str) -> None:
    # Were it quadratic, this would take minutes.
    assert len(find_mentions(text)) <= 100_000
    assert sum(span.end - span.start for span in spans(text, comments=True)) == len(text)
