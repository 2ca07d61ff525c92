import pytest

from agentls.permissions.command_pattern import MOST_OPTIONS, CommandPattern
from agentls.permissions.shell import LONGEST_SCANNED, read_command


def allows(pattern: str, command: str) -> bool:
    (part,) = read_command(command).parts
    return CommandPattern.parse(pattern, "allow").allows_part(part)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log:*", "git log"),
        ("git log:*", "git log -p --stat"),
        ("git log *", "git log"),
        ("git log *", "git log -p"),
        ("git * main", "git push origin main"),
        ("npm run test*", "npm run test:unit --watch"),
        ("npm test", "npm test"),
        ("npm test", "'npm'  te\"\"st"),
        ("a 'b c':*", "a b\\ c d"),
        ("ls *.py", "ls *.py"),
        ("ls:*", "ls *.py ~/x"),
        ("a*b*c", "axbyc"),
        ("timeout 5 npm test", "timeout 5 npm test"),
        ("find . -name:*", "find . -name x"),
    ],
)
def test_command_patterns_match(pattern: str, command: str) -> None:
    assert allows(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log:*", "git logs"),
        ("git log *", "git logs"),
        ("git log:*", "git lo g"),
        ("git log:*", "'git log' -p"),
        ("git log:*", "/tmp/git log"),
        ("git log:*", "git -c x=y log"),
        ("npm test", "npm test x"),
        ("npm test", "npm tes"),
        ("git * main", "git main"),
        ("a*b*c", "acb"),
        ("ab*ba", "aba"),
        ("rm '*'", "rm *"),
        ("env:*", "env rm x"),
        ("sudo *", "sudo rm x"),
        ("xargs:*", "xargs rm"),
        ("find:*", "find . -delete"),
        ("find:*", "find . -exec rm x"),
    ],
)
def test_command_patterns_do_not_match_more(pattern: str, command: str) -> None:
    assert not allows(pattern, command)


def found(pattern: str, command: str) -> set[str | None]:
    deny = CommandPattern.parse(pattern, "deny")
    return {deny.find(sequence) for sequence in read_command(command).sequences} - {None}


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("rm", "wrap rm"),
        ("rm", "wrap /bin/rm"),
        ("rm:*", "wrap rm -x y"),
        ("rm -rf:*", "rm -v -rf x"),
        ("rm *zz", "wrap rm a b zz"),
        ("*rm*", "/usr/sbin/wrap x"),
        ("g* push", "/usr/bin/git push"),
        ("git push:*", "git -C a -c b=c --bare push"),
        ("git", "git --version"),
    ],
)
def test_denied_words_are_found_wherever_they_stand(pattern: str, command: str) -> None:
    if pattern == "*rm*":
        command = command.replace("wrap", "perform")
    assert found(pattern, command) == {"runs"}


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push:*", "echo git push"),
        ("git push:*", "git $x"),
        ("git push", "git push $x"),
        ("git push:*", "git p*h"),
        ("git push * now", "git push $x"),
        ("git push:*", "git" + " -x" * (MOST_OPTIONS + 1) + " push"),
    ],
)
def test_words_that_may_become_denied_ones_are_mentioned(pattern: str, command: str) -> None:
    assert "mentions" in found(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git push:*", "git pull push"),
        ("git push", "git push -f"),
        ("git push:*", "git log $x *"),
        ("rm", "rmdir x"),
        ("rm -rf:*", "rm x"),
        ("rm x y", "rm x"),
    ],
)
def test_other_words_are_not_taken_for_denied_ones(pattern: str, command: str) -> None:
    assert found(pattern, command) == set()


@pytest.mark.parametrize("pattern", ["rm *zz", "rm -x -x -x y", "*rm *zz", "rm rm rm * q"])
@pytest.mark.parametrize("words", ["rm ", "rm -x ", "/rm ", "-x ", "rm $x "])
def test_a_huge_command_is_searched_to_its_end(pattern: str, words: str) -> None:
    command = words * ((LONGEST_SCANNED - 200) // len(words))
    tail = "; rm zz; rm -x -x -x y; rm rm rm q q"

    assert "runs" in found(pattern, "true; " + command + tail)
