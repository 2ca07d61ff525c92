"""Short ways to put a tool call before the permission policy."""

from pathlib import Path

from agentls.permissions.policy import CallFacts, Verdict, decide
from agentls.protocol.session_state import Rule
from agentls.protocol.tool_calls import Mode

SOURCE = "/home/user/settings.json"
READERS = {"Read", "Glob", "Grep", "LS"}


def rules(*, allow: tuple = (), ask: tuple = (), deny: tuple = ()) -> tuple[Rule, ...]:
    """Return rules of one source, the allow rules first, so that order cannot help."""
    lists = {"allow": allow, "ask": ask, "deny": deny}
    return tuple(
        Rule(behaviour=behaviour, rule=text, source=SOURCE)
        for behaviour, texts in lists.items()
        for text in texts
    )


def bash(
    command: str, *, mode: Mode = "default", cwd: Path = Path("/nowhere/at/all"), **lists: tuple
) -> Verdict:
    """Decide on a shell command."""
    facts = CallFacts("Bash", False, command, (), (), cwd, (cwd,))
    return decide(facts, mode, rules(**lists))


def on_file(
    tool: str, path: Path | str, workspace: Path, *, mode: Mode = "default", **lists: tuple
) -> Verdict:
    """Decide on a call that reads or writes one file."""
    reads = tool in READERS
    facts = CallFacts(
        tool_name=tool,
        read_only=reads,
        command=None,
        read_paths=(Path(path),) if reads else (),
        written_paths=() if reads else (Path(path),),
        cwd=workspace,
        roots=(workspace,),
    )
    return decide(facts, mode, rules(**lists))
