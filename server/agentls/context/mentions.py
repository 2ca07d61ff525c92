"""Brings along what a prompt mentions with an @: files, lines of them, symbols, folders."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from agentls.context.attachments import attached, is_attachable
from agentls.context.excerpts import MOST_LINES, MOST_TOKENS, Excerpt, excerpt
from agentls.context.mention_syntax import Mention, find_mentions
from agentls.context.mention_targets import Target, targets
from agentls.context.symbols import MOST_DEFINITIONS, definitions
from agentls.context.workspace_symbols import find_symbol
from agentls.errors import BadAttachment
from agentls.ignore_rules import GIT, is_ignored, is_within_ignored, rules_above, rules_in
from agentls.protocol.content import Content, FileBlock, text_of
from agentls.state.measure import tokens_of_content
from agentls.tools import read
from agentls.tools.files import Files
from agentls.tools.paths import printable, shown

__all__ = ["Mention", "expand", "find_mentions"]

MOST_MENTIONS = 100
MOST_SEARCHES = 10
"""For symbols anywhere; each may take seconds."""
MOST_NAMES = 200
"""Of a folder."""
MOST_NAMES_READ = 20_000
MOST_SYMBOL_LINES = 300
"""Of one definition."""
NO_ROOM = "It is not included: there is no room for it in this prompt."


async def expand(
    mentions: Iterable[Mention],
    *,
    cwd: Path,
    roots: Sequence[Path],
    files: Files,
    unreadable: Callable[[Path], bool],
    budget_tokens: int,
) -> tuple[Content, ...]:
    """Return a block for each thing that is mentioned and there, in order, each once.

    What is not there is no mention. What is there and cannot be brought along, or not whole, is
    a block that says so in `left_out`. All blocks together take about `budget_tokens`, but for
    what is said of those that have no room. Paths are absolute; `unreadable` is called in threads.
    """
    found = await asyncio.to_thread(targets, mentions, cwd, roots, unreadable)
    folders = tuple(dict.fromkeys((cwd, *roots)))
    expansion = _Expansion(cwd, folders, files, unreadable, budget_tokens)
    blocks: list[Content] = []
    for target in found[:MOST_MENTIONS]:
        for block in await expansion.blocks(target):
            blocks.append(expansion.within_budget(block, target))
    if len(found) > MOST_MENTIONS:
        more = len(found) - MOST_MENTIONS
        why = f"It is not included, nor is what {more - 1:,} mentions behind it name: a prompt "
        why += f"brings {MOST_MENTIONS} along at most."
        blocks.append(expansion.nothing(found[MOST_MENTIONS], why))
    return tuple(blocks)


@dataclass(slots=True)
class _Expansion:
    """Makes the blocks of one prompt, one after the other."""

    cwd: Path
    folders: tuple[Path, ...]
    files: Files
    unreadable: Callable[[Path], bool]
    left: int
    """Tokens."""
    searches_left: int = MOST_SEARCHES

    async def blocks(self, target: Target) -> Sequence[Content]:
        if target.refused is not None:
            return [self.nothing(target, target.refused)]
        if not self.left:
            return [self.nothing(target, NO_ROOM)]
        if target.symbol is not None and target.is_folder:
            return await self._symbol_anywhere(target)
        if target.is_folder:
            return [await self._folder(target)]
        return await self._file(target)

    def within_budget(self, block: Content, target: Target) -> Content:
        """Take what the block needs off the budget, or return one that says there is no room."""
        tokens = tokens_of_content((block,))
        # A text was cut to what is left; a picture cannot be.
        if tokens > self.left and not isinstance(block, FileBlock):
            return self.nothing(target, NO_ROOM)
        self.left = max(0, self.left - tokens)
        return block

    def nothing(self, target: Target, why: str) -> FileBlock:
        """Return a block without any text."""
        return FileBlock(
            what=_kind(target),
            path=self._shown(target.path),
            text="",
            symbol=target.symbol,
            first_line=target.first_line,
            last_line=target.last_line,
            left_out=why,
        )

    async def _file(self, target: Target) -> list[Content]:
        path = target.path
        try:
            data = (await self.files.read(path)).data
        except (OSError, ValueError) as error:
            why = read.unreadable(path, error, self.cwd)
            return [self.nothing(target, text_of(why.content))]
        name = self._shown(path)
        if is_attachable(data):
            try:
                return [await attached(data, printable(path.name), name)]
            except BadAttachment as error:
                return [self.nothing(target, str(error))]
        if refusal := read.not_text(name, data):
            return [self.nothing(target, text_of(refusal.content))]
        if target.symbol is not None:
            found = await self._definitions(target, path, data, self.left)
            why = f"There is no definition of {target.symbol} in it."
            return [*found] or [self.nothing(target, why)]
        first, last = target.first_line or 1, target.last_line
        lines = await self._excerpt(data, first, last, MOST_LINES, self.left)
        return [self._block(target, path, lines)]

    async def _definitions(
        self, target: Target, path: Path, data: bytes, room: int
    ) -> list[FileBlock]:
        text, symbol = data.decode("utf-8", "replace"), target.symbol or ""
        blocks: list[FileBlock] = []
        for place in await asyncio.to_thread(definitions, text, path.suffix.lower(), symbol):
            lines = (place.first_line, place.last_line)
            cut = await self._excerpt(data, *lines, MOST_SYMBOL_LINES, room)
            blocks.append(self._block(target, path, cut))
            room = max(0, room - tokens_of_content(blocks[-1:]))
        return blocks

    async def _symbol_anywhere(self, target: Target) -> list[FileBlock]:
        folders = self.folders if target.everywhere else (target.path,)
        symbol = target.symbol or ""
        if not self.searches_left:
            why = f"{symbol} was not looked for: a prompt has at most {MOST_SEARCHES} searches."
            return [self.nothing(target, why)]
        self.searches_left -= 1
        stop = threading.Event()
        try:
            sighting = await asyncio.to_thread(find_symbol, symbol, folders, self.unreadable, stop)
        finally:
            # A thread cannot be cancelled, only told.
            stop.set()
        blocks: list[FileBlock] = []
        for path in sighting.paths:
            room = max(0, self.left - tokens_of_content(blocks))
            # What an editor shows may differ from what was searched.
            with suppress(OSError, ValueError):
                data = (await self.files.read(path)).data
                blocks += await self._definitions(target, path, data, room)
        if blocks:
            kept = blocks[:MOST_DEFINITIONS]
            return [*kept[:-1], _with_note(kept[-1], sighting.partial)]
        if target.everywhere and not sighting.partial:
            return []
        why = f"No definition of {symbol} was found."
        return [self.nothing(target, " ".join(filter(None, [why, sighting.partial])))]

    async def _folder(self, target: Target) -> FileBlock:
        try:
            names, note = await asyncio.to_thread(_names, target.path)
        except OSError as error:
            why = read.unreadable(target.path, error, self.cwd)
            return self.nothing(target, text_of(why.content))
        if not names:
            return self.nothing(target, "The folder is empty, or .gitignore leaves out all of it.")
        lines = await self._excerpt("\n".join(names).encode(), 1, None, MOST_NAMES, self.left)
        if lines.last_line != len(names):
            note = NO_ROOM if not lines.text else f"Only {lines.last_line} names have room."
        return FileBlock(
            what="folder", path=self._shown(target.path), text=lines.text, left_out=note
        )

    async def _excerpt(
        self, data: bytes, first: int, last: int | None, most_lines: int, room: int
    ) -> Excerpt:
        room = min(MOST_TOKENS, room)

        def cut_out() -> Excerpt:
            return excerpt(data, first, last, most_lines=most_lines, most_tokens=room)

        is_large = len(data) > read.IN_A_THREAD
        return await asyncio.to_thread(cut_out) if is_large else cut_out()

    def _block(self, target: Target, path: Path, lines: Excerpt) -> FileBlock:
        return FileBlock(
            what=_kind(target),
            path=self._shown(path),
            text=lines.text,
            symbol=target.symbol,
            first_line=lines.first_line or target.first_line,
            last_line=lines.last_line or target.last_line,
            left_out=lines.left_out,
        )

    def _shown(self, path: Path) -> str:
        return "." if path == self.cwd else shown(path, self.cwd)


def _kind(target: Target) -> Literal["file", "range", "symbol", "folder"]:
    if target.symbol is not None:
        return "symbol"
    if target.is_folder:
        return "folder"
    return "file" if target.first_line is None else "range"


def _with_note(block: FileBlock, note: str | None) -> FileBlock:
    left_out = " ".join(filter(None, [block.left_out, note])) or None
    return block.model_copy(update={"left_out": left_out})


def _names(folder: Path) -> tuple[list[str], str | None]:
    """Return what lies in a folder, folders first and with a slash, and what is missing."""
    start = f"{folder.as_posix().rstrip('/')}/"
    rules = rules_above(folder)
    if is_within_ignored(start, rules):
        # Whoever names a folder wants to see into it.
        rules = ()
    elif own := rules_in(start):
        rules = (*rules, own)
    folders: list[str] = []
    names: list[str] = []
    with os.scandir(folder) as entries:
        seen = [*islice(entries, MOST_NAMES_READ + 1)]
    for entry in seen[:MOST_NAMES_READ]:
        is_folder = _is_folder(entry)
        path = f"{start}{entry.name}/" if is_folder else start + entry.name
        if entry.name == GIT or is_ignored(path, rules):
            continue
        if is_folder:
            folders.append(f"{printable(entry.name)}/".replace("\n", "\ufffd"))
        else:
            names.append(printable(entry.name).replace("\n", "\ufffd"))
    found = sorted(folders) + sorted(names)
    if len(found) <= MOST_NAMES:
        return found, None
    more = "more than " if len(seen) > MOST_NAMES_READ else ""
    total = f"{more}{len(found):,}"
    return found[:MOST_NAMES], f"These are the first {MOST_NAMES} of {total} names; LS shows more."


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False
