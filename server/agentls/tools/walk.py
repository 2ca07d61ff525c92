"""Walks a folder as git sees it: without `.git`, and without what `.gitignore` files leave out."""

import os
from collections.abc import Iterator
from pathlib import Path

from agentls.ignore_rules import (
    GIT,
    IgnoreRules,
    is_ignored,
    is_within_ignored,
    rules_above,
    rules_in,
)


def walk(root: Path, *, ignored_too: bool = False) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what lies under `root`, folders apart, with its path relative to it, in order.

    Links are yielded and not followed. Folders that cannot be read are passed over.
    """
    start = f"{root.as_posix().rstrip('/')}/"
    rules = () if ignored_too else rules_above(root)
    if is_within_ignored(start, rules):
        # Whoever names a folder wants to see into it.
        rules = ()
    yield from _walk(start, len(start), rules, ignored_too)


def is_left_out(folder: Path) -> bool:
    """Whether a `.gitignore` above says that `folder` itself is not looked into."""
    return is_within_ignored(f"{folder.as_posix().rstrip('/')}/", rules_above(folder))


def _walk(
    folder: str, cut: int, rules: tuple[IgnoreRules, ...], ignored_too: bool
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    if not ignored_too and (own := rules_in(folder)):
        rules = (*rules, own)
    try:
        with os.scandir(folder) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in ordered:
        if entry.name == GIT:
            continue
        path = folder + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_ignored(f"{path}/" if is_folder else path, rules):
            continue
        if is_folder:
            yield from _walk(f"{path}/", cut, rules, ignored_too)
        else:
            yield path[cut:], entry
