from hypothesis import given
from hypothesis import strategies as st

from agentls.tasks.utf8 import begun_at_end, left_at_beginning

CHARACTERS = st.text(st.sampled_from("a\u00e9\u20ac\U0001f600"), max_size=20)


@given(CHARACTERS, st.integers(0, 80))
def test_text_can_be_cut_anywhere(text: str, where: int) -> None:
    data = text.encode()
    first, second = data[:where], data[where:]
    begun, left = begun_at_end(first), left_at_beginning(second)
    assert bool(begun) == bool(left)
    middle = first[len(first) - begun :] + second[:left]
    assert len(middle.decode()) <= 1
    whole = first[: len(first) - begun].decode() + middle.decode() + second[left:].decode()
    assert whole == text


@given(st.binary(max_size=10))
def test_any_bytes_lose_at_most_three(data: bytes) -> None:
    assert 0 <= begun_at_end(data) <= min(3, len(data))
    assert 0 <= left_at_beginning(data) <= min(3, len(data))
