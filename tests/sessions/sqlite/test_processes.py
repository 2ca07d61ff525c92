import itertools
import random
import subprocess
import sys
import time
from collections import Counter

import pytest

from agentls.sessions.sqlite.store import SqliteStore
from tests.sessions.conformance.events import (
    created,
    keep,
    kept,
    prompted,
)

HAMMER = [sys.executable, "-m", "tests.sessions.conformance.hammer"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "sessions.sqlite"


@pytest.fixture
def store(path):
    store = SqliteStore(path)
    yield store
    store.close()


async def test_processes_that_write_at_once_lose_and_double_nothing(store, path):
    await keep(store, created("shared"), prompted(2, "first", "shared"))
    names = ["a", "b", "c"]
    processes = [_started("hammer", path, name, "3") for name in names]
    written = {name: _lines(process) for name, process in zip(names, processes, strict=True)}
    expected = Counter({"first": 1})
    for name in names:
        numbers = [int(line) for line in written[name]]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) > 3
        own = kept(store, f"own-{name}")[1:]
        assert [_text(event) for event in own] == [f"{name} {n}" for n in (0, *numbers)]
        assert [event.seq for event in own] == list(range(2, len(numbers) + 3))
        expected.update(f"{name} {number}" for number in numbers)
    shared = kept(store, "shared")
    assert Counter(_text(event) for event in shared[1:]) == expected
    assert [event.seq for event in shared] == list(range(1, len(shared) + 1))


def test_no_two_processes_ever_have_a_lease_at_once(path):
    processes = [_started("own", path, "2") for _ in range(3)]
    spans = sorted(
        tuple(map(int, line.split())) for process in processes for line in _lines(process)
    )
    assert len(spans) > 10
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


def test_what_was_acknowledged_is_there_after_a_kill(store, path):
    chance = random.Random(7)
    acknowledged = 0
    for _ in range(8):
        process = _started("stream", path)
        deadline = time.monotonic() + 30
        first = process.stdout.readline()
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        assert time.monotonic() < deadline
        lines = [first, *process.stdout.readlines()]
        process.wait()
        acknowledged = max([acknowledged, *(int(line) for line in lines if line.endswith("\n"))])
        process.stdout.close()
        found = kept(store)
        assert [event.seq for event in found] == list(range(1, len(found) + 1))
        assert len(found) >= acknowledged
        assert all(_text(event) == "x" * (event.seq * 997 % 90_000) for event in found[2:])
    assert acknowledged > 20


def _started(*arguments):
    return subprocess.Popen([*HAMMER, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def _lines(process):
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return out.split("\n")[:-1]


def _text(event):
    return event.event.content[0].text
