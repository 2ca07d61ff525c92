"""What a long conversation costs: memory and time per turn, from its first turns to its last."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import linear_regression, median

import carrying
from subjects import READABLE_FILES, Agentls, Floor, Place, Subject, Turn
from table import Fact, Row
from turns import GAP

EDGE = 20
"""Turns at either end whose times are compared."""
AS_FAST = 1.25
"""What still counts as the same on a machine that is not quiet."""
SETTLED = 0.2
"""Share of the turns after which memory is looked at; before, caches and pools still fill."""


@dataclass
class _Run:
    subject: Subject
    turns: list[Turn] = field(default_factory=list[Turn])
    memory: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Turn number and PSS in KiB."""

    def take_turn(self, number: int) -> None:
        self.turns.append(self.subject.prompt(_prompt(number)))
        if number % 10 == 9:
            time.sleep(GAP)
            self.memory.append((number + 1, self.subject.connection.pss_kib()))

    def kib_per_turn(self) -> float:
        settled = [point for point in self.memory if point[0] > SETTLED * len(self.turns)]
        return linear_regression(*zip(*settled, strict=True)).slope

    def mib_at_end(self) -> float:
        return self.memory[-1][1] / 1024

    def edges(self, reading: Callable[[Turn], float]) -> tuple[float, float]:
        """Return the median of the first turns and of the last."""
        first, last = self.turns[:EDGE], self.turns[-EDGE:]
        return median(map(reading, first)), median(map(reading, last))


def measure(floor_at: Place, ours_at: Place, *, turns: int) -> list[Row | Fact]:
    """Hold one conversation of `turns` turns with each subject, by turns."""
    floor, ours = Floor(floor_at), Agentls(ours_at)
    try:
        runs = [_Run(floor), _Run(ours)]
        for run in runs:
            _warm_up(run.subject)
        log_before = ours.log_bytes()
        for number in range(turns):
            for run in runs if number % 2 else reversed(runs):
                run.take_turn(number)
        carried = [carrying.milliseconds(ours_at.model_url, turns=at) for at in (EDGE // 2, turns)]
        history = (ours.log_bytes() - log_before) / 1024 / turns
    finally:
        floor.connection.close()
        ours.connection.close()
    return _rows(runs[0], runs[1], history, carried[1] - carried[0])


def _warm_up(subject: Subject) -> None:
    subject.initialize()
    subject.connection.notify("initialized", {})
    subject.start_session()
    for number in range(5):
        subject.prompt(_prompt(number))
    subject.start_session()


def _prompt(number: int) -> str:
    return f"[[reads:1:notes/{number % READABLE_FILES}.txt]]"


def _rows(floor: _Run, ours: _Run, history: float, carried: float) -> list[Row | Fact]:
    floor_first, floor_last = floor.edges(_milliseconds)
    ours_first, ours_last = ours.edges(_milliseconds)
    floor_cpu, ours_cpu = floor.edges(_cpu), ours.edges(_cpu)
    count = len(ours.turns)
    return [
        Row(
            f"memory per turn, {count} turns",
            "KiB",
            [floor.kib_per_turn()],
            [ours.kib_per_turn()],
            target=2.0,
            allowance=history,
        ),
        Row(
            f"one turn, first {EDGE}",
            "ms",
            [floor_first],
            [ours_first],
            cpu=ours_cpu[0] / floor_cpu[0],
        ),
        Row(
            f"one turn, last {EDGE}",
            "ms",
            [floor_last],
            [ours_last],
            cpu=ours_cpu[1] / floor_cpu[1],
        ),
        Row("memory (PSS) at the end", "MiB", [floor.mib_at_end()], [ours.mib_at_end()]),
        _slowing(ours_first, ours_last, carried, ours_cpu[1] / ours_cpu[0]),
    ]


def _milliseconds(turn: Turn) -> float:
    return turn.end * 1e3


def _cpu(turn: Turn) -> float:
    return turn.cpu


def _slowing(first: float, last: float, carried: float, cpu: float) -> Fact:
    own = (last - carried) / first
    found = (
        f"last {EDGE} / first {EDGE} {last / first:.2f} x; {own:.2f} x (target {AS_FAST}) without"
        f" the {carried:.1f} ms that sending the longer history takes whoever sends it;"
        f" processor time {cpu:.2f} x"
    )
    # A burst of foreign load in the first turns would flatter the times; it hardly moves the work.
    met = own <= AS_FAST and cpu <= AS_FAST
    return Fact("ours stays as fast as it was", met, found)
