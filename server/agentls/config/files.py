"""Reads and changes one JSON file of settings without ever losing what is in it.

Reading accepts comments. A file that cannot be read whole is never written over.
"""

import copy
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agentls.errors import BadSettings, StorageError
from agentls.protocol.wire_model import JsonObject

LARGEST = 4 * 1024 * 1024
"""Bytes; what is larger is no settings file."""
LOCK_SECONDS = 10.0


class DamagedFile(BadSettings):
    """A file cannot be read whole; `line` is where it goes wrong, or None."""

    def __init__(self, path: Path, line: int | None, message: str) -> None:
        place = f"{path}, line {line}" if line else str(path)
        super().__init__(f"{place}: {message}. Correct the file, or move it away.")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A file's content."""

    values: JsonObject
    text: str
    has_comments: bool

    def line_of(self, *texts: str) -> int | None:
        """Return the line where the JSON strings `texts` are found one after another, or None."""
        position = 0
        for text in texts:
            position = self.text.find(json.dumps(text, ensure_ascii=False), position)
            if position < 0:
                return None
        return self.text.count("\n", 0, position) + 1


def read_json(path: Path) -> JsonFile | None:
    """Return the file's content, None where there is no file. Raises DamagedFile."""
    try:
        # A pipe or device would be waited on without end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise DamagedFile(path, None, "this is not a file")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DamagedFile(path, None, f"it cannot be read ({error.strerror})") from error
    if len(data) > LARGEST:
        raise DamagedFile(path, None, "it is larger than 4 MiB")
    return _parsed(path, data)


def update_json(path: Path, change: Callable[[JsonObject], JsonObject]) -> bool:
    """Replace the file's content by what `change` makes of it; return whether that was needed.

    `change` is given what is in the file now, {} where there is none, and other processes wait
    meanwhile. Blocks for up to LOCK_SECONDS. Raises BadSettings for a file that must not be
    written, StorageError where the disk refuses; the file is then as it was.
    """
    target = Path(os.path.realpath(path))
    # Imported late: only who writes settings needs it, and an editor waits for the start.
    from filelock import FileLock, Timeout

    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(f"{target}.lock", timeout=LOCK_SECONDS, mode=0o600):
            return _update(target, change)
    except Timeout as error:
        raise StorageError(
            f"{path} was not written: another process holds {target}.lock. Try again."
        ) from error
    except OSError as error:
        raise StorageError(f"{path} was not written: {error.strerror or error}.") from error


def _update(path: Path, change: Callable[[JsonObject], JsonObject]) -> bool:
    file = read_json(path)
    before = file.values if file else {}
    after = change(copy.deepcopy(before))
    try:
        if _canonical(after) == _canonical(before):
            return False
        data = json.dumps(after, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise BadSettings(f"{path} was not written: its values are not JSON ({error}).") from error
    if file is not None and file.has_comments:
        raise BadSettings(
            f"{path} was not written: it holds comments, which would be lost."
            " Make the change by hand, or remove the comments."
        )
    # Half a surrogate pair can stand in JSON as an escape, but not in UTF-8.
    _replace(path, data.encode("utf-8", "backslashreplace"))
    return True


def _canonical(values: JsonObject) -> str:
    return json.dumps(values, sort_keys=True, allow_nan=False)


def _replace(path: Path, data: bytes) -> None:
    """Write `data` beside `path`, make sure that it is on the disk, and put it in its place."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _parsed(path: Path, data: bytes) -> JsonFile:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DamagedFile(path, line, "it is not UTF-8") from error
    bare = _COMMENT_OR_STRING.sub(_without_comment, text)
    if not bare.strip():
        raise DamagedFile(path, None, "it is empty; an empty setting is written {}")
    try:
        values = json.loads(bare, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise DamagedFile(path, error.lineno, f"it is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DamagedFile(path, None, f"it is not usable JSON: {error}") from error
    if not isinstance(values, dict):
        raise DamagedFile(path, 1, "it must hold one JSON object")
    return JsonFile(cast("JsonObject", values), text, has_comments=bare != text)


def _without_comment(match: re.Match[str]) -> str:
    """Return a string as it is, and blanks in place of a comment, so that lines keep their number.

    Raises nothing: an open string or comment stays and is found by the JSON parser.
    """
    found = match[0]
    return found if found.startswith('"') else re.sub(r"[^\n]", " ", found)


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return values


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/')
