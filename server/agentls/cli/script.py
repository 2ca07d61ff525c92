"""`agentls run`: from flags to a run."""

import argparse

from agentls.agent.open import WorkspaceOptions
from agentls.context.system_prompt import PromptSettings
from agentls.headless.run import RunOptions, run
from agentls.tasks.processes import kill_all


def run_script(options: argparse.Namespace) -> int:
    """Carry out a run as the flags say; no child outlives it."""
    workspace = WorkspaceOptions(
        roots=(options.cwd.absolute(),),
        model=options.model,
        mode=options.permission_mode,
        allowed=tuple(options.allowed_tools),
        denied=tuple(options.disallowed_tools),
        keep_sessions=not options.no_session,
        prompt=PromptSettings(
            replacement=options.system_prompt, appendix=options.append_system_prompt
        ),
        max_rounds=options.max_turns,
    )
    run_options = RunOptions(
        workspace=workspace,
        prompt=options.prompt,
        output_format=options.output_format,
        input_format=options.input_format,
        resume=options.resume,
        continue_latest=options.continue_latest,
        permission_prompt=options.permission_prompt,
    )
    try:
        return run(run_options)
    finally:
        kill_all()
