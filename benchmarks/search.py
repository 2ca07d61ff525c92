"""What the search index costs: building it, following a log, and asking, by turns with a floor.

The floor is `orjson.loads` over the same lines. Run it with `python benchmarks/search.py`.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from table import Fact, Row, render

from agentls.sessions.search.index import SearchIndex

QUERIES = ("session", "return self", "floor of the benchmark", "frobnicate", "measur*")


def main() -> int:
    arguments = _arguments()
    print(render(measure(messages=arguments.messages, readings=arguments.readings)))
    return 0


def measure(*, messages: int = 10_000, readings: int = 5) -> list[Row | Fact]:
    """Return the rows on the search index, for the table of all."""
    with tempfile.TemporaryDirectory(prefix="agentls-search-") as name:
        folder = Path(name)
        log = folder / "s1.jsonl"
        log.write_bytes(_log(messages))
        return _measure(folder, log, readings)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--readings", type=int, default=5)
    return parser.parse_args()


def _measure(folder: Path, log: Path, readings: int) -> list[Row | Fact]:
    megabytes = log.stat().st_size / 1e6
    index = SearchIndex(folder, blob=_no_blob)
    floor: list[float] = []
    built: list[float] = []
    asked: list[float] = []
    unchanged: list[float] = []
    for _ in range(readings):
        floor.append(_seconds(lambda: _parse(log)) / megabytes * 1e3)
        (folder / "index.sqlite").unlink(missing_ok=True)
        built.append(_seconds(index.refresh) / megabytes * 1e3)
        unchanged.append(_seconds(index.refresh) * 1e3)
        asked.append(_seconds(lambda: _ask(index)) / len(QUERIES) * 1e3)
    whole = [reading * megabytes for reading in floor]
    size = (folder / "index.sqlite").stat().st_size / 1e6
    return [
        Row(f"build, per MB of {megabytes:.0f}", "ms", floor, built),
        Row("one search / parsing the whole log", "ms", whole, asked),
        Row("refresh without news / the same", "ms", whole, unchanged),
        Fact("the index is kept", index.note is None, f"{size / megabytes:.2f} x the log"),
    ]


def _log(messages: int) -> bytes:
    """Return a log of code and prose: this project's own sources in pieces."""
    root = Path(__file__).parents[1]
    sources = sorted((root / "server").rglob("*.py")) + sorted((root / "benchmarks").glob("*.py"))
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    lines = [b'{"log":"agentls","version":2,"sessionId":"s1"}']
    for seq in range(1, messages + 1):
        start = seq * 2_311 % (len(text) - 5_000)
        event = {
            "type": "toolCallFinished" if seq % 2 else "userMessageReceived",
            "id": f"m{seq}",
            "parent": f"m{seq - 1}",
            "callId": f"c{seq}",
            "summary": f"Read {seq} lines",
            "content": [
                {"type": "text", "text": text[start : start + (4_000 if seq % 2 else 400)]}
            ],
        }
        lines.append(orjson.dumps({"seq": seq, "at": f"2026-11-30T{seq:09}", "event": event}))
    return b"\n".join(lines) + b"\n"


def _no_blob(session_id: str, sha256: str) -> bytes:
    raise FileNotFoundError(session_id, sha256)


def _parse(log: Path) -> None:
    with log.open("rb") as lines:
        for line in lines:
            orjson.loads(line)


def _ask(index: SearchIndex) -> None:
    for query in QUERIES:
        index.search(query, limit=20)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
