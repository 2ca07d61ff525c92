"""How long turns take over real loopback HTTP: first text, reads in a row and abreast, a flood."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from subjects import Agentls, Floor, Place, Subject, SubjectFailed, Turn
from table import Row

PLAIN = "[[text:All is well.]]"
"""A prompt that is answered in three words; the model is scripted by the marker."""
GAP = 0.03
"""Seconds between turns, for what a subject still does once it has said that it is done."""


@dataclass(frozen=True)
class Scenario:
    """A prompt whose turn is timed."""

    name: str
    prompt: str
    reading: Callable[[Turn], float]
    """The figure of a turn, in milliseconds."""
    target: float
    pairs: int
    text_only: bool = False
    """No tool is called, so that both subjects must have sent the same text."""


def measure(scenario: Scenario, floor_at: Place, ours_at: Place, *, pairs: int) -> Row:
    """Run the scenario on both subjects by turns, each time in a new conversation."""
    floor, ours = Floor(floor_at), Agentls(ours_at)
    try:
        for subject in (floor, ours):
            _warm_up(subject, scenario)
        floor_turns: list[Turn] = []
        our_turns: list[Turn] = []
        for number in range(pairs):
            order: list[tuple[Subject, list[Turn]]] = [(floor, floor_turns), (ours, our_turns)]
            for subject, turns in order if number % 2 else reversed(order):
                turns.append(_timed(subject, scenario.prompt))
        if scenario.text_only:
            _check_same_text(floor_turns, our_turns)
    finally:
        floor.connection.close()
        ours.connection.close()
    return Row(
        scenario.name,
        "ms",
        [scenario.reading(turn) for turn in floor_turns],
        [scenario.reading(turn) for turn in our_turns],
        target=scenario.target,
        cpu=sum(turn.cpu for turn in our_turns) / sum(turn.cpu for turn in floor_turns),
    )


def _warm_up(subject: Subject, scenario: Scenario) -> None:
    subject.initialize()
    subject.connection.notify("initialized", {})
    for _ in range(3):
        _timed(subject, scenario.prompt)


def _timed(subject: Subject, prompt: str) -> Turn:
    subject.start_session()
    subject.prompt(PLAIN)
    time.sleep(GAP)
    return subject.prompt(prompt)


def _check_same_text(floor: list[Turn], ours: list[Turn]) -> None:
    lengths = {turn.characters for turn in (*floor, *ours)}
    if len(lengths) != 1:
        raise SubjectFailed(f"the subjects did not send the same text: {sorted(lengths)}")
