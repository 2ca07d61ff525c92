import hashlib
import os
import socket
import stat
import time
from pathlib import Path

import pytest

from agentls.checkpoints import capture as capture_module
from agentls.checkpoints.limits import Limits
from agentls.checkpoints.names import path_of
from agentls.checkpoints.scan import FINE, ScanLimits
from agentls.protocol.content import FileChange
from agentls.tools.paths import shown
from tests.support.checkpoints import Yard, as_nobody


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def named(changes: list[FileChange] | tuple[FileChange, ...]) -> dict[str, FileChange]:
    return {change.path: change for change in changes}


def kinds(changes: list[FileChange] | tuple[FileChange, ...]) -> dict[str, str]:
    return {change.path: change.kind for change in changes}


def test_large_unknown_file_is_not_kept_and_its_change_says_so(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(unknown_file_bytes=100))
    yard.put("large", "x" * 101)
    yard.put("touched", "x" * 101)
    yard.put("made-executable", "x" * 101, mode=0o644)
    changes = named(yard.shell("echo 1 >> large; rm touched; chmod +x made-executable"))
    assert not changes["large"].restorable
    assert changes["large"].before_sha256 is None
    assert not changes["touched"].restorable
    assert changes["made-executable"].restorable, "its times say that its content is the same"
    (change,) = yard.shell("echo 2 >> large")
    assert change.restorable, "the session has to do with it now"


def test_known_file_is_kept_however_large_it_is_for_an_unknown_one(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(unknown_file_bytes=100, known_file_bytes=1_000))
    yard.put("known", "x" * 101)
    yard.put("huge", "x" * 1_001)
    yard.tracker.know("known")
    yard.tracker.know("huge")
    changes = named(yard.shell("echo 1 > known; echo 1 >> huge"))
    assert changes["known"].restorable
    assert not changes["huge"].restorable
    assert changes["huge"].after_sha256 is None


def test_bounds_take_the_most_recent_files_and_later_the_rest(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(call_bytes=20))
    for number in range(4):
        path = yard.put(f"f{number}", str(number) * 10)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    time.sleep(2.5 * FINE / 1e9)
    yard.tracker.before()
    kept = [yard.contents.has(sha(str(number).encode() * 10)) for number in range(4)]
    assert kept == [False, False, True, True]
    yard.tracker.before()
    assert all(yard.contents.has(sha(str(number).encode() * 10)) for number in range(4))


def test_unknown_files_stop_at_what_a_session_may_keep_of_them(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(all_bytes=25))
    for number in range(4):
        yard.put(f"f{number}", str(number) * 10)
    for _ in range(3):
        assert yard.tracker.catch_up(10.0) is None
    assert sum(yard.contents.has(sha(str(number).encode() * 10)) for number in range(4)) == 2


def test_no_time_keeps_known_files_alone(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(call_seconds=-1))
    yard.put("known", "1")
    yard.put("unknown", "1")
    yard.tracker.know("known")
    changes = named(yard.shell("echo 2 > known; echo 2 > unknown"))
    assert changes["known"].restorable
    assert not changes["unknown"].restorable


def test_command_that_changes_too_much_is_cut_and_says_so(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(changes=3))
    yard.put("z-old", "1")
    yard.tracker.before()
    point = yard.tracker.before()
    for number in range(5):
        yard.put(f"new{number}", "")
    yard.put("z-old", "2")
    observed = yard.tracker.after(point)
    assert kinds(observed.changes) == {"new0": "created", "new1": "created", "z-old": "modified"}
    assert observed.left_out == "3 more files changed than can be followed"


def test_what_the_scan_left_out_is_said_and_not_taken_for_changed(tmp_path: Path) -> None:
    yard = Yard(tmp_path, limits=Limits(scan=ScanLimits(files=2)))
    yard.put("a", "1")
    for number in range(3):
        yard.put(f"many/{number}", "1")
    point = yard.tracker.before()
    assert point.left_out == f"folders beyond 2 files: 1, the first is {tmp_path}/many"
    yard.put("many/0", "2")
    (yard.folder / "many" / "1").unlink()
    (yard.folder / "many" / "2").unlink()
    observed = yard.tracker.after(point)
    assert observed.changes == ()
    assert observed.left_out is None, "by now few enough are left to be seen"


def test_unreadable_file_is_not_kept_and_harms_nothing(open_place: Path) -> None:
    (open_place / "work").mkdir()
    yard = Yard(open_place / "work")
    yard.put("closed", "secret", mode=0o000)
    yard.put("a", "1")
    with as_nobody(open_place):
        changes = named(yard.shell("echo 2 > a; rm -f closed"))
    assert changes["a"].restorable
    assert (changes["closed"].kind, changes["closed"].restorable) == ("deleted", False)


def test_folder_that_becomes_unreadable_is_not_taken_for_deleted(open_place: Path) -> None:
    (open_place / "work").mkdir()
    yard = Yard(open_place / "work")
    yard.put("d/a", "1")
    yard.tracker.know("d/a")
    with as_nobody(open_place):
        point = yard.tracker.before()
        (yard.folder / "d").chmod(0o000)
        observed = yard.tracker.after(point)
        (yard.folder / "d").chmod(0o755)
    assert observed.changes == ()
    assert observed.left_out == f"folders that cannot be read: 1, the first is {yard.folder}/d"


def test_pipes_and_sockets_are_reported_and_never_opened(yard: Yard) -> None:
    os.mkfifo(yard.folder / "old-pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(yard.folder / "old-socket"))
        changes = named(yard.shell("rm old-pipe old-socket; mkfifo pipe"))
    assert not changes["old-pipe"].restorable
    assert not changes["old-socket"].restorable
    assert stat.S_ISFIFO(changes["pipe"].after_mode or 0)
    assert changes["pipe"].after_sha256 is None


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"d\xff/a", b"new\nline", b" ", b"-rf", "ü€".encode(), b"a%FFb", b"~"]
)
def test_any_name_is_shown_as_the_tools_do_and_found_again(yard: Yard, name: bytes) -> None:
    point = yard.tracker.before()
    path = yard.put(name, "x")
    (change,) = yard.tracker.after(point).changes
    assert change.path == shown(path, yard.folder)
    assert os.fsencode(path_of(change, str(yard.folder))) == os.fsencode(path)
    reread = FileChange.model_validate_json(change.model_dump_json())
    assert os.fsencode(path_of(reread, str(yard.folder))) == os.fsencode(path)


def test_binary_and_empty_files_are_changes_without_lines(yard: Yard) -> None:
    yard.put("binary", b"\0\1\2")
    yard.put("empty")
    changes = named(yard.shell(r"printf '\0\n\n' > binary; echo 1 > empty"))
    assert (changes["binary"].added_lines, changes["binary"].removed_lines) == (0, 0)
    assert (changes["empty"].added_lines, changes["empty"].removed_lines) == (1, 0)


def test_full_store_is_said_and_stops_no_command(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.put("a", "1")

    def full(data: bytes) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(yard.contents, "put", full)
    monkeypatch.setattr(yard.contents, "put_file", full)
    point = yard.tracker.before()
    assert point.left_out == "contents cannot be kept: No space left on device"
    yard.put("a", "2")
    yard.put("b", "3")
    observed = yard.tracker.after(point)
    assert observed.left_out == "contents cannot be kept: No space left on device"
    kept = yard.tracker.keep("a", b"1", b"2")
    assert not kept.restorable
    assert kept.problem == "contents cannot be kept: No space left on device"


def test_what_is_kept_is_referred_to_by_its_session(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    yards = [
        Yard(tmp_path / "work", session_id=name, store=tmp_path / "s") for name in ("s1", "s2")
    ]
    yards[0].put("a", "shared")
    for yard in yards:
        yard.tracker.before()
    for name in ("s1", "s2"):
        lines = (tmp_path / "s" / "references" / name).read_text().split()
        assert lines == [sha(b"shared")]


def test_nothing_is_read_again_that_did_not_change(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        yard.put(f"d/{number}", str(number))
    time.sleep(2.5 * FINE / 1e9)
    yard.tracker.before()
    monkeypatch.setattr(capture_module.Capture, "_read", None)
    point = yard.tracker.before()
    assert yard.tracker.after(point).changes == ()
