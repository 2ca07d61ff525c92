"""Show where agentls spends a turn's time: its loop under cProfile, over the benchmark's turns.

The profiler makes calls dearer than they are: trust the order, take the times from bench.py.
"""

import argparse
import os
import pstats
import sys
import tempfile
from pathlib import Path

from bench import SCENARIOS, model_server, prepare_place
from driver import SubjectFailed
from subjects import Agentls

PROMPTS = {
    name: scenario.prompt
    for name, scenario in zip(("first", "reads", "parallel", "deltas"), SCENARIOS, strict=True)
} | {"long": "[[reads:1:notes/{i}.txt]]"}
"""`long`, with `--turns 500`, is the long conversation."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("turn", choices=PROMPTS)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--lines", type=int, default=40, help="functions to show")
    parser.add_argument("--sort", default="tottime", help="a key of pstats: tottime, cumtime, ...")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="agentls-profile-") as folder:
        output = Path(folder) / "turns.pstats"
        try:
            _run(Path(folder) / "ours", output, PROMPTS[arguments.turn], arguments.turns)
        except SubjectFailed as failure:
            print(f"No profile: {failure}", file=sys.stderr)
            return 1
        stats = pstats.Stats(str(output))
    stats.sort_stats(arguments.sort).print_stats(arguments.lines)
    return 0


def _run(folder: Path, output: Path, prompt: str, turns: int) -> None:
    profiler = [sys.executable, "-m", "cProfile", "-o", str(output)]
    with model_server() as url:
        ours = Agentls(prepare_place(folder, url), under=profiler)
        try:
            ours.initialize()
            ours.connection.notify("initialized", {})
            ours.start_session()
            for _ in range(turns):
                ours.prompt(prompt)
        finally:
            ours.connection.close()
    if not output.exists():
        raise SubjectFailed("the profile was not written: agentls did not end by itself")


if __name__ == "__main__":
    sys.exit(main())
