from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.permissions.policy import CallFacts, Verdict, decide, unreadable
from agentls.protocol.tool_calls import Mode
from tests.support.permission_calls import SOURCE, bash, on_file, rules

ALL_MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
LOG = ("Bash(git log:*)",)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "secrets").mkdir()
    (folder / "src" / "a.py").touch()
    (folder / "secrets" / "key").touch()
    (tmp_path / "outside").touch()
    return folder


# --- modes


@pytest.mark.parametrize(
    ("mode", "read", "edit", "run", "read_outside", "edit_outside"),
    [
        ("default", "allow", "ask", "ask", "ask", "ask"),
        ("acceptEdits", "allow", "allow", "ask", "ask", "ask"),
        ("plan", "allow", "deny", "deny", "ask", "deny"),
        ("dontAsk", "allow", "deny", "deny", "deny", "deny"),
        ("bypassPermissions", "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_what_each_mode_lets_through_without_rules(
    workspace: Path,
    mode: Mode,
    read: str,
    edit: str,
    run: str,
    read_outside: str,
    edit_outside: str,
) -> None:
    assert on_file("Read", "src/a.py", workspace, mode=mode).behaviour == read
    assert on_file("Edit", "src/a.py", workspace, mode=mode).behaviour == edit
    assert bash("make", cwd=workspace, mode=mode).behaviour == run
    assert on_file("Read", "../outside", workspace, mode=mode).behaviour == read_outside
    assert on_file("Write", "../outside", workspace, mode=mode).behaviour == edit_outside


@pytest.mark.parametrize("mode", ALL_MODES)
def test_the_plan_never_asks(workspace: Path, mode: Mode) -> None:
    facts = CallFacts("TodoWrite", False, None, (), (), workspace, (workspace,))

    assert decide(facts, mode, rules(ask=("*",))).behaviour == "allow"
    assert decide(facts, mode, rules(deny=("TodoWrite",))).behaviour == "deny"


def of_the_talk(tool: str, mode: Mode, **lists: tuple[str, ...]) -> Verdict:
    """Decide on a call that touches nothing but how agent and user work together."""
    root = Path("/nowhere/at/all")
    facts = CallFacts(tool, tool == "AskUserQuestion", None, (), (), root, (root,))
    return decide(facts, mode, rules(**lists))


TALK = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode")


@pytest.mark.parametrize("lists", [{}, {"allow": ("*",)}, {"allow": ("ExitPlanMode",)}])
def test_a_person_decides_on_a_plan_whatever_rules_allow(
    lists: dict[str, tuple[str, ...]],
) -> None:
    verdict = of_the_talk("ExitPlanMode", "plan", **lists)

    assert (verdict.behaviour, verdict.decided_by) == ("ask", "mode")
    assert verdict.session_rule is None


@pytest.mark.parametrize("mode", [mode for mode in ALL_MODES if mode != "plan"])
def test_without_plan_mode_the_tool_itself_says_that_there_is_none(mode: Mode) -> None:
    assert of_the_talk("ExitPlanMode", mode, ask=("*",)).behaviour == "allow"


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("tool", TALK)
def test_a_deny_rule_denies_plans_and_questions_too(tool: str, mode: Mode) -> None:
    verdict = of_the_talk(tool, mode, allow=(tool,), deny=(tool,))

    assert (verdict.behaviour, verdict.decided_by) == ("deny", "rule")


@pytest.mark.parametrize("mode", [mode for mode in ALL_MODES if mode != "dontAsk"])
@pytest.mark.parametrize("tool", ["AskUserQuestion", "EnterPlanMode"])
def test_nobody_is_asked_whether_to_ask_or_to_plan(tool: str, mode: Mode) -> None:
    assert of_the_talk(tool, mode, ask=("*",)).behaviour == "allow"


@pytest.mark.parametrize("tool", ["AskUserQuestion", "EnterPlanMode"])
def test_where_nobody_is_to_be_asked_there_are_neither_questions_nor_plans(tool: str) -> None:
    verdict = of_the_talk(tool, "dontAsk", allow=("*",))

    assert (verdict.behaviour, verdict.decided_by) == ("deny", "mode")
    assert "say what you assumed" in verdict.reason


def test_plan_mode_tells_the_model_to_stay_in_it(workspace: Path) -> None:
    verdict = on_file("Edit", "src/a.py", workspace, mode="plan", allow=("Edit",), ask=("Edit",))

    assert verdict.behaviour == "deny"
    assert verdict.decided_by == "mode"
    assert "Stay in plan mode" in verdict.reason
    assert "ExitPlanMode" in verdict.reason


def test_where_nobody_is_asked_an_ask_rule_denies(workspace: Path) -> None:
    verdict = bash("git log", cwd=workspace, mode="dontAsk", allow=LOG, ask=("Bash(git:*)",))

    assert verdict.behaviour == "deny"
    assert verdict.rule == "Bash(git:*)"
    assert bash("git log", cwd=workspace, mode="dontAsk", allow=LOG).behaviour == "allow"


@pytest.mark.parametrize("tool", ["WebFetch", "WebSearch", "mcp__server__look"])
def test_tools_that_read_from_elsewhere_ask(workspace: Path, tool: str) -> None:
    facts = CallFacts(tool, True, None, (), (), workspace, (workspace,))

    assert decide(facts, "default", ()).behaviour == "ask"
    assert decide(facts, "default", rules(allow=(tool,))).behaviour == "allow"


# --- order of rules


@pytest.mark.parametrize("mode", ALL_MODES)
def test_deny_wins_over_everything(mode: Mode) -> None:
    verdict = bash("git log -p", mode=mode, allow=("Bash", *LOG), ask=LOG, deny=("Bash(git:*)",))

    assert verdict.behaviour == "deny"
    assert verdict.decided_by == "rule"


def test_ask_wins_over_allow_and_over_the_mode() -> None:
    for mode in ("default", "bypassPermissions"):
        assert bash("git log", mode=mode, allow=LOG, ask=("Bash(git *)",)).behaviour == "ask"


def test_the_reason_names_the_rule_and_its_file() -> None:
    denied = bash("git push -f", deny=("Bash(git push:*)",))
    allowed = bash("git log | wc -l", allow=(*LOG, "Bash(wc:*)"))

    assert denied.reason == f"Denied by rule Bash(git push:*) of {SOURCE}."
    assert allowed.reason == (
        f"Allowed by rule Bash(git log:*) of {SOURCE} and rule Bash(wc:*) of {SOURCE}."
    )
    assert allowed.rule == "Bash(git log:*), Bash(wc:*)"


def test_a_deny_rule_that_cannot_be_read_makes_its_tool_ask(workspace: Path) -> None:
    bad = ("Bash(rm", "Edit(../x)")

    run = bash("git log", cwd=workspace, mode="bypassPermissions", deny=bad)
    write = on_file("Write", "src/a.py", workspace, mode="acceptEdits", deny=bad)

    assert (run.behaviour, write.behaviour) == ("ask", "ask")
    assert "cannot be read" in run.reason
    assert on_file("Read", "src/a.py", workspace, deny=bad).behaviour == "allow"


def test_an_allow_rule_that_cannot_be_read_allows_nothing() -> None:
    assert bash("git log", allow=("Bash(git log", "Bash(git log; *)", "B*")).behaviour == "ask"


# --- files


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_edit_rules_cover_every_tool_that_edits(workspace: Path, tool: str) -> None:
    inside = {"allow": ("Edit(src/**)",)}

    assert on_file(tool, "src/a.py", workspace, **inside).behaviour == "allow"
    assert on_file(tool, "b.py", workspace, **inside).behaviour == "ask"
    assert on_file(tool, "src/a.py", workspace, deny=("Edit(src/**)",)).behaviour == "deny"
    assert on_file(tool, "src/a.py", workspace, deny=("Write(src/**)",)).behaviour == "deny"


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "LS", "Grep", "Glob"])
def test_what_must_not_be_read_is_not_edited_either(workspace: Path, tool: str) -> None:
    verdict = on_file(
        tool,
        "secrets/key",
        workspace,
        mode="bypassPermissions",
        allow=("Edit", "Read"),
        deny=("Read(./secrets/**)",),
    )

    assert verdict.behaviour == "deny"
    assert str(workspace / "secrets/key") in verdict.reason


def test_a_search_above_a_denied_folder_asks_unless_it_leaves_the_folder_out(
    workspace: Path,
) -> None:
    deny = {"deny": ("Read(./secrets/**)",)}
    facts = CallFacts(
        "Grep", True, None, (workspace,), (), workspace, (workspace,), filters_reads=True
    )

    assert on_file("Grep", ".", workspace, **deny).behaviour == "ask"
    assert on_file("Grep", "secrets", workspace, **deny).behaviour == "deny"
    assert on_file("Grep", "src", workspace, **deny).behaviour == "allow"
    assert on_file("LS", ".", workspace, **deny).behaviour == "allow"
    assert decide(facts, "default", rules(**deny)).behaviour == "allow"


def test_a_search_is_told_what_to_leave_out(workspace: Path) -> None:
    (workspace / "link").symlink_to(workspace / "secrets" / "key")
    leaves_out = unreadable(
        rules(deny=("Read(./secrets/**)",), ask=("Read(*.env)",), allow=("Read(x)",)),
        workspace,
        (workspace,),
    )

    assert leaves_out(workspace / "secrets" / "key")
    assert leaves_out(workspace / "link")
    assert leaves_out(workspace / "src" / "x.env")
    assert not leaves_out(workspace / "src" / "a.py")


def test_commands_that_name_a_denied_file_are_denied(workspace: Path) -> None:
    lists = {"allow": ("Bash",), "deny": ("Read(./secrets/**)", "Edit(src/**)")}

    assert bash("cat secrets/key", cwd=workspace, **lists).behaviour == "deny"
    assert bash("x --file=./src/../secrets/key", cwd=workspace, **lists).behaviour == "deny"
    assert bash("x > src/a.py", cwd=workspace, **lists).behaviour == "deny"
    assert bash("cat src/a.py", cwd=workspace, **lists).behaviour == "ask"
    assert bash("cat s*/key", cwd=workspace, **lists).behaviour == "ask"
    assert bash("cd src && cat a.py", cwd=workspace, **lists).behaviour == "ask"
    assert bash("cat README", cwd=workspace, **lists).behaviour == "allow"


def test_links_out_of_the_workspace_do_not_carry_rights_along(workspace: Path) -> None:
    (workspace / "src" / "out").symlink_to(workspace.parent)
    path = "src/out/outside"
    lists = {"allow": ("Edit(src/**)", "Read(src/**)")}

    read = on_file("Read", path, workspace, **lists)

    assert read.behaviour == "ask"
    assert str(workspace.parent / "outside") in read.reason
    assert read.session_rule is None
    assert on_file("Write", path, workspace, mode="acceptEdits", **lists).behaviour == "ask"
    assert on_file("Write", "src/../../outside", workspace, **lists).behaviour == "ask"


def test_links_into_a_denied_folder_are_denied(workspace: Path) -> None:
    (workspace / "harmless").symlink_to(workspace / "secrets")
    lists = {"allow": ("Read",), "deny": ("Read(./secrets/**)",)}

    assert on_file("Read", "harmless/key", workspace, **lists).behaviour == "deny"
    assert bash(
        "cat harmless/key", cwd=workspace, allow=("Bash",), deny=lists["deny"]
    ).behaviour == ("deny")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        "src/.git",
        ".GIT/config",
        ".agentls/settings.json",
        ".claude/settings.json",
        ".vscode/tasks.json",
        ".husky/pre-push",
        ".mcp.json",
        "src/.bashrc",
        "/home/somebody/.zshrc",
    ],
)
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_protected_files_always_ask(workspace: Path, path: str, mode: Mode) -> None:
    write = on_file("Write", path, workspace, mode=mode, allow=("Edit", f"Edit({path})"))
    run = bash(f"cp x {path}", cwd=workspace, mode=mode, allow=("Bash",))
    redirect = bash(f"echo x >{path}", cwd=workspace, mode=mode, allow=("Bash",))

    assert (write.behaviour, run.behaviour, redirect.behaviour) == ("ask", "ask", "ask")
    assert write.session_rule is None
    assert run.session_rule is None


def test_a_link_to_a_protected_file_is_protected(workspace: Path) -> None:
    (workspace / ".git").mkdir()
    (workspace / "innocent").symlink_to(workspace / ".git")

    assert on_file("Write", "innocent/config", workspace, mode="acceptEdits").behaviour == "ask"


def test_protected_files_can_be_read(workspace: Path) -> None:
    assert on_file("Read", ".git/config", workspace).behaviour == "allow"
    assert bash("cat .git/config", cwd=workspace, allow=("Bash(cat:*)",)).behaviour == "allow"


def test_folders_can_be_protected_by_their_place(workspace: Path) -> None:
    place = workspace / "src"
    facts = CallFacts(
        "Write", False, None, (), (place / "x",), workspace, (workspace,), protected=(place,)
    )

    assert decide(facts, "bypassPermissions", ()).behaviour == "ask"


# --- what an approval for the session adds


def test_an_approved_command_is_allowed_again_and_no_other(workspace: Path) -> None:
    rule = bash("pytest -q 'a b' && make; ls", cwd=workspace).session_rule

    assert rule == "Bash(pytest -q 'a b' && make ; ls)"
    for command, behaviour in [
        ("pytest -q 'a b' && make; ls", "allow"),
        ("pytest -q a\\ b &&   make\nls 2>&1", "allow"),
        ("pytest -q a b && make; ls", "ask"),
        ("pytest -q 'a b' || make; ls", "ask"),
        ("pytest -q 'a b' && make; ls; ls", "ask"),
        ("make", "ask"),
    ]:
        assert bash(command, cwd=workspace, allow=(rule,)).behaviour == behaviour


@pytest.mark.parametrize("command", ["rm *", "rm '*'", "rm $x", "a > b", "ls ~", "f 'a\nb'"])
def test_no_rule_is_offered_for_a_command_that_may_mean_another_thing_later(command: str) -> None:
    verdict = bash(command)

    assert verdict.behaviour == "ask"
    assert verdict.session_rule is None


def test_no_rule_is_offered_where_a_rule_asks() -> None:
    assert bash("git push", ask=("Bash(git push:*)",)).session_rule is None


def test_an_approved_edit_opens_that_file_alone(workspace: Path) -> None:
    rule = on_file("Edit", "src/a.py", workspace).session_rule

    assert rule == "Edit(/src/a.py)"
    assert on_file("Write", "src/a.py", workspace, allow=(rule,)).behaviour == "allow"
    assert on_file("Write", "src/b.py", workspace, allow=(rule,)).behaviour == "ask"
    assert on_file("Write", "x/src/a.py", workspace, allow=(rule,)).behaviour == "ask"


@pytest.mark.parametrize("name", ["*", "a[b]", "!x", "#x", "a\\b", "a b ", "ü", "a?", "(x)", "~"])
def test_a_strange_file_name_is_written_as_a_rule_for_it_alone(workspace: Path, name: str) -> None:
    rule = on_file("Write", name, workspace).session_rule

    assert rule is not None
    assert on_file("Write", name, workspace, allow=(rule,)).behaviour == "allow"
    assert on_file("Write", "other", workspace, allow=(rule,)).behaviour == "ask"


def test_an_approved_read_outside_opens_that_file_alone(workspace: Path) -> None:
    outside = workspace.parent / "outside"
    rule = on_file("Read", outside, workspace).session_rule

    assert rule == f"Read(/{outside})"
    assert on_file("Read", outside, workspace, allow=(rule,)).behaviour == "allow"
    assert on_file("Read", f"{outside}2", workspace, allow=(rule,)).behaviour == "ask"


def test_an_approved_fetch_opens_its_host(workspace: Path) -> None:
    def fetch(url: str, **lists: tuple[str, ...]) -> str | None:
        facts = CallFacts("WebFetch", True, None, (), (), workspace, (workspace,), url=url)
        verdict = decide(facts, "default", rules(**lists))
        return verdict.session_rule if verdict.behaviour == "ask" else verdict.behaviour

    rule = fetch("https://docs.x.org/a")
    assert rule == "WebFetch(domain:docs.x.org)"
    assert fetch("http://docs.x.org:80/b", allow=(rule,)) == "allow"
    assert fetch("https://docs.x.org@evil.org/", allow=(rule,)) == "WebFetch(domain:evil.org)"
    assert fetch("https://a.x.org/", deny=("WebFetch(domain:*.x.org)",)) == "deny"


COMMANDS = st.lists(
    st.sampled_from(["ls", "a b", "'x y'", "&&", "||", "|", ";", "\n", "2>&1", '"q"', "\\;", "-n"]),
    min_size=1,
    max_size=8,
).map(" ".join)


@given(COMMANDS)
def test_an_offered_rule_always_allows_what_was_asked(command: str) -> None:
    rule = bash(command).session_rule
    if rule is not None:
        assert bash(command, allow=(rule,)).behaviour == "allow"
        assert bash(command + "; other", allow=(rule,)).behaviour == "ask"
