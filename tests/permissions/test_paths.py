from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.permissions.paths import PathPattern, Scope, escape_pattern, locate


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / "work" / "src" / "deep").mkdir(parents=True)
    (folder / "other").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def allows(pattern: str, path: Path, cwd: Path, *roots: Path) -> bool:
    return PathPattern.parse(pattern).allows(locate(path, cwd), Scope.of(cwd, roots or (cwd,)))


def forbids(pattern: str, path: Path, cwd: Path, *roots: Path) -> bool:
    return PathPattern.parse(pattern).forbids(locate(path, cwd), Scope.of(cwd, roots or (cwd,)))


@pytest.mark.parametrize(
    ("pattern", "path", "allowed", "forbidden"),
    [
        ("src/**", "work/src/a", True, True),
        ("src/**", "work/lib/src/a", False, True),
        ("src/**", "work/srcs/a", False, False),
        ("./src/**", "work/src/deep/a", True, True),
        ("./src/**", "work/lib/src/a", False, False),
        ("/src/*.py", "work/src/a.py", True, True),
        ("/src/*.py", "work/src/deep/a.py", False, False),
        ("*.env", "work/a/b/x.env", True, True),
        (".env", "work/a/.env", True, True),
        (".env", "work/a/.env/inside", True, True),
        ("~/other/*", "other/x", True, True),
        ("~/other/*", "work/other/x", False, False),
        (".env", "other/.env", False, True),
        ("**", "other/x", False, True),
        ("**", "work/x", True, True),
        ("a/", "work/a/x", True, True),
        ("[ab].txt", "work/b.txt", True, True),
        ("\\*.txt", "work/b.txt", False, False),
    ],
)
def test_patterns_begin_where_they_say(
    home: Path, pattern: str, path: str, allowed: bool, forbidden: bool
) -> None:
    work = home / "work"

    assert allows(pattern, home / path, work) is allowed
    assert forbids(pattern, home / path, work) is forbidden


def test_absolute_patterns_begin_at_the_root_of_all(home: Path) -> None:
    work = home / "work"

    assert allows(f"/{home}/other/**", home / "other" / "x", work)
    assert forbids(f"/{home}/other/**", home / "other" / "x", work)
    assert not allows(f"/{home}/other/**", work / "x", work)


def test_with_several_folders_a_rule_allows_in_the_first_and_forbids_in_all(home: Path) -> None:
    roots = (home / "work", home / "other")

    assert allows("/x", home / "work" / "x", roots[0], *roots)
    assert not allows("/x", home / "other" / "x", roots[0], *roots)
    assert forbids("/x", home / "other" / "x", roots[0], *roots)
    assert forbids("./x", home / "other" / "x", roots[0], *roots)


def test_a_working_folder_outside_of_the_workspace_carries_no_rule_along(home: Path) -> None:
    assert not allows("x", home / "other" / "x", home / "other", home / "work")
    assert allows("x", home / "work" / "x", home / "other", home / "work")


def test_a_folder_is_allowed_only_with_all_that_is_in_it(home: Path) -> None:
    work = home / "work"

    assert allows("src/**", work / "src", work)
    assert allows("**", work, work)
    assert not allows("src/*.py", work / "src", work)
    assert not allows("[!.]*", work, work)
    assert forbids("./src/**", work / "src", work)


@pytest.mark.parametrize(
    ("pattern", "reaches"),
    [
        ("./src/**", True),
        ("./src/deep/x", True),
        ("./*/x", True),
        (".env", True),
        ("./lib/**", False),
        ("~/other/**", False),
    ],
)
def test_whether_a_pattern_may_speak_of_something_in_a_folder(
    home: Path, pattern: str, reaches: bool
) -> None:
    work = home / "work"
    folder = locate(work / "src", work)

    assert PathPattern.parse(pattern).reaches_into(folder, Scope.of(work, (work,))) is reaches


def test_both_ends_of_a_link_are_judged(home: Path) -> None:
    work = home / "work"
    (work / "src" / "link").symlink_to(home / "other")

    assert not allows("src/**", work / "src" / "link" / "x", work)
    assert forbids("~/other/**", work / "src" / "link" / "x", work)
    assert forbids("./src/link/*", work / "src" / "link" / "x", work)


def test_a_workspace_reached_through_a_link_is_the_same_workspace(home: Path) -> None:
    (home / "link").symlink_to(home / "work")
    scope = Scope.of(home / "link", (home / "link",))

    for path in (home / "link" / "src" / "a", home / "work" / "src" / "a"):
        located = locate(path, home / "link")
        assert scope.contains(located)
        assert PathPattern.parse("src/*").allows(located, scope)


def test_dots_cannot_leave_the_workspace_unseen(home: Path) -> None:
    work = home / "work"
    (work / "link").symlink_to(home / "other")
    scope = Scope.of(work, (work,))

    assert not scope.contains(locate(Path("src/../../other/x"), work))
    assert not scope.contains(locate(Path("link/../x"), work))
    assert scope.contains(locate(Path("src/../x"), work))


def test_a_path_that_no_system_call_takes_is_nowhere(home: Path) -> None:
    work = home / "work"

    assert not Scope.of(work, (work,)).contains(locate(Path("a\0b"), work))


def test_links_that_lead_in_a_circle_are_no_way_in(home: Path) -> None:
    work = home / "work"
    (work / "a").symlink_to(work / "b")
    (work / "b").symlink_to(work / "a")

    assert locate(work / "a" / "x", work).given == work / "a" / "x"


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/"), min_size=1
).filter(lambda name: name not in {".", ".."})


@given(NAMES, NAMES)
def test_an_escaped_path_matches_itself_alone(name: str, other: str) -> None:
    escaped = escape_pattern(name)
    cwd = Path("/nowhere/at/all")
    if escaped is None:
        return

    assert allows("/" + escaped, cwd / name, cwd)
    assert allows("/" + escaped, cwd / other, cwd) is (name == other)
