import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.tools import line_diff
from agentls.tools.line_diff import count_changes, unified

texts = st.lists(st.sampled_from(["a", "b", "c", "", "\u2028"])).map("\n".join)


def test_one_line_changed_counts_one_added_and_one_removed() -> None:
    assert count_changes(b"a\nb\nc\n", b"a\nB\nc\n") == (1, 1)
    assert count_changes(b"", b"a\nb") == (2, 0)
    assert count_changes(b"a\nb\n", b"") == (0, 2)
    assert count_changes(b"same\n", b"same\n") == (0, 0)


def test_diff_reads_as_a_unified_diff() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 21)).encode()
    after = before.replace(b"line 5\n", b"five\n").replace(b"line 18\n", b"")
    assert unified(before, after, "x.txt") == (
        "--- x.txt\n+++ x.txt\n"
        "@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n line 8\n"
        "@@ -15,6 +15,5 @@\n line 15\n line 16\n line 17\n-line 18\n line 19\n line 20\n"
    )


def test_missing_final_newline_is_said() -> None:
    assert unified(b"a", b"a\n", "x").endswith(
        "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"
    )


@given(texts, texts)
def test_diff_applied_to_the_old_text_gives_the_new(before: str, after: str) -> None:
    ours = unified(before.encode(), after.encode(), "x", most=10**9)
    applied = apply(ours, before)
    assert applied == after


@given(texts, texts)
def test_counts_add_up(before: str, after: str) -> None:
    added, removed = count_changes(before.encode(), after.encode())
    old = before.count("\n") + (not before.endswith("\n") and before != "")
    new = after.count("\n") + (not after.endswith("\n") and after != "")
    assert new - old == added - removed


def apply(diff: str, before: str) -> str:
    """Apply a unified diff the way patch does, strictly."""
    lines = before.split("\n")
    old = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    result: list[str] = []
    position = 0
    rows = diff.split("\n")[2:-1]
    for index, row in enumerate(rows):
        if row.startswith("@@"):
            start, length = map(int, row.split()[1][1:].split(","))
            begin = start - 1 if length else start
            result += old[position:begin]
            position = begin
        elif row.startswith("\\"):
            continue
        else:
            bare = index + 1 < len(rows) and rows[index + 1].startswith("\\")
            line = row[1:] + ("" if bare else "\n")
            if row[0] in " -":
                assert old[position] == line
                position += 1
            if row[0] in " +":
                result.append(line)
    return "".join(result + old[position:])


def test_small_change_in_long_repetitive_text_stays_small() -> None:
    lines = ["x = 1\n", "\n"] * 20_000
    changed = [*lines]
    changed[10_000] = "y = 2\n"
    changed[10_002] = "z = 3\n"
    assert count_changes("".join(lines).encode(), "".join(changed).encode()) == (2, 2)


def test_texts_with_nothing_in_common_are_not_compared_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("quadratic")

    monkeypatch.setattr(difflib, "SequenceMatcher", refuse)
    before = "".join(f"a{n}\n" for n in range(3_000)).encode()
    after = "".join(f"b{n}\n" for n in range(3_000)).encode()
    assert line_diff.MOST_WORK < 3_000 * 3_000
    assert count_changes(before, after) == (3_000, 3_000)


def test_long_diff_is_cut_at_a_line_and_says_so() -> None:
    after = "".join(f"line {n}\n" for n in range(1_000)).encode()
    diff = unified(b"", after, "x", most=500)
    assert len(diff) < 600
    shown = diff.count("\n+line")
    assert diff.endswith(f"[... {1_000 - shown:,} more lines of the diff]\n")
