"""How long a server takes to answer `initialize`, what it then holds, and what it imported."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from subjects import Agentls, Floor, Place, Subject
from table import Fact, Row

PUT_OFF = ("anthropic", "mcp", "keyring", "tree_sitter", "httpx2", "httpx")
"""Packages that a start must not pay for. The first four are promised, the rest are their cost."""
PROMISED = PUT_OFF[:4]


@dataclass(frozen=True)
class _Start:
    seconds: float
    cpu: float
    kib: int


def measure(floor_at: Place, ours_at: Place, *, pairs: int) -> list[Row]:
    """Start both subjects by turns and return the rows of time and memory."""
    makers: tuple[Callable[[], Subject], ...] = (
        lambda: Floor(floor_at, sdk=False),
        lambda: Agentls(ours_at),
    )
    for make in makers:
        _start(make)  # byte-compiles, and warms the page cache
    floor: list[_Start] = []
    ours: list[_Start] = []
    for number in range(pairs):
        order = list(zip(makers, (floor, ours), strict=True))
        for make, of_subject in order if number % 2 else reversed(order):
            of_subject.append(_start(make))
    return [
        Row(
            "spawn -> initialize answered",
            "ms",
            [start.seconds * 1e3 for start in floor],
            [start.seconds * 1e3 for start in ours],
            target=1.25,
            cpu=sum(start.cpu for start in ours) / sum(start.cpu for start in floor),
        ),
        Row(
            "memory (PSS) after it",
            "MiB",
            [start.kib / 1024 for start in floor],
            [start.kib / 1024 for start in ours],
            target=1.25,
        ),
    ]


def imports_before_initialized(place: Place) -> Fact:
    """Ask a real start which modules it imported, up to the answer to `initialize`."""
    traced = replace(place, extra_env={"PYTHONPROFILEIMPORTTIME": "1"})
    modules = _imported(traced)
    early = [package for package in PUT_OFF if package in modules]
    broken = [package for package in PROMISED if package in early]
    found = f"{len(modules)} modules; of {', '.join(PUT_OFF)}: {', '.join(early) or 'none'}"
    return Fact("imported before `initialized`", not broken, found)


def _start(make: Callable[[], Subject]) -> _Start:
    subject = make()
    try:
        seconds = subject.initialize()
        return _Start(seconds, subject.connection.cpu_seconds(), subject.connection.pss_kib())
    finally:
        subject.connection.kill()
        time.sleep(0.05)


def _imported(place: Place) -> set[str]:
    subject = Agentls(place)
    try:
        subject.initialize()
        time.sleep(0.5)  # what a thread began to import by itself would show
        report = subject.connection.errors()
    finally:
        subject.connection.kill()
    return set(re.findall(r"^import time:.*\|\s*(\S+)$", report, flags=re.MULTILINE))
