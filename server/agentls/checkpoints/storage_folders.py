"""How a folder of contents is laid out."""

import os
import re
from pathlib import Path

from agentls.errors import ContentMissing

FOLDER_MODE = 0o700
REFERENCES = "references"
"""Holds a file for each session, with a hash in each line."""
UNFINISHED = "unfinished"
"""Holds what is being copied; also how files begin that have no name yet."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """Whether this is a hash as contents are named by."""
    return bool(_SHA256.fullmatch(text))


def object_parts(sha256: str) -> tuple[str, str]:
    """Return a content's folder and name. Raises `ContentMissing` for what is no hash.

    Hashes come from logs, which may be damaged or forged: none may lead out of the folder.
    """
    if not is_sha256(sha256):
        raise ContentMissing(f"{sha256[:80]!r} is no content's hash")
    return sha256[:2], sha256[2:]


def open_folder(path: str | Path, *, dir_fd: int | None = None) -> int:
    """Open a folder that is no link. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
