import re

from hypothesis import assume, given
from hypothesis import strategies as st

from agentls.tools.splice import MOST_PLACES, find_splices, spliced

# Line ends of all kinds, a mark at the beginning, text that is not UTF-8, and few other letters,
# so that matches are many.
pieces = st.sampled_from(
    [b"a", b"b", b"aa", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xff", "\u00e9\u2028".encode()]
)
contents = st.lists(pieces, max_size=30).map(b"".join)
texts = st.text(st.sampled_from("ab\n\u00e9"), max_size=6)


def without_cr(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


# A lone \r before an inserted \n would become a line end.
without_lone_cr = contents.map(lambda data: re.sub(rb"\r(?!\n)", b"", data))


def edited(data: bytes, old: str, new: str) -> bytes:
    return spliced(data, find_splices(data, old, new))


@given(contents, texts.filter(bool), texts)
def test_nothing_but_the_matched_bytes_changes(data: bytes, old: str, new: str) -> None:
    splices = find_splices(data, old, new)
    after = spliced(data, splices)
    position = shift = 0
    for splice in splices:
        start = splice.start + shift
        # What stands between two splices is the same bytes, only moved.
        assert after[position + shift : start] == data[position : splice.start]
        assert after[start : start + len(splice.new)] == splice.new
        position = splice.end
        shift += len(splice.new) - (splice.end - splice.start)
    assert after[position + shift :] == data[position:]


@given(without_lone_cr, texts.filter(bool), texts)
def test_an_edit_is_the_same_as_in_the_text_the_model_sees(data: bytes, old: str, new: str) -> None:
    expected = without_cr(data).replace(old.encode(), new.encode())
    assert without_cr(edited(data, old, new)) == expected


@given(without_lone_cr.map(without_cr), texts.filter(bool), texts)
def test_crlf_file_stays_crlf_throughout(data: bytes, old: str, new: str) -> None:
    assume(b"\n" in data)
    after = edited(data.replace(b"\n", b"\r\n"), old, new)
    assert after.count(b"\n") == after.count(b"\r\n")
    assert without_cr(after) == data.replace(old.encode(), new.encode())


def test_shared_lines_keep_their_own_ends_in_a_mixed_file() -> None:
    data = b"a\r\nb\nc\r\nd\n"
    assert edited(data, "a\nb\nc\nd", "a\nB\nc\nd") == b"a\r\nB\nc\r\nd\n"


def test_new_lines_take_the_end_used_where_they_stand() -> None:
    data = b"a\r\nb\r\n" + b"c\nd\n"
    assert edited(data, "a", "a\na2") == b"a\r\na2\r\nb\r\nc\nd\n"
    assert edited(data, "c", "c\nc2") == b"a\r\nb\r\nc\nc2\nd\n"
    assert edited(b"a\r\nlast", "last", "last\nmore") == b"a\r\nlast\r\nmore"
    assert edited(b"only", "only", "one\ntwo") == b"one\ntwo"


def test_text_that_begins_with_a_line_end_does_not_cut_a_crlf_in_two() -> None:
    assert edited(b"a\r\nb\r\n", "\nb", "\nx\nb") == b"a\r\nx\r\nb\r\n"
    assert edited(b"a\r\nb\r\n", "a\n", "") == b"b\r\n"


def test_explicit_carriage_returns_are_taken_literally() -> None:
    assert edited(b"a\r\nb\n", "a\r\nb", "a\nb") == b"a\nb\n"
    assert edited(b"a\nb\n", "a\nb", "a\r\nb") == b"a\r\nb\n"
    assert edited(b"a\r\nb\r\n", "a\nb", "a\r\nb") == b"a\r\nb\r\n"


def test_matches_that_overlap_are_all_counted() -> None:
    assert len(find_splices(b"aaa", "aa", "b", overlapping=True)) == 2
    assert len(find_splices(b"aaa", "aa", "b")) == 1
    assert len(find_splices(b"\r\n\r\n\r\n", "\n\n", "", overlapping=True)) == 2


def test_counting_ends_at_a_limit() -> None:
    assert len(find_splices(b"a" * 5_000, "a", "b", overlapping=True)) == MOST_PLACES
    assert edited(b"a" * 5_000, "a", "b") == b"b" * 5_000


def test_characters_of_a_pattern_mean_themselves() -> None:
    assert edited(b"f(x) + [1]\\n", "(x) + [1]\\n", "$1 \\g<0>") == b"f$1 \\g<0>"
