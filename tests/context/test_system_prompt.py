from pathlib import Path

from agentls.context.system_prompt import PromptSettings, system_prompt

CWD = Path("/work")


def prompt(
    instructions: str = "",
    settings: PromptSettings | None = None,
    roots: tuple[Path, ...] = (CWD,),
    branch: str | None = "main",
) -> str:
    """Return the prompt of a session in `CWD`."""
    return system_prompt(
        CWD,
        roots,
        platform="Linux 6.1",
        shell="zsh",
        git_branch=branch,
        date="2026-11-30",
        settings=settings or PromptSettings(),
        instructions=instructions,
    )


def test_parts_come_in_the_order_of_how_seldom_they_change() -> None:
    text = prompt("# AGENTS.md\nUse tabs.", PromptSettings(appendix="Be brief."))
    titles = ["How you work", "Where you work", "Instructions of this project", "Use tabs.", "Be"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    assert text.endswith("\n\n# AGENTS.md\nUse tabs.\n\nBe brief.")


def test_what_comes_before_the_instructions_is_the_same_with_and_without_them() -> None:
    assert prompt("# AGENTS.md\nUse tabs.").startswith(f"{prompt()}\n\n")
    assert prompt() == prompt(" \n")
    assert "Instructions of this project" not in prompt()


def test_instructions_win_over_our_defaults_and_not_over_permissions() -> None:
    section = prompt("# AGENTS.md\nUse tabs.").partition("Instructions of this project")[2]
    assert "they win" in section
    assert "what a rule denies stays denied" in section


def test_replaced_prompt_keeps_the_instructions() -> None:
    text = prompt("# AGENTS.md\nUse tabs.", PromptSettings("You are a parrot.", "Say it twice."))
    assert text.startswith("You are a parrot.\n\nInstructions of this project")
    assert text.endswith("Use tabs.\n\nSay it twice.")
    assert prompt("", PromptSettings("You are a parrot.")) == "You are a parrot."


def test_surroundings_name_every_folder_once_and_the_branch() -> None:
    text = prompt(roots=(CWD, Path("/other")))
    assert "- Working folder: /work\n- Also in the workspace: /other\n" in text
    assert text.count("/work") == 1
    assert "Git branch at the start: main" in text
    assert "Not a git repository" in prompt(branch=None)


def test_ways_to_ask_to_plan_and_to_wait_are_told() -> None:
    for name in ("AskUserQuestion", "EnterPlanMode", "TodoWrite", "background"):
        assert name in prompt()
