import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.sessions.search.words import Query, camel_pieces, spaced


@pytest.mark.parametrize(
    ("typed", "expression"),
    [
        ("", ""),
        ("red roof", '"red" AND "roof"'),
        ('"red roof" house', '"red roof" AND "house"'),
        ('"never closed', '"never closed"'),
        ("migrat*", '"migrat"*'),
        ('"red ro"*', '"red ro"*'),
        ("*", ""),
        ("a OR b", '"a" AND "OR" AND "b"'),
        ("src/foo_bar.py", '"src foo bar py"'),
        ("title:x -y (z)", '"title x" AND "y" AND "z"'),
        ("日本", '"日 本"'),
        ("!!! ...", ""),
        ("a\0b", '"a b"'),
        ("\ud800", ""),
    ],
)
def test_query_becomes_an_expression_of_quoted_words(typed, expression):
    assert Query.parse(typed).expression == expression


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("getUserName", "get User Name"),
        ("an HTTPServer2 and parseJSON", "parse JSON HTTP Server2"),
        ("nothing_here Title UPPER 123 v2", ""),
        ("a" * 60 + "B" * 60, ""),
        ("naïveFoo", "ve Foo"),
    ],
)
def test_names_in_camel_case_are_taken_apart(text, pieces):
    assert camel_pieces(text) == pieces


def test_letters_of_scripts_without_spaces_stand_alone():
    assert spaced("the 日本語 검색").split() == ["the", "日", "本", "語", "검", "색"]
    assert spaced("cafe\u0301") == "café"


def marked(query: str, text: str, length: int = 200) -> str:
    """Return the snippet with brackets around what is marked."""
    snippet = Query.parse(query).snippet(text, length)
    shown = snippet.text
    for begin, end in reversed(snippet.marks):
        shown = f"{shown[:begin]}[{shown[begin:end]}]{shown[end:]}"
    return shown


@pytest.mark.parametrize(
    ("query", "text", "shown"),
    [
        ("red", "Red, redder, RED", "[Red], redder, [RED]"),
        ("red*", "Red, redder", "[Red], [red]der"),
        ('"foo bar"', "foo bar, foo_bar, bar foo", "[foo bar], [foo_bar], bar foo"),
        ("user", "getUserName", "get[User]Name"),
        ("日本", "これは日本語", "これは[日本]語"),
        ("cafe", "a CAFÉ, a cafe\u0301", "a [CAFÉ], a [cafe\u0301]"),
        ("cafe\u0301", "a cafe", "a [cafe]"),
        ("red", "nothing", "nothing"),
    ],
)
def test_words_are_marked_where_they_stand(query, text, shown):
    assert marked(query, text) == shown


def test_snippet_shows_where_most_of_the_words_stand_together():
    text = "red " + "hay " * 200 + "the red roof " + "hay " * 200
    shown = marked("red roof", text, 60)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "the [red] [roof]" in shown
    assert len(shown) <= 60 + 2 + 4


def test_text_of_many_marks_and_letters_costs_no_more_than_its_length():
    zalgo = ("e" + "\u0301" * 2_000) * 50
    assert Query.parse('"e f" "ee ee"').snippet(zalgo + "-" * 100_000, 100).marks == ()
    assert camel_pieces("a" * 1_000_000 + " " + "A" * 1_000_000) == ""


@given(st.text(max_size=60), st.text(max_size=300), st.integers(1, 100))
def test_marks_lie_in_order_inside_of_any_snippet(query, text, length):
    snippet = Query.parse(query).snippet(text, length)
    assert len(snippet.text) <= length + 2
    assert snippet.text.strip("…") in text or "…" in text
    last = 0
    for begin, end in snippet.marks:
        assert last <= begin < end <= len(snippet.text)
        last = end
