"""`agentls lsp`: the agent, opened over the editor's folders."""

from pathlib import Path

from agentls.agent.host import Host
from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.agent.workspace import Workspace
from agentls.lsp.server import serve
from agentls.lsp.wire import Pipes
from agentls.tasks.command import kill_all


def serve_editor(pipes: Pipes, *, model: str | None) -> int:
    """Serve the editor that started this process; no child outlives it."""

    def open_over(roots: tuple[Path, ...], host: Host) -> Workspace:
        return open_workspace(WorkspaceOptions(roots=roots, model=model, face="lsp"), host)

    try:
        return serve(open_over, pipes)
    finally:
        kill_all()
