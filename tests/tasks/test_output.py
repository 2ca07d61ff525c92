from hypothesis import given
from hypothesis import strategies as st

from agentls.tasks.output import BoundedOutput


def output_of(*chunks: bytes, most: int = 100) -> BoundedOutput:
    output = BoundedOutput(most)
    for chunk in chunks:
        output.append(chunk)
    return output


def test_short_output_is_whole() -> None:
    assert output_of(b"one\n", b"two").text() == "one\ntwo"
    assert output_of().text() == ""
    assert output_of(b"x" * 100).text() == "x" * 100


def test_long_output_keeps_both_ends_and_counts_the_rest() -> None:
    text = output_of(b"a" * 50, b"b" * 1_000, b"c" * 50).text()
    assert text == f"{'a' * 50}\n[... 1,000 bytes left out ...]\n{'c' * 50}"


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_how_output_is_divided_makes_no_difference(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert output_of(*chunks).text() == output_of(whole).text()
    assert output_of(*chunks).last_lines() == output_of(whole).last_lines()


@given(st.text(st.sampled_from("a\u00e9\u20ac\U0001f600"), min_size=101, max_size=300))
def test_characters_are_not_cut_in_two(text: str) -> None:
    shown = output_of(text.encode()).text()
    assert "\ufffd" not in shown
    head, mark, tail = shown.split("\n") if "\n" in shown else (shown, "", "")
    assert text.startswith(head)
    assert text.endswith(tail)
    if mark:
        left_out = len(text.encode()) - len(head.encode()) - len(tail.encode())
        assert mark == f"[... {left_out:,} bytes left out ...]"


@given(st.binary(max_size=400))
def test_any_bytes_become_text_that_can_be_sent(data: bytes) -> None:
    output = output_of(data)
    output.text().encode()
    output.last_lines().encode()


def test_last_lines_are_few_and_short() -> None:
    output = output_of(*(f"{n}\n".encode() for n in range(1_000)))
    assert output.last_lines() == "995\n996\n997\n998\n999"
    assert output_of(b"x" * 5_000, most=30_000).last_lines() == "x" * 1_000


def test_memory_is_bounded() -> None:
    output = BoundedOutput(1_000)
    for _ in range(1_000):
        output.append(b"x" * 10_000)
    assert len(output._head) + len(output._tail) <= 1_500
