"""`agentls run`: from flags to a run."""

import argparse
import os
from collections.abc import Iterator

from agentls.agent.open import WorkspaceOptions
from agentls.cli.folder import absolute_folder
from agentls.context.system_prompt import PromptSettings
from agentls.errors import InvalidRequest
from agentls.headless.run import RunOptions, run
from agentls.protocol.requests import Attachment
from agentls.tasks.command import kill_all


def run_script(options: argparse.Namespace) -> int:
    """Carry out a run as the flags say; no child outlives it.

    Raises `InvalidRequest` and `WorkspaceUnusable` for flags with which no run can begin.
    """
    run_options = _run_options(options)
    try:
        return run(run_options)
    finally:
        kill_all()


def _run_options(options: argparse.Namespace) -> RunOptions:
    for flag, value in _names_and_rules(options):
        if value != _text(value):
            raise InvalidRequest(f"{flag} is not UTF-8 text: {value!r}")
    workspace = WorkspaceOptions(
        roots=(absolute_folder(options.cwd),),
        model=options.model,
        mode=options.permission_mode,
        allowed=tuple(options.allowed_tools),
        denied=tuple(options.disallowed_tools),
        keep_sessions=not options.no_session,
        prompt=PromptSettings(
            replacement=_text(options.system_prompt), appendix=_text(options.append_system_prompt)
        ),
        max_rounds=options.max_turns,
        face="headless",
    )
    return RunOptions(
        workspace=workspace,
        prompt=_text(options.prompt),
        attachments=tuple(Attachment(path=_text(str(path))) for path in options.attach),
        output_format=options.output_format,
        input_format=options.input_format,
        resume=options.resume,
        continue_latest=options.continue_latest,
        permission_prompt=options.permission_prompt,
    )


def _names_and_rules(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    if options.model is not None:
        yield "--model", options.model
    for rule in options.allowed_tools:
        yield "--allowed-tools", rule
    for rule in options.disallowed_tools:
        yield "--disallowed-tools", rule


def _text(argument: str | None) -> str | None:
    """Return an argument with what is not UTF-8 in it replaced, as in what is piped in."""
    return None if argument is None else os.fsencode(argument).decode("utf-8", "replace")
