import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from agentls.errors import StorageError
from agentls.sessions.search import file as index_file
from agentls.sessions.search.file import FILE_NAME, IndexFile
from agentls.sessions.search.index import SearchIndex
from tests.support.index_logs import found, header, hits, message_text, no_blob, open_index, prompt

ROOT = Path(__file__).parents[3]
NOBODY = 65534


def log_of(count: int, text: str = "red roof") -> bytes:
    return header() + b"".join(prompt(seq, f"{text} {seq}") for seq in range(1, count + 1))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s1.jsonl").write_bytes(log_of(3))
    return tmp_path


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_index_is_a_file_for_its_owner_alone(folder):
    open_index(folder)
    assert mode_of(folder / FILE_NAME) == 0o600
    assert mode_of(folder / "index.lock") == 0o600
    assert sorted(path.name for path in folder.iterdir()) == ["index.lock", FILE_NAME, "s1.jsonl"]


def test_index_of_another_process_is_used_as_it_is(folder):
    open_index(folder)
    inode = (folder / FILE_NAME).stat().st_ino
    assert len(hits(SearchIndex(folder, blob=no_blob), "red")) == 3
    assert (folder / FILE_NAME).stat().st_ino == inode


def older(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (x)")
    connection.close()


def emptied_of_tables(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE words")
    connection.close()


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def hot_journal(path: Path) -> None:
    path.write_bytes(b"garbage" * 1000)
    path.with_name(f"{FILE_NAME}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" * 512)


DAMAGES = {
    "garbage": lambda path: path.write_bytes(b"garbage" * 1000),
    "empty": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "truncated": truncated,
    "of another version": older,
    "another program's": foreign,
    "without a table": emptied_of_tables,
    "garbage with a journal": hot_journal,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("first", ["refresh", "search", "message"])
def test_damaged_index_is_made_anew(folder, damage, first):
    index = open_index(folder)
    damage(folder / FILE_NAME)
    match first:
        case "refresh":
            index.refresh()
        case "message":
            assert message_text(index, "m2") == "red roof 2"
        case _:
            pass
    assert sorted(found(index, "red")) == ["m1", "m2", "m3"]
    assert index.note is None
    assert mode_of(folder / FILE_NAME) == 0o600
    assert sorted(path.name for path in folder.iterdir()) == ["index.lock", FILE_NAME, "s1.jsonl"]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=64)), max_size=5))
def test_index_with_wrong_bytes_in_it_never_fails_a_search(tmp_path_factory, wrong):
    folder = tmp_path_factory.mktemp("logs")
    (folder / "s1.jsonl").write_bytes(log_of(50))
    index = open_index(folder)
    data = bytearray((folder / FILE_NAME).read_bytes())
    for place, some in wrong:
        start = int(place * (len(data) - len(some)))
        data[start : start + len(some)] = some
    (folder / FILE_NAME).write_bytes(data)
    hits(index, "red roof")
    message_text(index, "m2")
    (folder / "s1.jsonl").write_bytes(log_of(60))
    index.refresh()
    hits(index, "red roof")
    index.rebuild()
    assert len(hits(index, "red")) == 60
    index.close()


def test_link_to_another_database_is_replaced_and_not_followed(folder):
    precious = folder / "precious.db"
    index = open_index(folder)
    shutil.copy(folder / FILE_NAME, precious)
    before = precious.read_bytes()
    (folder / FILE_NAME).unlink()
    (folder / FILE_NAME).symlink_to(precious)
    (folder / "s2.jsonl").write_bytes(log_of(1, "blue"))
    index.refresh()
    assert len(hits(index, "blue")) == 1
    assert precious.read_bytes() == before
    assert not (folder / FILE_NAME).is_symlink()


def test_folder_in_the_place_of_the_index_leads_to_one_in_memory_that_says_so(folder):
    (folder / FILE_NAME).mkdir()
    index = open_index(folder)
    assert len(hits(index, "red")) == 3
    assert "cannot be kept" in (index.note or "")
    assert "held in memory" in (index.note or "")
    with (folder / "s1.jsonl").open("ab") as log:
        log.write(prompt(9, "red again"))
    index.refresh()
    assert len(hits(index, "red")) == 4
    (folder / FILE_NAME).rmdir()
    index.refresh()
    assert index.note is None
    assert len(hits(index, "red")) == 4
    assert (folder / FILE_NAME).is_file()


SEARCHER = f"""
import os, sys
from pathlib import Path
from tests.support.index_logs import hits, open_index
if os.geteuid() == 0:  # whom the modes of files do not bind
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
index = open_index(Path(sys.argv[1]))
print(len(hits(index, "red")), index.note)
index.close()
"""


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    # pytest's own folders are closed to other users.
    folder = Path(tempfile.mkdtemp(prefix="agentls-index-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def run(script: str, folder: Path) -> str:
    """Run a script over a folder in a process of its own and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", script, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_read_only_folder_is_searched_in_memory_and_said_to_be(open_to_all):
    (open_to_all / "s1.jsonl").write_bytes(log_of(3))
    (open_to_all / "s1.jsonl").chmod(0o444)
    open_to_all.chmod(0o555)
    output = run(SEARCHER, open_to_all)
    assert output.startswith("3 the search index of")
    assert "Permission denied" in output
    assert [path.name for path in open_to_all.iterdir()] == ["s1.jsonl"]


def test_full_disk_leads_to_an_index_in_memory(folder, monkeypatch):
    def full(self: IndexFile) -> None:
        raise OSError(28, "No space left on device", str(folder))

    monkeypatch.setattr(IndexFile, "_replace", full)
    index = open_index(folder)
    assert len(hits(index, "red")) == 3
    assert "No space left on device" in (index.note or "")
    index.close()


def test_no_index_at_all_is_an_error_that_says_what_is_needed(folder, monkeypatch):
    monkeypatch.setattr(index_file, "SCHEMA", "CREATE VIRTUAL TABLE words USING unknown(x)")
    index = SearchIndex(folder, blob=no_blob)
    with pytest.raises(StorageError, match=r"no such module: unknown.*FTS5"):
        index.refresh()
    with pytest.raises(StorageError):
        hits(index, "red")
    index.close()


LOCKER = """
import sqlite3, sys, time
from filelock import FileLock
lock = FileLock(sys.argv[1] + "/index.lock", mode=0o600)
lock.acquire()
if sys.argv[2] == "readers too":
    connection = sqlite3.connect(sys.argv[1] + "/index.sqlite", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("whom", ["writers", "readers too"])
def test_index_that_stays_locked_is_done_without(folder, monkeypatch, whom):
    monkeypatch.setattr(index_file, "BUSY_SECONDS", 0.3)
    index = open_index(folder)
    with (folder / "s1.jsonl").open("ab") as log:
        log.write(prompt(9, "red again"))
    command = [sys.executable, "-c", LOCKER, str(folder), whom]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as locker:
        try:
            assert locker.stdout is not None
            assert locker.stdout.readline() == "locked\n"
            index.refresh()
            assert len(hits(index, "red")) == 4
            assert "cannot be kept" in (index.note or "")
        finally:
            locker.kill()
    index.refresh()
    assert index.note is None
    assert len(hits(index, "red")) == 4


def test_index_that_another_process_gets_on_with_is_waited_for_and_not_replaced(
    folder, monkeypatch
):
    index = open_index(folder)
    inode = (folder / FILE_NAME).stat().st_ino
    (folder / "s2.jsonl").write_bytes(log_of(1, "blue"))
    monkeypatch.setattr(index_file, "BUSY_SECONDS", 0.01)
    stamps = iter(range(1_000))
    monkeypatch.setattr(IndexFile, "stamp", lambda self: (next(stamps),))
    with FileLock(folder / "index.lock"):
        index.refresh()
    assert "another process is still writing" in (index.note or "")
    assert len(hits(index, "red")) == 3
    index.refresh()
    assert index.note is None
    assert len(hits(index, "blue")) == 1
    assert (folder / FILE_NAME).stat().st_ino == inode


HAMMER = """
import random, sys
from pathlib import Path
from tests.support.index_logs import hits, no_blob, prompt
from agentls.sessions.search.index import SearchIndex
folder, number = Path(sys.argv[1]), int(sys.argv[2])
index = SearchIndex(folder, blob=no_blob)
mine = folder / f"p{number}.jsonl"
for seq in range(1, 41):
    with mine.open("ab") as log:
        log.write(prompt(seq, f"red {number} {seq}"))
    if random.random() < 0.05:
        (folder / "index.sqlite").write_bytes(b"garbage" * 500)
    index.refresh()
    own = index.search("red", limit=1000, session_id=f"p{number}")
    assert len(own) == seq, (len(own), seq, index.note)
print(index.note)
index.close()
"""


def test_processes_that_write_refresh_and_damage_at_once_find_all_of_their_own(folder):
    command = [sys.executable, "-W", "error", "-c", HAMMER, str(folder)]
    processes = [
        subprocess.Popen([*command, str(number)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    try:
        notes = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * 4
    assert len(notes) == 4
    index = open_index(folder)
    assert len(hits(index, "red", limit=1_000)) == 4 * 40 + 3
    assert index.note is None


REFRESHER = """
import sys
from pathlib import Path
from tests.support.index_logs import open_index
print("begins", flush=True)
open_index(Path(sys.argv[1]))
"""


def test_killed_in_the_middle_of_reading_leaves_an_index_that_goes_on(folder):
    (folder / "s2.jsonl").write_bytes(log_of(20_000))
    command = [sys.executable, "-c", REFRESHER, str(folder)]
    for _ in range(4):
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            try:
                process.wait(random.uniform(0, 0.4))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
    index = open_index(folder)
    assert found(index, '"red roof 19999"') == ["m19999"]
    assert len(hits(index, "red", limit=1_000)) == 1_000
    assert index.note is None


BUILDER = """
import resource, sys
from pathlib import Path
from tests.support.index_logs import open_index
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
open_index(Path(sys.argv[1]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_log_of_20_000_messages_is_read_in_bounded_memory(folder):
    text = "the quick brown fox " * 120
    with (folder / "s2.jsonl").open("wb") as log:
        for seq in range(1, 20_001):
            log.write(prompt(seq, f"{text} {seq}"))
    size = (folder / "s2.jsonl").stat().st_size
    assert size > 45 << 20
    assert int(run(BUILDER, folder)) << 10 < 40 << 20
    assert found(open_index(folder), '"fox 12345"') == ["m12345"]


def test_line_without_an_end_is_passed_over_in_bounded_pieces(folder, monkeypatch):
    monkeypatch.setattr("agentls.sessions.search.update.LONGEST_LINE", 1_000)
    with (folder / "s1.jsonl").open("ab") as log:
        log.write(b"x" * 10_500 + b"\n" + prompt(8, "red behind") + b"y" * 5_000)
    assert len(hits(open_index(folder), "red")) == 4
    with (folder / "s1.jsonl").open("ab") as log:
        log.write(b"\n" + prompt(9, "red at last"))
    assert len(hits(open_index(folder), "red")) == 5
