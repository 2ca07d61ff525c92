import os
import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.permissions.shell import LONGEST_UNDERSTOOD, read_command, written_out


def parts(text: str) -> list[list[str]]:
    return [list(part.words) for part in read_command(text).parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git log", [["git", "log"]]),
        ("  git\tlog  ", [["git", "log"]]),
        ("a && b || c | d; e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a;", [["a"]]),
        ("\n\na\n\n", [["a"]]),
        ("a &&\n b", [["a"], ["b"]]),
        ("a 'b  c' \"d e\" f\\ g", [["a", "b  c", "d e", "f g"]]),
        ("a'b'\"c\"d", [["abcd"]]),
        ('a "\\"\\\\\\n" \'\'', [["a", '"\\\\n', ""]]),
        ("a ';' '&&' \\;", [["a", ";", "&&", ";"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a b\\\nc", [["a", "bc"]]),
        ("a 2>&1 | b >/dev/null 2> /dev/null </dev/null", [["a"], ["b"]]),
        ("a &>/dev/null; b", [["a"], ["b"]]),
        ("a b2>/dev/null", [["a", "b2"]]),
        ("a b#c", [["a", "b#c"]]),
        ("LANG=C NO_COLOR=1 a b=c", [["a", "b=c"]]),
        ("bash scripts/build.sh --fast", [["bash", "scripts/build.sh", "--fast"]]),
    ],
)
def test_simple_commands_are_split_into_their_words(text: str, expected: list[list[str]]) -> None:
    assert read_command(text).obstacle is None
    assert parts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        ";",
        "a ;; b",
        "a && && b",
        "&& a",
        "a &&",
        "a |",
        "a\n&& b",
        "a & b",
        "a &",
        "a |& b",
        "a $b",
        'a "$b"',
        "a $(b)",
        'a "$(b)"',
        "a `b`",
        'a "`b`"',
        "a $'b'",
        "a > b",
        "a >> b",
        "a > /dev/nullx",
        "a > /dev/null/x",
        "a >/dev/null>b",
        "a 3>/dev/null",
        'a "x"2>/dev/null>b',
        "a >&b",
        "a 2>&12",
        "a < b",
        "a << E\nb\nE",
        "a <<< b",
        "a <(b)",
        "(a)",
        "{ a; }",
        "a {b,c}",
        "f() { a; }",
        "if a; then b; fi",
        "for a in b; do c; done",
        "! a",
        "[[ a ]]",
        "time a",
        "a # b",
        "# a",
        "a 'b",
        'a "b',
        "a \\",
        "a\rb",
        "a\x00b",
        "a\u00a0b",
        "a\u2028b",
        "*/run",
        "~/run",
        "PATH=. a",
        "LD_PRELOAD=x a",
        "A[1]=x a",
        "LANG+=x; GIT_DIR=x",
        "LANG=C",
        "eval a",
        "exec a",
        "source a",
        ". a",
        "command a",
        "/bin/bash -c a",
        "sh",
        "a | sh",
        "bash -s",
        "export PATH=.",
        "alias a=b",
        "printf -v PATH .",
        "printf -vPATH .",
        "'' a",
        "a " * LONGEST_UNDERSTOOD,
    ],
)
def test_anything_more_is_not_understood(text: str) -> None:
    command = read_command(text)

    assert command.obstacle
    assert command.parts == ()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"])), min_size=1))
def test_quoted_words_come_out_as_they_went_in(words: list[str]) -> None:
    text = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ["run", *words])

    assert parts(text) == [["run", *words]]


NASTY = st.text(alphabet=" \t\n'\"\\$`;&|<>(){}#*?[]~!=ab12-/.", max_size=14)
REAL_SHELL = """
    PATH=/nowhere
    run() { printf '%s\\0' "$@"; }
    command_not_found_handle() { echo "RAN $1"; }
"""


def in_bash(text: str, folder: os.PathLike[str]) -> bytes:
    done = subprocess.run(
        ["/bin/bash", "--norc", "-f", "-c", REAL_SHELL + text],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={"HOME": "~"},
    )
    return done.stdout


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="needs bash")  # noqa: PTH110
@settings(max_examples=300, deadline=None)
@given(text=NASTY)
def test_what_is_understood_bash_understands_alike(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    command = read_command("run " + text)
    if command.obstacle is not None or len(command.parts) != 1:
        return
    folder = tmp_path_factory.mktemp("bash")

    output = in_bash("run " + text, folder)

    expected = b"".join(word.encode() + b"\0" for word in command.parts[0].words[1:])
    thrown_away = b"" if "/dev/null" in text else expected or b"\0"
    assert output in {thrown_away, expected or b"\0"}
    assert not list(folder.iterdir())


def test_a_command_written_out_is_the_same_command() -> None:
    text = "a 'b c' && d \\; | e 2>&1; f \"it's\""

    assert parts(written_out(read_command(text))) == parts(text)
    assert read_command(written_out(read_command(text))).operators == ("&&", "|", ";")


def test_redirection_targets_are_known_where_the_command_is_not_understood() -> None:
    assert read_command("a $b > 'x y' 2>>z 2>&1 < in").written == ("x y", "z")


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("echo $HOME", False),
        ('git log "$(date)"', False),
        ("make all", False),
        ("find . -exec grep x {} \\;", False),
        ("$x", True),
        ('"$x" y', True),
        ("env $x", True),
        ("`x`", True),
        ("{a,b} c", True),
        ("/bin/r* x", True),
        ("x | base64 -d | sh", True),
        ("eval x", True),
        ('echo "$($x)"', True),
    ],
)
def test_commands_whose_words_are_hidden_are_told_apart(text: str, opaque: bool) -> None:
    assert read_command(text).opaque is opaque


@given(st.text(alphabet=" \n'\"\\$`;&|<>(){}#*,=ab/-", max_size=200))
def test_reading_never_fails(text: str) -> None:
    command = read_command(text)

    assert bool(command.parts) is (command.obstacle is None)


def test_a_long_command_full_of_quotes_is_read_to_its_end() -> None:
    quoted = "".join(" " + '"' * depth + "\\" for depth in range(60))
    command = read_command("a" + quoted + " ;rm $(" * 300)

    assert any(sequence.words[0] == "rm" for sequence in command.sequences)


def test_a_command_quoted_too_deeply_to_follow_is_opaque() -> None:
    text = "x"
    for _ in range(8):
        text = "run " + shlex.quote(text + " y")

    assert read_command(text).opaque
