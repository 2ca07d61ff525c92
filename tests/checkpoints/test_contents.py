import errno
import hashlib
import os
import resource
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.checkpoints.contents import CHUNK, FolderContents
from agentls.errors import ContentMissing


@pytest.fixture
def contents(tmp_path: Path) -> FolderContents:
    return FolderContents(tmp_path / "store")


def object_of(contents: FolderContents, sha256: str) -> Path:
    return contents.folder / sha256[:2] / sha256[2:]


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


@given(st.binary())
def test_what_was_put_is_got(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    contents = FolderContents(tmp_path_factory.getbasetemp() / "shared-store")
    sha256 = contents.put(data)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert contents.has(sha256)
    assert contents.get(sha256) == data


def test_nobody_else_may_look_inside(contents: FolderContents) -> None:
    contents.put(b"secret")
    contents.refer("s1", ["0" * 64])
    for path in (contents.folder, *contents.folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7])
def test_file_is_kept_like_its_bytes(contents: FolderContents, tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    sha256 = contents.put_file(str(tmp_path / "file"))
    assert contents.put(data) == sha256
    assert contents.get(sha256) == data
    assert files_in(contents.folder) == [object_of(contents, sha256)]


def test_large_file_is_never_held_in_memory(contents: FolderContents, tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        for number in range(40):
            file.write(bytes([number]) * CHUNK)
    tracemalloc.start()
    try:
        sha256 = contents.put_file(str(tmp_path / "large"))
        with (tmp_path / "copy").open("wb") as copy:
            contents.copy_to(sha256, copy.fileno())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * CHUNK
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "large").read_bytes()


@pytest.mark.parametrize("error", [errno.EXDEV, errno.ENOSYS])
def test_large_file_is_copied_where_blocks_cannot_be_shared(
    contents: FolderContents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "copy_file_range", refuse)
    data = os.urandom(2 * CHUNK)
    (tmp_path / "file").write_bytes(data)
    assert contents.get(contents.put_file(str(tmp_path / "file"))) == data


def test_link_and_pipe_are_not_read_as_files(contents: FolderContents, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        with pytest.raises(OSError) as refusal:  # noqa: PT011  the kinds differ
            contents.put_file(str(tmp_path / name))
        assert refusal.value.filename == str(tmp_path / name)


def test_content_that_was_never_put_is_missing(contents: FolderContents) -> None:
    assert not contents.has("0" * 64)
    with pytest.raises(ContentMissing, match=r"000000000000 is not kept in .*: No such file"):
        contents.get("0" * 64)


@pytest.mark.parametrize("forged", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 65, "é" * 64])
def test_what_is_no_hash_leads_nowhere(contents: FolderContents, forged: str) -> None:
    contents.put(b"x")
    assert not contents.has(forged)
    with pytest.raises(ContentMissing, match="no content's hash"):
        contents.get(forged)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"fils"),
        lambda path: path.write_bytes(b"fil"),
        lambda path: path.write_bytes(b""),
    ],
    ids=["changed", "cut", "emptied"],
)
def test_damaged_content_is_reported_and_can_be_put_again(
    contents: FolderContents, damage: Callable[[Path], object], tmp_path: Path
) -> None:
    sha256 = contents.put(b"file")
    damage(object_of(contents, sha256))
    with pytest.raises(ContentMissing, match="is damaged; it was removed"):
        contents.get(sha256)
    assert not contents.has(sha256)
    assert contents.put(b"file") == sha256
    assert contents.get(sha256) == b"file"
    assert files_in(contents.folder) == [object_of(contents, sha256)]


def test_damage_is_seen_while_copying(contents: FolderContents, tmp_path: Path) -> None:
    sha256 = contents.put(b"file")
    object_of(contents, sha256).write_bytes(b"fils")
    with (tmp_path / "copy").open("wb") as copy, pytest.raises(ContentMissing, match="damaged"):
        contents.copy_to(sha256, copy.fileno())


def test_content_of_the_wrong_size_is_replaced_when_it_is_put(contents: FolderContents) -> None:
    sha256 = contents.put(b"file")
    object_of(contents, sha256).write_bytes(b"")
    contents.put(b"file")
    assert contents.get(sha256) == b"file"


def test_planted_links_are_not_followed(contents: FolderContents, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_bytes(b"file")
    sha256 = hashlib.sha256(b"file").hexdigest()
    contents.folder.mkdir()
    (contents.folder / sha256[:2]).symlink_to(victim)
    (contents.folder / "references").symlink_to(victim)
    with pytest.raises(NotADirectoryError):
        contents.put(b"file")
    with pytest.raises(NotADirectoryError):
        contents.refer("s1", [sha256])
    with pytest.raises(ContentMissing):
        contents.get(sha256)
    (contents.folder / sha256[:2]).unlink()
    (contents.folder / sha256[:2]).mkdir()
    object_of(contents, sha256).symlink_to(victim / "file")
    assert not contents.has(sha256)
    contents.put(b"file")
    assert not object_of(contents, sha256).is_symlink()
    assert [path.name for path in victim.iterdir()] == ["file"]


def test_folder_that_is_a_link_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store").symlink_to("elsewhere")
    with pytest.raises(NotADirectoryError):
        FolderContents(tmp_path / "store").put(b"x")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_disk_that_refuses_leaves_nothing_behind(contents: FolderContents, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(2 * CHUNK))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            contents.put(bytes(10_000))
        with pytest.raises(OSError, match="File too large"):
            contents.put_file(str(tmp_path / "large"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files_in(contents.folder) == []
    assert contents.get(contents.put(bytes(10_000))) == bytes(10_000)


def test_processes_that_put_the_same_do_not_disturb_each_other(contents: FolderContents) -> None:
    program = """
import sys
from pathlib import Path
from agentls.checkpoints.contents import FolderContents
contents = FolderContents(Path(sys.argv[1]))
for number in range(200):
    sha256 = contents.put(b"%d" % number * 999)
    contents.refer("s1", [sha256])
    assert contents.get(sha256) == b"%d" % number * 999
"""
    command = [sys.executable, "-c", program, str(contents.folder)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert len(files_in(contents.folder)) == 201
    for number in range(200):
        data = b"%d" % number * 999
        assert contents.get(hashlib.sha256(data).hexdigest()) == data


@pytest.mark.parametrize("forged", ["../s1", "", "a/b", ".", "s1\n"])
def test_what_is_no_session_id_names_no_file(contents: FolderContents, forged: str) -> None:
    with pytest.raises(ValueError, match="is not a session id"):
        contents.refer(forged, ["0" * 64])
