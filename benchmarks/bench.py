"""Compare agentls with the least that could do the same, in one run, and print one table.

Only the ratios mean anything: both subjects are measured by turns on the same machine, in the same
minutes. The least is an agent for what a turn costs, and the same bytes for what lies on disk.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Generator
from pathlib import Path

from subjects import Place, SubjectFailed, make_workspace
from table import Fact, Row, render, shortfalls
from turns import PLAIN, Scenario

MESSAGES_API = Path(__file__).parent / "messages_api.py"
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
    failed = False
    for name, part in PARTS.items():
        if name not in arguments.only:
            continue
        try:
            rows += part(arguments.quick)
        except Exception:
            # The other parts took minutes.
            print(f"No rows of {name}:\n{traceback.format_exc()}", file=sys.stderr)
            failed = True
    print(render(rows))
    print(f"\n{shortfalls(rows)}")
    print(f"\nload average of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a quarter of the readings")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS], help="parts to run")
    return parser.parse_args()


# Each part imports what it measures, so that it runs where another part's subject does not.


def _start(quick: bool) -> list[Row | Fact]:
    import start

    with _places() as (floor_at, ours_at):
        rows = start.measure(floor_at, ours_at, pairs=5 if quick else 15)
        return [*rows, start.imports_before_initialized(ours_at)]


def _turns(quick: bool) -> list[Row | Fact]:
    import turns

    rows: list[Row | Fact] = []
    with _places() as (floor_at, ours_at):
        for scenario in SCENARIOS:
            pairs = max(4, scenario.pairs // 4) if quick else scenario.pairs
            rows.append(turns.measure(scenario, floor_at, ours_at, pairs=pairs))
    return rows


def _growth(quick: bool) -> list[Row | Fact]:
    import growth

    with _places() as (floor_at, ours_at):
        return [*growth.measure(floor_at, ours_at, turns=100 if quick else 500)]


def _resume(quick: bool) -> list[Row | Fact]:
    import resume

    if quick:
        return resume.measure(pairs=5)
    return resume.measure(old_megabytes=1024)


def _store(quick: bool) -> list[Row | Fact]:
    import session_store

    if quick:
        return session_store.measure(sessions=200, events=2000, pairs=5)
    return session_store.measure()


def _checkpoints(quick: bool) -> list[Row | Fact]:
    import checkpoint_scan

    return [*checkpoint_scan.measure(pairs=7 if quick else 21)]


def _search(quick: bool) -> list[Row | Fact]:
    import search

    return search.measure(readings=3 if quick else 9)


PARTS: dict[str, Callable[[bool], list[Row | Fact]]] = {
    "start": _start,
    "turns": _turns,
    "growth": _growth,
    "resume": _resume,
    "store": _store,
    "checkpoints": _checkpoints,
    "search": _search,
}


@contextlib.contextmanager
def _places() -> Generator[tuple[Place, Place]]:
    """Yield the floor's place and ours, both with the same model."""
    with tempfile.TemporaryDirectory(prefix="agentls-bench-") as folder, model_server() as url:
        yield prepare_place(Path(folder) / "floor", url), prepare_place(Path(folder) / "ours", url)


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
