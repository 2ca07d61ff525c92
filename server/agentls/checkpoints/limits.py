"""How much is looked at and kept for one session."""

from dataclasses import dataclass, field

from agentls.checkpoints.scan import ScanLimits

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what a shell command may cost besides itself."""

    scan: ScanLimits = field(default_factory=ScanLimits)
    unknown_file_bytes: int = 2 * MIB
    """The largest file that is kept although the session has nothing to do with it so far."""
    known_file_bytes: int = 256 * MIB
    """The largest file that is kept at all."""
    call_bytes: int = 64 * MIB
    """Of unknown files, ahead of one command."""
    call_seconds: float = 0.5
    all_bytes: int = 512 * MIB
    """Of unknown files, in the session."""
    changes: int = 2_000
    """Files that one command is said to have changed; it may have made a whole tree."""
    after_seconds: float = 10.0
    """For reading what changed, after one command."""
