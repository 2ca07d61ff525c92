"""Searches the workspace for the files that define a symbol. Blocking."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentls.context.symbols import LARGEST_SOURCE, MOST_DEFINITIONS, definitions

MOST_FILES = 5_000
MOST_SECONDS = 2.0
_SOURCES = (
    ".bash .c .cc .cjs .clj .cpp .cs .css .cxx .d .dart .ex .exs .fs .go .h .hh .hpp .hs .inl "
    ".java .jl .js .jsx .kt .kts .lua .m .mjs .ml .mm .mts .nim .php .pl .pm .proto .ps1 .py .pyi "
    ".r .rb .rs .scala .sh .sql .svelte .swift .ts .tsx .v .vue .zig .zsh"
)
SOURCES = frozenset(_SOURCES.split())
"""Endings of files in which definitions are looked for."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a symbol is defined, as far as was looked."""

    paths: tuple[Path, ...]
    partial: str | None
    """Why there may be more."""


def find_symbol(
    symbol: str,
    folders: Sequence[Path],
    unreadable: Callable[[Path], bool],
    stop: threading.Event,
) -> Sighting:
    """Return the files that define `symbol`, in order, until `stop` is set or it is enough."""
    found: dict[Path, int] = {}
    deadline = time.monotonic() + MOST_SECONDS
    name = symbol.rpartition(".")[2].encode("utf-8", "replace")
    for number, path in enumerate(_sources(folders, deadline)):
        if number >= MOST_FILES:
            return Sighting(tuple(found), f"Only {MOST_FILES:,} files were searched.")
        if stop.is_set() or time.monotonic() > deadline:
            return Sighting(tuple(found), f"The search ended after {MOST_SECONDS:.0f} seconds.")
        if path not in found and (count := _count(path, symbol, name, unreadable)):
            found[path] = count
        if sum(found.values()) >= MOST_DEFINITIONS:
            return Sighting(tuple(found), "There may be more definitions of it.")
    partial = f"The search ended after {MOST_SECONDS:.0f} seconds."
    return Sighting(tuple(found), partial if time.monotonic() > deadline else None)


def _sources(folders: Sequence[Path], deadline: float) -> Iterator[Path]:
    # Imported late: it brings a library that nothing needs at start.
    from agentls.tools.walk import walk

    for folder in folders:
        for relative, entry in walk(folder):
            if time.monotonic() > deadline:
                return
            if Path(relative).suffix.lower() not in SOURCES:
                continue
            if entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _count(path: Path, symbol: str, name: bytes, unreadable: Callable[[Path], bool]) -> int:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_SOURCE)
    except OSError:
        return 0
    if name not in data or unreadable(path):
        return 0
    return len(definitions(data.decode("utf-8", "replace"), path.suffix.lower(), symbol))
