import pytest

from agentls.permissions.command_pattern import Behaviour
from agentls.permissions.rules import (
    BadRule,
    check_rule,
    domain_matches,
    parse_rule,
)


@pytest.mark.parametrize(
    "text",
    [
        "Bash",
        "Bash(*)",
        "Bash(git diff:*)",
        "Bash(npm test)",
        "Bash(git log *)",
        "Bash(echo 'a b')",
        "Read(./secrets/**)",
        "Edit(src/**)",
        "Read(//abs/**)",
        "Read(~/x/**)",
        "Edit(/docs/*.md)",
        "WebFetch(domain:x.org)",
        "WebFetch(domain:*.x.org)",
        "mcp__server",
        "mcp__server__*",
        "mcp__server__tool",
        "TodoWrite",
    ],
)
@pytest.mark.parametrize("behaviour", ["allow", "ask", "deny"])
def test_the_fields_rules_are_read(behaviour: Behaviour, text: str) -> None:
    assert check_rule(behaviour, text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a rule looks like"),
        ("Bash(git", "a rule looks like"),
        ("Bash git", "a rule looks like"),
        ("Bash()", "empty"),
        ("Bash(echo $HOME)", "a variable"),
        ("Bash(a > b)", "a redirection"),
        ("Bash(a 'b)", "a quote without its end"),
        ("Bash(a; b *)", "several commands"),
        ("Read()", "names no path"),
        ("Read(../x)", "`..`"),
        ("Edit(!x)", "names no path"),
        ("Read(~other/x)", "names no path"),
        ("WebFetch(x.org)", "domain:"),
        ("WebFetch(domain:)", "domain:"),
        ("WebFetch(domain:x.org/path)", "domain:"),
        ("Task(x)", "take no pattern"),
        ("*", "in full"),
        ("mcp__*", "in full"),
        ("Re*", "in full"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(text: str, message: str) -> None:
    rule = parse_rule("allow", text)

    assert isinstance(rule, BadRule)
    assert message in rule.message


def test_only_an_allow_rule_must_name_its_tool_in_full() -> None:
    assert check_rule("deny", "*") is None
    assert check_rule("ask", "mcp__*") is None


def test_a_bad_rule_still_knows_its_tool() -> None:
    rule = parse_rule("deny", "Bash(rm")

    assert isinstance(rule, BadRule)
    assert rule.tool == "Bash"


def test_domains_match_whole_names() -> None:
    assert domain_matches("x.org", "X.org.")
    assert domain_matches("*.x.org", "a.b.x.org")
    assert not domain_matches("*.x.org", "x.org")
    assert not domain_matches("*.x.org", "evilx.org")
    assert not domain_matches("x.org", "a.x.org")
    assert not domain_matches("x.org", "")
