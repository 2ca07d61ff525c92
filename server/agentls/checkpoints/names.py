"""How paths are written in changes, and how they are found again."""

import os
from urllib.parse import quote_from_bytes, unquote_to_bytes

from agentls.protocol.content import FileChange


def shown(path: str, cwd: str) -> str:
    """Return `path` relative to `cwd` where it lies inside, else whole; always valid Unicode."""
    return os.fsencode(_relative(path, cwd)).decode("utf-8", "replace")


def raw(path: str, cwd: str) -> str | None:
    """Return what `shown` cannot say: the bytes, percent-encoded, of a path that is no Unicode."""
    data = os.fsencode(_relative(path, cwd))
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return quote_from_bytes(data)
    return None


def path_of(change: FileChange, cwd: str) -> str:
    """Return the absolute path of the file that a change is about."""
    name = change.path
    if change.raw_path is not None:
        name = os.fsdecode(unquote_to_bytes(change.raw_path))
    return os.path.normpath(name if name.startswith("/") else f"{cwd}/{name}")


def _relative(path: str, cwd: str) -> str:
    inside = f"{cwd.rstrip('/')}/"
    return path[len(inside) :] if path.startswith(inside) else path
