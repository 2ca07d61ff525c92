"""What rules open and close of shell commands, in every spelling."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.protocol.tool_calls import Mode
from tests.support.permission_calls import SOURCE, bash

ALL_MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
LOG = ("Bash(git log:*)",)


@pytest.mark.parametrize(
    "command",
    [
        "git log; touch x",
        "git log && touch x",
        "git log || touch x",
        "git log | touch x",
        "git log & touch x",
        "git log\ntouch x",
        "git log $(touch x)",
        'git log "$(touch x)"',
        "git log `touch x`",
        "git log > x",
        "git log 2>x",
        "git log <(touch x)",
        "git log <<E\n$(touch x)\nE",
        "GIT_PAGER='touch x' git log",
        "sudo git log",
        "env -i git log",
        "bash -c 'git log'",
        "./git log",
        "git logx",
        "git -c core.pager=x log",
    ],
)
def test_an_allow_rule_opens_nothing_but_its_command(command: str) -> None:
    assert bash(command, allow=LOG).behaviour == "ask"


def test_every_part_must_be_allowed() -> None:
    both = (*LOG, "Bash(wc:*)")

    assert bash("git log -1 | wc -l; git log", allow=both).behaviour == "allow"
    assert bash("git log -1 | wc -l; git gc", allow=both).behaviour == "ask"


def test_a_rule_for_all_commands_allows_what_is_understood() -> None:
    assert bash("sudo rm x && git log", allow=("Bash",)).behaviour == "allow"
    assert bash("rm $x", allow=("Bash",)).behaviour == "ask"


PUSH = ("Bash(git push:*)", "Bash(git add -A*)", "Bash(npm publish)")


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "dontAsk", "bypassPermissions"])
@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git  push -f",
        "true && git push",
        "x | git push",
        "mywrap git add -A",
        "mywrap --flag value git add -Av .",
        "sudo -u x git push",
        "env A=b git push",
        "A=b git push",
        "timeout 5 git push",
        "xargs -n1 git push",
        "nohup git push &",
        "command git push",
        "time git push",
        "bash -c 'git push'",
        "bash -c \"bash -c 'git push'\"",
        'eval "git push"',
        "eval git push",
        "sh <<< 'git push'",
        "sh <<E\ngit push\nE",
        "g'it' pu\"sh\"",
        "g\\it push",
        "git pu\\\nsh",
        "/usr/bin/git push",
        "git -C dir push",
        "git --no-pager -c a=b push",
        "$(git push)",
        'echo "$(git push)"',
        "echo `git push`",
        "x`git push `",
        "`echo \\`git push\\``",
        "(git push)",
        "{ git push; }",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "git push > out",
        "> out git push",
        "git push # nothing",
        "find . -exec git push {} +",
        "python3 -c 'import os; os.system(\"git push\")'",
        'python3 -c \'run(["git","push"])\'',
        "make CMD='git push'",
        "npm publish # now",
        "npm publish 2>&1",
        "npm --silent publish",
    ],
)
def test_a_denied_command_is_denied_in_every_spelling(command: str, mode: Mode) -> None:
    assert bash(command, mode=mode, allow=("Bash",), deny=PUSH).behaviour == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "$x push",
        "g${e}it push",
        "$'\\x67it' push",
        "{git,} push",
        "/usr/bin/g?t push",
        "echo Z2l0IHB1c2g= | base64 -d | sh",
        "bash script.sh",
        "source x",
        "git commit -m 'git push'",
        "echo git push",
        "git $x",
        "git pu$x",
        "git $(echo push)",
        "git `echo push`",
        "git p*h",
        "npm publish $x",
        "npm pub*",
    ],
)
def test_a_command_that_may_hide_a_denied_one_asks_even_without_permissions(command: str) -> None:
    verdict = bash(command, mode="bypassPermissions", deny=PUSH)

    assert verdict.behaviour == "ask"
    assert f"of {SOURCE}" in verdict.reason


@pytest.mark.parametrize(
    "command",
    ["git pushy", "git pull", "npm publisher", "npm publish -n", "echo $HOME", "git log $x *"],
)
def test_a_deny_rule_denies_no_more_than_it_says(command: str) -> None:
    assert bash(command, mode="bypassPermissions", deny=PUSH).behaviour == "allow"


WORD = st.text(alphabet="ab1 '\"$*-/.=#~", min_size=1, max_size=6)
WRAPPERS = st.sampled_from(
    [
        "{}",
        "mywrap {}",
        "sudo -n {}",
        "env -i {}",
        "timeout 5 {}",
        "({})",
        "x; {}",
        "x | {}",
        "! {}",
    ]
)
QUOTERS = st.sampled_from(["bash -c {}", "eval {}", "mywrap -x {}", "sh -c {} x"])


@st.composite
def spelled_pushes(draw: st.DrawFn) -> str:
    """Return `git push` and more words, quoted, wrapped and nested at random."""
    heads = [draw(st.sampled_from(["git", "g'it'", '"git"', "\\git", "/bin/git", "gi''t"]))]
    heads.append(draw(st.sampled_from(["push", "pu'sh'", '"push"', "p\\ush"])))
    rest = [shlex.quote(word) for word in draw(st.lists(WORD, max_size=2))]
    text = draw(st.sampled_from([" ", "  ", "\t", " \\\n"])).join(heads + rest)
    for _ in range(draw(st.integers(0, 2))):
        text = draw(WRAPPERS).format(text)
        if draw(st.booleans()):
            text = draw(QUOTERS).format(shlex.quote(text))
    return text


@settings(max_examples=400, deadline=None)
@given(spelled_pushes(), st.sampled_from(ALL_MODES))
def test_quoting_and_wrapping_never_open_a_denied_command(command: str, mode: Mode) -> None:
    verdict = bash(command, mode=mode, allow=("Bash", "Bash(git:*)"), deny=("Bash(git push:*)",))

    assert verdict.behaviour == "deny"


APPENDED = st.text(alphabet=" \t\n;&|<>(){}$`'\"\\#!*?[]~=ax1/-", min_size=1, max_size=12)
SEPARATORS = st.sampled_from([";", "&&", "||", "|", "&", "|&", "\n", " > ", "$(", "`", "#", "\r"])


@settings(max_examples=400, deadline=None)
@given(SEPARATORS, APPENDED)
def test_nothing_appended_opens_a_command_that_asks(separator: str, more: str) -> None:
    allow = (*LOG, "Bash(a:*)", "Bash(ax:*)")

    assert bash("git gc" + separator + more, allow=allow).behaviour == "ask"


JAILED = """
    PATH=/nowhere
    git() { test "$1" = log || echo "RAN $*"; }
    command_not_found_handle() { echo "RAN $*"; }
"""


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
@settings(max_examples=500, deadline=None)
@given(more=APPENDED)
def test_what_an_allow_rule_opens_runs_nothing_else_in_bash(
    more: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    command = "git log" + more
    if bash(command, allow=LOG).behaviour != "allow":
        return
    folder = tmp_path_factory.mktemp("jail")

    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", JAILED + command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        env={},
    )

    assert b"RAN" not in done.stdout + done.stderr
    assert not list(folder.iterdir())
