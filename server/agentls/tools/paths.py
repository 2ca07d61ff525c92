"""What a path in a tool's arguments means, and how a path is shown to model and person."""

import os
from pathlib import Path


def absolute(path: str, cwd: Path) -> Path:
    """Return the absolute path that `path` names, starting at `cwd`; `~` is the user's home.

    A symbolic link stays as it is written, but for paths with `..` in them: there only the system
    knows which folder is above.
    """
    joined = cwd / Path(os.path.expanduser(path))  # noqa: PTH111  Path.expanduser raises
    if ".." in joined.parts:
        return Path(os.path.realpath(joined))
    return joined


def exists(path: Path) -> bool:
    """Whether something is there; what cannot be a path is not."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def shown(path: Path, cwd: Path) -> str:
    """Return `path` relative to `cwd` where it lies inside, else whole; always valid Unicode."""
    inside = path.is_relative_to(cwd) and path != cwd
    return printable(path.relative_to(cwd) if inside else path)


def printable(path: str | Path) -> str:
    """Return the path as text that can be sent: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_variable(name: str) -> str:
    """Return the session variable that holds what was last read of a file, named as `shown` does.

    That is relative inside of the working folder, so that a session survives its being moved.
    """
    return f"Read:{name}"
