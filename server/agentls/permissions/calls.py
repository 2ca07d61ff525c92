"""What a permission decision knows of a tool call: the facts given, and what follows from them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agentls.permissions import shell
from agentls.permissions.paths import Located, Scope, expanded, locate

MOST_WORDS = 500
"""Words of a command that are looked up as paths; no allow rule applies to a longer one."""
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What the decision on a call depends on. Relative paths begin at `cwd`."""

    tool_name: str
    read_only: bool
    command: str | None
    read_paths: tuple[Path, ...]
    written_paths: tuple[Path, ...]
    cwd: Path
    roots: tuple[Path, ...]
    url: str | None = None
    """What the call fetches, where it fetches something."""
    filters_reads: bool = False
    """It leaves out what `unreadable` names, so a folder may be read around a denied file."""
    protected: tuple[Path, ...] = ()
    """Folders in which writing always asks, besides those known by name."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose paths are looked up and whose command is read."""

    facts: CallFacts
    scope: Scope
    reads: tuple[Located, ...]
    writes: tuple[Located, ...]
    shell: shell.ShellCommand | None
    words: tuple[Located, ...]
    """The words of the command, as if each were a path."""
    redirected: tuple[Located, ...]
    """What the command's output is redirected to."""

    @classmethod
    def of(cls, facts: CallFacts) -> "Call":
        """Look up what `facts` name."""
        command = None if facts.command is None else shell.read_command(facts.command)

        def located(paths: Iterable[Path]) -> tuple[Located, ...]:
            return tuple(locate(path, facts.cwd) for path in paths)

        return cls(
            facts=facts,
            scope=Scope.of(facts.cwd, facts.roots),
            reads=located(facts.read_paths),
            writes=located(facts.written_paths),
            shell=command,
            words=() if command is None else located(map(expanded, _words(command))),
            redirected=() if command is None else located(map(expanded, command.written)),
        )

    @property
    def only_reads(self) -> bool:
        """Whether it changes nothing, as far as it says of itself."""
        return self.facts.read_only and self.facts.command is None and not self.facts.written_paths

    @property
    def reaches_out(self) -> bool:
        """Whether a call that only reads may still tell the world something."""
        return self.facts.url is not None or self.facts.tool_name.startswith(("Web", "mcp__"))

    @property
    def host(self) -> str:
        """Return the host that is fetched from; empty where none is known."""
        try:
            return urlsplit(self.facts.url or "").hostname or ""
        except ValueError:
            return ""

    @property
    def outside(self) -> tuple[Located, ...]:
        """Return the paths that are not in the workspace, or lead out of it."""
        return tuple(path for path in (*self.writes, *self.reads) if not self.scope.contains(path))

    def is_protected(self, path: Located) -> bool:
        """Return whether writing there may change what runs, or is allowed, later."""
        return self.scope.protects(path) or any(
            place.is_relative_to(form)
            for folder in self.facts.protected
            for form in locate(folder, self.facts.cwd).places
            for place in path.places
        )


def _words(command: shell.ShellCommand) -> list[str]:
    words = (word for sequence in command.sequences for word in sequence.words)
    return [word for word in dict.fromkeys(words) if 0 < len(word) < _LONGEST_PATH][:MOST_WORDS]
