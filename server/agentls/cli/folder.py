"""The folder a command works in."""

from pathlib import Path

from agentls.errors import WorkspaceUnusable


def absolute_folder(folder: Path) -> Path:
    """Return `folder` as an absolute path. Raises `WorkspaceUnusable` in a deleted one."""
    try:
        return folder.absolute()
    except OSError as error:
        raise WorkspaceUnusable(
            f"the current folder cannot be used ({error.strerror}): it may have been deleted; "
            "change to another, or name one by its full path with --cwd"
        ) from error
