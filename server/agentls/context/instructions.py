"""Gathers what a project and its user want of every agent: AGENTS.md, CLAUDE.md, and their imports.

Blocking: it reads files. A project's files are a stranger's until proven otherwise, so they lead
nowhere outside of the project.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentls.config.folders import user_config_folder
from agentls.context.code_spans import spans
from agentls.context.mention_syntax import Mention, find_mentions
from agentls.state.measure import tokens_of_text
from agentls.tools.paths import absolute, exists, printable, shown

MOST_TOKENS = 40_000
MOST_BYTES = 512 * 1024
"""Of a file; what is behind would have no room in any case."""
MOST_IMPORTS = 200
"""Of all files together, those that are not there included."""
DEEPEST = 5
"""How far imports lead from the file that began."""
OF_A_PROJECT = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")


@dataclass(frozen=True, slots=True)
class Instructions:
    """What is told the model, and where it is from."""

    text: str = ""
    """Each file's under its path; empty where there is none."""
    sources: tuple[Path, ...] = ()
    """The files of which something is in `text`, absolute."""
    problems: tuple[str, ...] = ()
    """What could not be read, or has no room: sentences for a person."""


def load_instructions(
    roots: Sequence[Path],
    environment: Mapping[str, str],
    *,
    unreadable: Callable[[Path], bool] = lambda path: False,
) -> Instructions:
    """Read the user's own instructions, then those of each root. Nothing is raised.

    A line that is `@path/to/file.md` stands for that file's text; behind a line that has it among
    other words that text follows. Paths are relative to the file they stand in. Each file comes
    once, and so does each text. `unreadable` says which files the model must not see.
    """
    cwd = roots[0] if roots else Path.cwd()
    home = _home(environment)
    config = user_config_folder(environment)
    gathering = _Gathering(cwd, home, unreadable)
    own = _Reach("your home folder", _real(*([home] if home else []), config))
    gathering.add(config / "AGENTS.md", own)
    if home is not None:
        gathering.add(home / ".claude" / "CLAUDE.md", own)
    for root in roots:
        reach = _Reach("the project", _real(root))
        for name in OF_A_PROJECT:
            path = root / name
            if os.path.lexists(path) and gathering.may_read(path, reach):
                gathering.add(path, reach)
    return gathering.instructions()


@dataclass(frozen=True, slots=True)
class _Reach:
    """Where imports may lead."""

    name: str
    folders: tuple[Path, ...]

    def holds(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self.folders)


def _home(environment: Mapping[str, str]) -> Path | None:
    if given := environment.get("HOME"):
        return Path(given)
    try:
        return Path.home()
    except RuntimeError:
        return None


def _real(*folders: Path) -> tuple[Path, ...]:
    return tuple(Path(os.path.realpath(folder)) for folder in folders)


@dataclass(slots=True)
class _Gathering:
    """What was read so far."""

    cwd: Path
    home: Path | None
    unreadable: Callable[[Path], bool]
    left: int = MOST_TOKENS
    imports_left: int = MOST_IMPORTS
    parts: list[str] = field(default_factory=list[str])
    sources: list[Path] = field(default_factory=list[Path])
    problems: dict[str, None] = field(default_factory=dict[str, None])
    seen: set[str] = field(default_factory=set[str])
    """The files that were looked at, by where they lead, and the texts that were read."""

    def instructions(self) -> Instructions:
        return Instructions("\n\n".join(self.parts), tuple(self.sources), tuple(self.problems))

    def add(self, path: Path, reach: _Reach) -> None:
        """Add a file that nothing imports, where it is there."""
        if not os.path.lexists(path):
            return
        body = "\n".join(self._lines(path, reach, depth=0)).strip("\n")
        if body.strip():
            self.parts.append(f"# {self._named(path)}\n{body}")

    def may_read(self, path: Path, reach: _Reach) -> bool:
        """Whether a file lies within reach, links resolved; where not, it is told."""
        if reach.holds(path):
            return True
        self._tell(f"{self._named(path)} is not read: it leads out of {reach.name}.")
        return False

    def _lines(self, path: Path, reach: _Reach, depth: int) -> list[str]:
        """Return a file's lines and those of its imports, as far as there is room."""
        text = self._text(path)
        if text is None or not self.left:
            return []
        self.sources.append(path)
        lines: list[str] = []
        for line, mentions in _lines_of(text):
            imports = [
                (mention, target)
                for mention in mentions
                if (target := self._target(mention, path, reach, depth))
            ]
            is_import = len(imports) == 1 and line.strip(" \t-*+") == imports[0][0].text
            if not is_import:
                if not self._takes(line, path):
                    break
                lines.append(line)
            for _, target in imports:
                lines += self._imported(target, reach, depth)
        if not any(line.strip() for line in lines):
            self.sources.remove(path)
            return []
        return lines

    def _imported(self, path: Path, reach: _Reach, depth: int) -> list[str]:
        lines = self._lines(path, reach, depth + 1)
        if not lines:
            return []
        name = self._named(path)
        head, end = f"[From {name}:]", f"[End of {name}]"
        self.left = max(0, self.left - tokens_of_text(head + end))
        return [head, *lines, end]

    def _target(self, mention: Mention, importer: Path, reach: _Reach, depth: int) -> Path | None:
        """Return the file that a mention imports; None for one that is only text."""
        if mention.in_word or not mention.path or mention.path != mention.literal:
            return None
        if not self.imports_left:
            self._tell(f"Of the imports only the first {MOST_IMPORTS} are looked at.")
            return None
        self.imports_left -= 1
        try:
            path = absolute(self._expanded(mention.path), importer.parent)
        except (OSError, ValueError):
            return None
        where = f"{mention.text} in {self._named(importer)}"
        if not exists(path):
            if _looks_like_a_file(mention.path):
                self._tell(f"{where} is not imported: there is no such file.")
            return None
        if path.is_dir():
            return None
        if not reach.holds(path):
            self._tell(f"{where} is not imported: it leads out of {reach.name}.")
            return None
        if depth >= DEEPEST:
            self._tell(f"{where} is not imported: imports go {DEEPEST} files deep at most.")
            return None
        return path

    def _expanded(self, path: str) -> str:
        """Return a path with the user's home in place of `~`; the environment given says where."""
        at_home = path.startswith("~/") and self.home is not None
        return f"{self.home}{path[1:]}" if at_home else path

    def _text(self, path: Path) -> str | None:
        """Return a file's text without comments; None where it is read already, or cannot be."""
        real = os.path.realpath(path)
        if real in self.seen:
            return None
        self.seen.add(real)
        name = self._named(path)
        if self.unreadable(path) or self.unreadable(Path(real)):
            self._tell(f"{name} is not read: a permission rule keeps it from the model.")
            return None
        try:
            data = _read(path)
        except OSError as error:
            self._tell(f"{name} is not read: {error.strerror or error}.")
            return None
        if b"\0" in data:
            self._tell(f"{name} is not read: it is no text in UTF-8.")
            return None
        if len(data) > MOST_BYTES:
            self._tell(f"{name} is longer than {MOST_BYTES >> 10} KB; the rest is left out.")
        text = _without_comments(data[:MOST_BYTES].decode("utf-8-sig", "replace"))
        digest = hashlib.sha256(text.strip().encode()).hexdigest()
        if digest in self.seen:
            return None
        self.seen.add(digest)
        return text

    def _takes(self, line: str, path: Path) -> bool:
        """Take what a line needs off the room there is; tell where there is none."""
        tokens = tokens_of_text(f"{line}\n")
        if tokens > self.left:
            self._tell(
                f"{self._named(path)} is cut off: instructions take {MOST_TOKENS:,} tokens at "
                "most, all files together. Make them shorter."
            )
            self.left = 0
            return False
        self.left -= tokens
        return True

    def _named(self, path: Path) -> str:
        if self.home is None or path.is_relative_to(self.cwd) or not path.is_relative_to(self.home):
            return shown(path, self.cwd)
        return f"~/{printable(path.relative_to(self.home))}"

    def _tell(self, problem: str) -> None:
        self.problems[problem] = None


def _lines_of(text: str) -> Iterator[tuple[str, list[Mention]]]:
    """Yield each line with the mentions that begin in it."""
    mentions = list(reversed(find_mentions(text)))
    end = 0
    for line in text.split("\n"):
        end += len(line) + 1
        found: list[Mention] = []
        while mentions and mentions[-1].start < end:
            found.append(mentions.pop())
        yield line, found


def _looks_like_a_file(path: str) -> bool:
    """Whether a path is meant to be one, and not a name of somebody or of a package."""
    is_text = path.lower().endswith((".md", ".mdx", ".markdown", ".txt", ".rst", ".mdc"))
    return is_text or path.startswith(("./", "../", "~/", "/"))


def _read(path: Path) -> bytes:
    """Return a regular file's bytes, one more than `MOST_BYTES` at most. Raises OSError."""
    # To open a device may set it going, and a pipe would be waited for.
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is no regular file")
        return file.read(MOST_BYTES + 1)


def _without_comments(text: str) -> str:
    text = text.replace("\r\n", "\n")
    kept = (each for each in spans(text, comments=True) if each.kind != "comment")
    return "".join(text[each.start : each.end] for each in kept)
