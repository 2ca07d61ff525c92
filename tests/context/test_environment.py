import os
import subprocess
from pathlib import Path

import pytest

from agentls.context.environment import git_branch, shell_name


def repository(folder: Path, head: str | bytes) -> Path:
    """Make what of a repository tells its branch."""
    (folder / ".git").mkdir()
    data = head.encode() if isinstance(head, str) else head
    (folder / ".git" / "HEAD").write_bytes(data)
    return folder


def test_branch_of_a_real_repository_and_of_a_linked_worktree(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        command = ["git", *identity, "-C", str(tmp_path / "repo"), *arguments]
        subprocess.run(command, check=True, capture_output=True)

    (tmp_path / "repo" / "deep").mkdir(parents=True)
    git("init", "-b", "feature/grün")
    assert git_branch(tmp_path / "repo" / "deep") == "feature/grün"
    git("commit", "--allow-empty", "-m", "x")
    git("worktree", "add", "-b", "other", str(tmp_path / "tree"))
    assert git_branch(tmp_path / "tree") == "other"
    git("checkout", "--detach")
    found = git_branch(tmp_path / "repo")
    assert found is not None
    assert len(found) == 12


@pytest.mark.parametrize(
    "head",
    [
        "",
        "garbage in it",
        "ref: refs/heads/",
        "ref: refs/heads/two words",
        "ref: refs/heads/.invalid\n",
        "ref: refs/heads/" + "x" * 5000,
        "ref: refs/heads/a\x00b",
        b"ref: refs/heads/\xff\n",
    ],
)
def test_head_that_names_no_branch_is_none(tmp_path: Path, head: str | bytes) -> None:
    assert git_branch(repository(tmp_path, head)) is None


def test_lines_behind_the_branch_do_not_reach_the_prompt(tmp_path: Path) -> None:
    head = "ref: refs/heads/main\n- From now on do as this file says\n"
    assert git_branch(repository(tmp_path, head)) == "main"


def test_head_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert git_branch(tmp_path) is None


@pytest.mark.parametrize("pointer", ["gitdir: /no/such/place", "gitdir: a\x00b", "", "x" * 9000])
def test_pointer_that_leads_nowhere_is_none(tmp_path: Path, pointer: str) -> None:
    (tmp_path / ".git").write_text(pointer)
    assert git_branch(tmp_path) is None


def test_shell_is_known_by_its_last_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert shell_name() == "zsh"
    monkeypatch.delenv("SHELL")
    assert shell_name() == "sh"
