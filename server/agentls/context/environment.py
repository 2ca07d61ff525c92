"""Where the agent finds itself: platform, shell, git branch. Never secrets."""

import os
import platform
from pathlib import Path


def platform_name() -> str:
    """Return the operating system and its release: "Linux 6.1"."""
    return f"{platform.system()} {platform.release()}"


def shell_name() -> str:
    """Return the user's shell, by its last name: "zsh"."""
    return Path(os.environ.get("SHELL") or "sh").name


def git_branch(folder: Path) -> str | None:
    """Return the branch checked out at `folder` or above it; a short hash where it is detached."""
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        try:
            if dot_git.is_file():  # a linked worktree or a submodule
                pointer = dot_git.read_text(encoding="utf-8")
                dot_git = place / pointer.removeprefix("gitdir:").strip()
            if dot_git.is_dir():
                return _branch_in((dot_git / "HEAD").read_text(encoding="utf-8").strip())
        except (OSError, UnicodeDecodeError):
            return None
    return None


def _branch_in(head: str) -> str:
    if head.startswith("ref:"):
        return head.removeprefix("ref: refs/heads/")
    return head[:12]
