"""Compare agentls with the least agent that could answer, in one run, and print one table.

Only the ratios mean anything: both subjects are measured by turns on the same machine, in the same
minutes, against the same scripted model.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import growth
import start
import turns
from subjects import Place, SubjectFailed, make_workspace
from table import Fact, Row, render
from turns import PLAIN, Scenario

MESSAGES_API = Path(__file__).parent / "messages_api.py"
PARTS = ("start", "turns", "growth")
SCENARIOS = (
    Scenario(
        "prompt -> first delta",
        PLAIN,
        lambda turn: turn.first_delta * 1e3,
        target=1.5,
        pairs=40,
        text_only=True,
    ),
    Scenario(
        "one of 20 sequential Reads",
        "[[reads:20:notes/{i}.txt]]",
        lambda turn: turn.end * 1e3 / 20,
        2.0,
        pairs=12,
    ),
    Scenario(
        "ten parallel Reads",
        "[[parallel:10:notes/{i}.txt]]",
        lambda turn: turn.end * 1e3,
        2.5,
        pairs=20,
    ),
    Scenario(
        "5,000 deltas",
        "[[deltas:5000]]",
        lambda turn: turn.end * 1e3,
        target=0.7,
        pairs=10,
        text_only=True,
    ),
)


def main() -> int:
    arguments = _arguments()
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"):
        os.environ.pop(name, None)
    rows: list[Row | Fact] = []
    try:
        with tempfile.TemporaryDirectory(prefix="agentls-bench-") as folder, model_server() as url:
            floor_at, ours_at = (
                prepare_place(Path(folder) / "floor", url),
                prepare_place(Path(folder) / "ours", url),
            )
            if "start" in arguments.only:
                rows += start.measure(floor_at, ours_at, pairs=5 if arguments.quick else 15)
                rows.append(start.imports_before_initialized(ours_at))
            if "turns" in arguments.only:
                for scenario in SCENARIOS:
                    pairs = max(4, scenario.pairs // 4) if arguments.quick else scenario.pairs
                    rows.append(turns.measure(scenario, floor_at, ours_at, pairs=pairs))
            if "growth" in arguments.only:
                count = 100 if arguments.quick else 500
                rows += growth.measure(floor_at, ours_at, turns=count)
    except SubjectFailed as failure:
        print(f"No table: {failure}", file=sys.stderr)
        return 1
    print(render(rows))
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a quarter of the readings")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run")
    return parser.parse_args()


@contextlib.contextmanager
def model_server() -> Generator[str]:
    """Run the scripted Messages API server in a process of its own; yield its URL."""
    process = subprocess.Popen(
        [sys.executable, str(MESSAGES_API)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise SubjectFailed(f"{MESSAGES_API} did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def prepare_place(folder: Path, url: str) -> Place:
    workspace, home = folder / "workspace", folder / "home"
    make_workspace(workspace)
    home.mkdir()
    return Place(workspace.resolve(), home.resolve(), url)


if __name__ == "__main__":
    sys.exit(main())
