import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentls.tools.globs import compile_glob, name_glob


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("*.py", ["a.py", "src/deep/a.py", ".py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/deep/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/c/a.py"], ["a.py", "srcs/a.py"]),
        ("**/*.py", ["a.py", "b/a.py"], ["a.pyi"]),
        ("src/**", ["src/a", "src/b/c"], ["src", "srcs/a"]),
        ("src/", ["src/a", "src/b/c"], ["src"]),
        ("/top.txt", ["top.txt"], ["src/top.txt"]),
        ("./src/a", ["src/a"], ["x/src/a"]),
        ("**", ["a", "b/c"], []),
        ("a?c", ["abc", "x/a.c"], ["a/c", "ac"]),
        ("[ab].txt", ["a.txt", "b.txt"], ["c.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("[^ab].txt", ["c.txt"], ["a.txt"]),
        ("[a-c]", ["b"], ["d"]),
        ("[c-a]x", [], ["bx", "-x"]),
        ("[!c-a]", ["b"], []),
        ("[--0]", ["-", "a/.", "0"], ["1"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[&&||~~]", ["&", "|", "~"], ["a"]),
        ("[]]", ["]"], ["["]),
        ("[", ["["], ["x"]),
        ("a[/]b", [], ["a/b"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.t"]),
        ("{src,lib}/*.{c,h}", ["src/a.c", "lib/b.h"], ["other/a.c"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"], ["b"]),
        ("{a", ["{a"], ["a"]),
        ("a,b", ["a,b"], ["a"]),
        (r"\*", ["*"], ["a"]),
        ("a.b", ["a.b"], ["axb"]),
        ("\u2028*", ["\u2028x\ny"], ["x"]),
    ],
)
def test_glob_matches_what_it_says(glob: str, matching: list[str], other: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [path for path in [*matching, *other] if pattern.fullmatch(path)] == matching


@example("[}-?]")
@example("[{-?]")
@given(st.text(st.sampled_from("ab*?[]!^-{},/\\.&~|")))
def test_every_string_is_a_glob(glob: str) -> None:
    compile_glob(glob).fullmatch("a/b.txt")


@given(st.text(st.sampled_from("ab*?{},/"), min_size=1), st.text(st.sampled_from("ab/")))
def test_glob_for_the_name_lets_through_all_that_the_glob_does(glob: str, path: str) -> None:
    name = name_glob(glob)
    if name is not None and compile_glob(glob).fullmatch(path):
        assert compile_glob(name).fullmatch(path)


def test_glob_for_the_name_is_the_last_part() -> None:
    assert name_glob("src/**/*.{ts,tsx}") == "*.{ts,tsx}"
    assert name_glob("*.py") == "*.py"
    assert name_glob("src/**") is None
    assert name_glob("src/") is None
    assert name_glob("{a/b,c}") is None
