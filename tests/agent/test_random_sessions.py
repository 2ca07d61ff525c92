"""Whole lives of a session, driven by chance: whatever was done, what must hold does.

`AGENTLS_SEED` runs one seed, `AGENTLS_SEEDS` says how many there are, `AGENTLS_STEPS` how long each
life is.
"""

import os
from pathlib import Path

import pytest

from tests.support.random_lives import RandomLife

SEED = os.environ.get("AGENTLS_SEED")
SEEDS = [int(SEED)] if SEED else range(int(os.environ.get("AGENTLS_SEEDS", "16")))
STEPS = int(os.environ.get("AGENTLS_STEPS", "60"))


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_must_hold_holds_whatever_was_done(folder: Path, seed: int) -> None:
    life = RandomLife(folder, seed)
    await life.begin()
    try:
        for _ in range(STEPS):
            await life.step()
        await life.end()
    except BaseException:
        print(f"AGENTLS_SEED={seed}; done: {', '.join(life.done)}")  # noqa: T201
        raise
