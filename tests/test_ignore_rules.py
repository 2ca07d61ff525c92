import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.ignore_rules import is_within_ignored, parse_patterns, rules_above, rules_in
from agentls.tools.walk import walk

NAMES = ("a", "b", "ab", "a.c", "b.c", ".h", "x[y]", "a b", "[", "!", "#")
names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
pieces = st.one_of(
    names,
    st.sampled_from(("*", "**", "***", "?", "*.c", "a*", ".*", "a?", "a**b", "*a*b*")),
    st.sampled_from(("[ab]", "[!a]", "[^a-b]", "[]a]", "[z-a]", "[\\]]", "[a\\-b]", "[a", "[a-")),
    st.sampled_from(("[[:alpha:]]", "[[:no:]]", "[[:", "[[:]", "[[:a]", "\\", "\\*", "\\[")),
)
globs = st.lists(pieces, min_size=1, max_size=3).map("".join)
segments = st.lists(st.one_of(names, globs, st.just("**")), min_size=1, max_size=4)
lines = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "", "", "!", "#", "\\!", "\\#"]),
    st.sampled_from(["", "", "/", "**/"]),
    segments.map("/".join),
    st.sampled_from(["", "", "/", "/**", "/*"]),
    st.sampled_from(["", "", " ", "\\ ", "\r"]),
)
ignore_files = st.lists(lines, min_size=0, max_size=5).map("\n".join)


@settings(max_examples=80, deadline=None)
@given(
    files=st.sets(paths, min_size=1, max_size=12),
    rules=st.dictionaries(st.sampled_from(["", "a", "b", "a/b"]), ignore_files, max_size=3),
)
def test_what_is_left_out_is_what_git_leaves_out(files: set[str], rules: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        for folder, text in rules.items():
            _place(root / folder / ".gitignore", text)
        for path in sorted(files):
            _place(root / path, "")
        assert _walked(root) == _seen_by_git(root)


def _place(path: Path, text: str) -> None:
    """Write a file where no other stands in the way."""
    if path.is_dir() or any(above.is_file() for above in path.parents):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, newline="")


def _walked(root: Path) -> set[str]:
    return {path for path, _ in walk(root)}


def _seen_by_git(root: Path) -> set[str]:
    quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "init", "-q"], cwd=root, check=True, env=quiet)
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        env=quiet,
    )
    return {os.fsdecode(path) for path in listing.stdout.split(b"\0") if path}


@pytest.mark.parametrize(
    ("pattern", "path", "verdict"),
    [
        ("*.log", "deep/down/a.log", True),
        ("*.log", "a.log.txt", None),
        ("docs/*", "docs/", None),
        ("docs/*", "docs/sub/", True),
        ("build/", "build", None),
        ("build/", "src/build/", True),
        ("/build", "src/build", None),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("**/z", "z", True),
        ("!keep/", "keep/a", None),
        ("a\\", "a\\", None),
        ("[[:digit:]].txt", "5.txt", True),
        ("trailing \\ ", "trailing  ", True),
        ("*.egg-info/", "a.egg-info", None),
        ("*.egg-info/", "a.egg-info/", True),
    ],
)
def test_single_pattern(pattern: str, path: str, verdict: bool | None) -> None:
    assert parse_patterns(pattern.encode()).verdict(path) is verdict


def test_byte_order_mark_is_no_part_of_the_first_pattern() -> None:
    assert parse_patterns(b"\xef\xbb\xbf*.log").verdict("a.log")


def test_pattern_matches_a_name_that_is_not_unicode() -> None:
    assert parse_patterns(b"\xff*").verdict(os.fsdecode(b"\xffx"))


@pytest.mark.parametrize("pattern", [b"*" * 5_000 + b"b", b"*a" * 40 + b"b", b"x/" + b"**/a/" * 40])
def test_pattern_of_many_stars_takes_no_time_to_match_nothing(pattern: bytes) -> None:
    assert parse_patterns(pattern).verdict("a" * 250) is None
    assert parse_patterns(pattern).verdict("x/" + "a/" * 100 + "c") is None


def test_linked_ignore_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    assert rules_in(f"{tmp_path}/") is None


def test_pipe_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    assert rules_in(f"{tmp_path}/") is None


def test_folder_deep_inside_an_ignored_one_is_left_out_too(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("vendor/\n")
    deep = tmp_path / "vendor" / "a" / "b"
    deep.mkdir(parents=True)
    assert is_within_ignored(f"{deep}/", rules_above(deep))
    assert not is_within_ignored(f"{tmp_path}/src/", rules_above(tmp_path / "src"))


def test_same_text_makes_equal_rules(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    first = rules_in(f"{tmp_path}/")
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert first is not None
    assert rules_in(f"{tmp_path}/") == first
