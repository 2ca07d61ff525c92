"""Judges paths: where they lead once links are followed, and which patterns they match.

`locate` and `Scope.of` ask the file system and are this package's only contact with it.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PROTECTED_FOLDERS = frozenset({".git", ".agentls", ".claude", ".vscode", ".husky"})
PROTECTED_FILES = frozenset(
    {
        ".mcp.json",
        ".gitconfig",
        ".envrc",
        ".profile",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".mkshrc",
        ".cshrc",
        ".tcshrc",
        ".login",
        "config.fish",
    }
)


@dataclass(frozen=True, slots=True)
class Located:
    """A path as it was given, and the place it leads to."""

    given: Path
    """Absolute, without `..`."""
    target: Path
    """With every link followed."""
    is_folder: bool

    @property
    def places(self) -> tuple[Path, ...]:
        """Return both, once where they are the same."""
        return (self.given,) if self.given == self.target else (self.given, self.target)


@dataclass(frozen=True, slots=True)
class Scope:
    """The folders that relative patterns begin at, each as named and with links followed."""

    cwd: tuple[Path, ...]
    roots: tuple[tuple[Path, ...], ...]
    home: tuple[Path, ...]

    @classmethod
    def of(cls, cwd: Path, roots: Iterable[Path]) -> "Scope":
        """Look the folders up, once: they are what they were when the workspace was opened.

        Should a link on the way to one be changed, what it leads to then is outside of it.
        """
        return _scope_of(cwd, tuple(roots), os.environ.get("HOME"))

    def contains(self, path: Located) -> bool:
        """Return whether the path, and the place it leads to, are in one of the roots."""
        return all(self.has(place) for place in path.places)

    def has(self, place: Path) -> bool:
        """Return whether `place`, taken as it is, is in one of the roots."""
        return self._root_of(place) is not None

    def protects(self, path: Located) -> bool:
        """Return whether writing there may change what runs later, or what is allowed."""
        return any(self._is_protected(place) for place in path.places)

    def below_first_root(self, path: Path) -> str | None:
        """Return `path` relative to the first root, or None outside of it."""
        return next(_relative(path, self.roots[:1]), None)

    def _root_of(self, place: Path) -> Path | None:
        return next(
            (form for root in self.roots for form in root if place.is_relative_to(form)), None
        )

    def _is_protected(self, place: Path) -> bool:
        root = self._root_of(place)
        parts = (place.relative_to(root) if root else place).parts
        # Some file systems do not tell .GIT from .git.
        names = [part.casefold() for part in (*parts, place.name)]
        return names[-1] in PROTECTED_FILES or not PROTECTED_FOLDERS.isdisjoint(names)


def locate(path: Path, cwd: Path) -> Located:
    """Return where `path` leads, as far as it exists. A path no system call takes leads nowhere."""
    given = Path(os.path.normpath(cwd / path))
    try:
        target = Path(os.path.realpath(cwd / path))
        return Located(given, target, target.is_dir())
    except (OSError, ValueError):
        return Located(given, Path("/") / "\0", is_folder=False)


def expanded(word: str) -> Path:
    """Return the path a word of a command names, `~` replaced as a shell would."""
    try:
        return Path(word).expanduser()
    except RuntimeError:
        return Path(word)


def _home_places(cwd: Path) -> tuple[Path, ...]:
    home = expanded("~")
    return locate(home, cwd).places if home.is_absolute() else ()


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A pattern of a path rule, in the syntax of .gitignore.

    It begins at the file system's root (`//`), at home (`~/`), at a workspace folder (`/`), at the
    working folder (`./`), or, with none of these, is relative to the working folder for an allow
    rule and matches at any depth for the others.
    """

    start: Literal["filesystem", "home", "root", "cwd", "anywhere"]
    body: str

    @classmethod
    def parse(cls, text: str) -> "PathPattern":
        """Read a pattern. Raises ValueError, with what is wrong, where `text` is none."""
        starts = (("//", "filesystem"), ("~/", "home"), ("/", "root"), ("./", "cwd"))
        pattern = cls("anywhere", text)
        for prefix, start in starts:
            if text.startswith(prefix):
                pattern = cls(start, text.removeprefix(prefix))  # type: ignore[arg-type]
                break
        misleading = pattern.start == "anywhere" and pattern.body.startswith(("~", "!"))
        if misleading or not pattern.body.strip() or pattern.body.startswith("/"):
            raise ValueError("it names no path")
        if ".." in pattern.body.split("/"):
            raise ValueError("`..` is not followed; begin with // or ~/")
        _spec("/" + pattern.body)
        return pattern

    def allows(self, path: Located, scope: Scope) -> bool:
        """Return whether the path and the place it leads to both match."""
        line = self.body if self.start == "anywhere" else "/" + self.body
        bases = self._allowing_bases(scope)
        return all(_matches(line, place, bases, path.is_folder) for place in path.places)

    def forbids(self, path: Located, scope: Scope) -> bool:
        """Return whether the path or the place it leads to matches."""
        anywhere = self.start == "anywhere"
        line = ("**/" if anywhere else "/") + self.body.removeprefix("**/" if anywhere else "")
        for place in path.places:
            bases = self._forbidding_bases(scope)
            if anywhere and next(_relative(place, bases), None) is None:
                bases = ((Path("/"),),)
            if _matches(line, place, bases, path.is_folder):
                return True
        return False

    def reaches_into(self, folder: Located, scope: Scope) -> bool:
        """Return whether something below `folder` may match, as far as the pattern tells."""
        if self.start == "anywhere":
            return True
        fixed: list[str] = []
        for part in self.body.split("/"):
            if any(mark in part for mark in "*?[\\"):
                break
            fixed.append(part)
        return any(
            place.is_relative_to(base.joinpath(*fixed))
            or base.joinpath(*fixed).is_relative_to(place)
            for place in folder.places
            for forms in self._forbidding_bases(scope)
            for base in forms
        )

    def _allowing_bases(self, scope: Scope) -> tuple[tuple[Path, ...], ...]:
        match self.start:
            case "filesystem":
                return ((Path("/"),),)
            case "home":
                return (scope.home,)
            case "root":
                return scope.roots[:1]
            case "cwd" | "anywhere":
                # A working folder outside the workspace would carry the rule along.
                inside = all(scope.has(form) for form in scope.cwd)
                return (scope.cwd,) if inside else scope.roots[:1]

    def _forbidding_bases(self, scope: Scope) -> tuple[tuple[Path, ...], ...]:
        match self.start:
            case "filesystem":
                return ((Path("/"),),)
            case "home":
                return (scope.home,)
            case "root":
                return scope.roots
            case "cwd" | "anywhere":
                return (scope.cwd, *scope.roots)


@lru_cache(maxsize=16)
def _scope_of(cwd: Path, roots: tuple[Path, ...], home: str | None) -> Scope:
    return Scope(
        cwd=locate(cwd, cwd).places,
        roots=tuple(locate(root, cwd).places for root in roots),
        home=_home_places(cwd),
    )


def escape_pattern(path: str) -> str | None:
    """Return `path` as a pattern that matches nothing else; None where there is none."""
    if any(mark.isspace() and mark != " " for mark in path):
        return None
    escaped = "".join("\\" + mark if mark in "\\*?[]" else mark for mark in path)
    return escaped[:-1] + "\\ " if escaped.endswith(" ") else escaped


def _matches(line: str, place: Path, bases: tuple[tuple[Path, ...], ...], is_folder: bool) -> bool:
    spec = _spec(line)
    for relative in _relative(place, bases):
        if relative and spec.match_file(relative):
            return True
        # A folder is matched by a pattern for everything in it.
        if is_folder and all(
            spec.match_file(f"{relative}/{name}".lstrip("/")) for name in _ANY_NAMES
        ):
            return True
    return False


def _relative(place: Path, bases: tuple[tuple[Path, ...], ...]) -> Iterator[str]:
    """Yield `place` as seen from each of `bases` that holds it; empty for the base itself."""
    # Text, as pathlib takes ten times as long and this is asked for every rule.
    text = str(place)
    for forms in bases:
        for base in forms:
            folder = str(base).rstrip("/")
            if text == str(base):
                yield ""
            elif text.startswith(folder + "/"):
                yield text[len(folder) + 1 :]


_ANY_NAMES = ("\x01", ".\x01")
"""They stand for all names, hidden ones too."""


@lru_cache(maxsize=2048)
def _spec(line: str) -> "GitIgnoreSpec":
    # Imported late: only rules on paths need it, and an editor waits for the start.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([line])
