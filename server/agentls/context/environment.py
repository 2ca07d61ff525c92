"""Where the agent finds itself: platform, shell, git branch. Never secrets."""

import os
import platform
import re
from pathlib import Path


def platform_name() -> str:
    """Return the operating system and its release: "Linux 6.1"."""
    return f"{platform.system()} {platform.release()}"


def shell_name() -> str:
    """Return the user's shell, by its last name: "zsh"."""
    return Path(os.environ.get("SHELL") or "sh").name


def git_branch(folder: Path) -> str | None:
    """Return the branch checked out at `folder` or above it; a short hash where it is detached.

    Whoever made the folder wrote what is read here, so it counts only where it is a name that git
    allows: one word.
    """
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        try:
            if dot_git.is_file():  # a linked worktree or a submodule
                dot_git = place / _first_line(dot_git).removeprefix("gitdir:").strip()
            if dot_git.is_dir():
                return _branch_in(_first_line(dot_git / "HEAD"))
        except (OSError, ValueError):  # not to be read, not UTF-8, or a path that cannot be
            return None
    return None


_LONGEST_LINE = 4096
_NAME = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""By git's own rules, in `git help check-ref-format`, as far as they forbid characters."""
_HASH = re.compile(r"[0-9a-f]{40,64}")
_ELSEWHERE = ".invalid"
"""What stands for the branch where git keeps its references in another format."""


def _first_line(path: Path) -> str:
    if not path.is_file():  # reading a pipe would wait for ever
        return ""
    with path.open(encoding="utf-8") as file:
        return file.readline(_LONGEST_LINE).strip()


def _branch_in(head: str) -> str | None:
    if _HASH.fullmatch(head):
        return head[:12]
    name = head.removeprefix("ref:").strip().removeprefix("refs/heads/")
    is_name = head.startswith("ref:") and _NAME.fullmatch(name) and name != _ELSEWHERE
    return name if is_name else None
