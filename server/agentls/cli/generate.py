"""`agentls generate`: everything made from the protocol registry, written or compared."""

import sys
from pathlib import Path

from agentls.cli.folder import absolute_folder
from agentls.codegen.generate import check, generate
from agentls.codegen.schema import Roots
from agentls.errors import ConfigurationError
from agentls.headless.lines import StreamJsonLine
from agentls.stdio import tell

MORE: Roots = (("StreamJsonLine", "serialization", StreamJsonLine),)
"""What schema.json holds besides the protocol."""


def generate_files(root: Path, *, check_only: bool) -> int:
    """Write the generated files under `root`, or say which of them are out of date.

    Raises `ConfigurationError` where `root` is no checkout.
    """
    if not (root / "protocol-docs").is_dir():
        raise ConfigurationError(
            f"{absolute_folder(root)} has no protocol-docs/; name the checkout with --root"
        )
    if not check_only:
        for path in generate(root, MORE):
            sys.stdout.write(f"wrote {path}\n")
        return 0
    stale = check(root, MORE)
    for path in stale:
        tell(f"{path} is out of date; run `agentls generate`")
    return 1 if stale else 0
