"""Walks a folder as git sees it: without `.git`, and without what `.gitignore` files leave out."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILE = ".gitignore"
NEVER = ".git"


@dataclass(frozen=True, slots=True)
class _Rules:
    """What one `.gitignore` says."""

    base: str
    """The folder it lies in, with `/` at its end."""
    spec: GitIgnoreSpec


def walk(root: Path, *, ignored_too: bool = False) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what lies under `root`, folders apart, with its path relative to it, in order.

    Links are yielded and not followed. Folders that cannot be read are passed over.
    """
    start = f"{root.as_posix().rstrip('/')}/"
    rules = () if ignored_too else _rules_above(root)
    if rules and _ignored(start, rules):
        # Whoever names a folder wants to see into it.
        rules = ()
    yield from _walk(start, len(start), rules, ignored_too)


def is_left_out(folder: Path) -> bool:
    """Whether a `.gitignore` above says that `folder` itself is not looked into."""
    return _ignored(f"{folder.as_posix().rstrip('/')}/", _rules_above(folder))


def _walk(
    folder: str, cut: int, rules: tuple[_Rules, ...], ignored_too: bool
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if not ignored_too and (own := _rules_in(folder)):
        rules = (*rules, own)
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in ordered:
        if entry.name == NEVER:
            continue
        path = folder + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if _ignored(f"{path}/" if is_folder else path, rules):
            continue
        if is_folder:
            yield from _walk(f"{path}/", cut, rules, ignored_too)
        else:
            yield path[cut:], entry


def _ignored(path: str, rules: tuple[_Rules, ...]) -> bool:
    """Whether the rules leave `path` out; the nearest file that mentions it decides."""
    for rule in reversed(rules):
        verdict = rule.spec.check_file(path[len(rule.base) :]).include
        if verdict is not None:
            return verdict
    return False


def _rules_above(root: Path) -> tuple[_Rules, ...]:
    """Read the files in the folders above, up to the one that holds `.git`."""
    found: list[_Rules] = []
    folder = root
    while not (folder / NEVER).exists() and folder.parent != folder:
        folder = folder.parent
        if rules := _rules_in(f"{folder.as_posix().rstrip('/')}/"):
            found.append(rules)
    return tuple(reversed(found))


def _rules_in(folder: str) -> _Rules | None:
    try:
        data = Path(folder, IGNORE_FILE).read_bytes()
    except OSError:
        return None
    lines = [line.removesuffix("\r") for line in data.decode("utf-8", "replace").split("\n")]
    return _Rules(folder, GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line)))


def _is_pattern(line: str) -> bool:
    """Whether git would take the line; it passes over what is no pattern."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
