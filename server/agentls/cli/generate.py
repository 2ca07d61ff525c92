"""`agentls generate`: everything made from the protocol registry, written or compared."""

import sys
from pathlib import Path

from agentls.codegen.generate import check, generate
from agentls.codegen.schema import Roots
from agentls.headless.lines import StreamJsonLine

MORE: Roots = (("StreamJsonLine", "serialization", StreamJsonLine),)
"""What schema.json holds besides the protocol."""


def generate_files(root: Path, *, check_only: bool) -> int:
    """Write the generated files under `root`, or say which of them are out of date."""
    if not (root / "protocol-docs").is_dir():
        sys.stderr.write(f"agentls: {root.absolute()} has no protocol-docs/; name it with --root\n")
        return 2
    if not check_only:
        for path in generate(root, MORE):
            sys.stdout.write(f"wrote {path}\n")
        return 0
    stale = check(root, MORE)
    for path in stale:
        sys.stderr.write(f"agentls: {path} is out of date; run `agentls generate`\n")
    return 1 if stale else 0
