import asyncio
import os
import stat
import threading
from pathlib import Path

import pytest

from agentls.tools import disk_files
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import FileChangedMeanwhile, FileContent

files = DiskFiles()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def replace(path: Path, data: bytes) -> FileContent:
    before = await files.read(path)
    return await files.write(path, data, expected_sha256=before.sha256)


async def test_read_returns_bytes_and_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xff\r\n\0")
    assert await files.read(path) == FileContent.of(b"\xff\r\n\0")


async def test_big_file_is_read_in_a_thread_and_a_small_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[bool] = []
    original = disk_files._read

    def spy(path: Path) -> FileContent:
        threads.append(threading.current_thread() is threading.main_thread())
        return original(path)

    monkeypatch.setattr(disk_files, "_read", spy)
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "big").write_bytes(b"x" * (disk_files.DIRECT + 1))
    await files.read(tmp_path / "small")
    await files.read(tmp_path / "big")
    assert threads == [True, False]


async def test_folder_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        await files.read(tmp_path)


async def test_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        await files.read(tmp_path / "pipe")


async def test_file_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_files, "LARGEST", 10)
    (tmp_path / "big").write_bytes(b"x" * 11)
    with pytest.raises(OSError, match="Larger than"):
        await files.read(tmp_path / "big")


async def test_new_file_gets_its_folders_and_the_usual_mode(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "c.txt"
    written = await files.write(path, b"new\n", expected_sha256=None)
    assert written == FileContent.of(b"new\n")
    assert path.read_bytes() == b"new\n"
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode


async def test_new_file_does_not_replace_one_that_appeared(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"theirs")
    with pytest.raises(FileChangedMeanwhile):
        await files.write(path, b"mine", expected_sha256=None)
    assert path.read_bytes() == b"theirs"


async def test_new_file_does_not_take_the_place_of_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        await files.write(tmp_path, b"mine", expected_sha256=None)


async def test_replacing_keeps_the_mode(tmp_path: Path) -> None:
    path = tmp_path / "script"
    path.write_bytes(b"old")
    path.chmod(0o4751)
    await replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o4751


async def test_replacing_keeps_the_owner(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        path = tmp_path / "mine"
        path.write_bytes(b"old")
        owner = (path.stat().st_uid, path.stat().st_gid)
    else:
        path = tmp_path / "theirs"
        path.write_bytes(b"old")
        owner = (1234, 4321)
        os.chown(path, *owner)
    await replace(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == owner


async def test_replacing_keeps_extended_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tagged"
    path.write_bytes(b"old")
    kept: dict[str, bytes] = {}
    # Not every file system that tests run on has them.
    monkeypatch.setattr(os, "listxattr", lambda source: ["user.tag"], raising=False)
    monkeypatch.setattr(os, "getxattr", lambda source, name: b"red", raising=False)
    monkeypatch.setattr(
        os, "setxattr", lambda twin, name, value: kept.update({name: value}), raising=False
    )
    await replace(path, b"new")
    assert kept == {"user.tag": b"red"}


async def test_replacing_is_atomic_for_whoever_reads(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        await replace(path, b"new content")
        assert reader.read() == b"old"
    assert names_in(tmp_path) == ["a"]


async def test_write_goes_through_a_link_to_its_target(tmp_path: Path) -> None:
    target = tmp_path / "there" / "target"
    target.parent.mkdir()
    target.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(Path("there") / "target")
    await replace(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


async def test_write_through_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("nowhere/yet")
    await files.write(link, b"new", expected_sha256=None)
    assert link.is_symlink()
    assert (tmp_path / "nowhere" / "yet").read_bytes() == b"new"


async def test_file_with_two_names_keeps_both(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"a longer old content")
    other.hardlink_to(path)
    await replace(path, b"new")
    assert other.read_bytes() == b"new"
    assert path.stat().st_ino == other.stat().st_ino


async def test_folder_that_takes_no_new_file_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    inode = path.stat().st_ino

    def refuse(**_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(disk_files.tempfile, "mkstemp", refuse)
    await replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino == inode


async def test_owner_that_cannot_be_kept_means_writing_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    inode = path.stat().st_ino

    def refuse(*_: object) -> None:
        raise disk_files._OwnerNotKept

    monkeypatch.setattr(disk_files, "_copy_attributes", refuse)
    await replace(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino == inode
    assert names_in(tmp_path) == ["a"]


async def test_stale_hash_is_refused_and_nothing_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    before = await files.read(path)
    path.write_bytes(b"theirs")
    with pytest.raises(FileChangedMeanwhile):
        await files.write(path, b"mine", expected_sha256=before.sha256)
    assert path.read_bytes() == b"theirs"
    assert names_in(tmp_path) == ["a"]


async def test_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    before = await files.read(path)
    path.unlink()
    with pytest.raises(FileChangedMeanwhile):
        await files.write(path, b"mine", expected_sha256=before.sha256)
    assert not path.exists()


async def test_change_while_the_new_content_is_prepared_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    original = disk_files._twin

    def meddle(target: Path, like: os.stat_result, data: bytes) -> Path | None:
        path.write_bytes(b"theirs!")
        return original(target, like, data)

    monkeypatch.setattr(disk_files, "_twin", meddle)
    with pytest.raises(FileChangedMeanwhile):
        await replace(path, b"mine")
    assert path.read_bytes() == b"theirs!"
    assert names_in(tmp_path) == ["a"]


async def test_content_is_verified_after_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    original = disk_files._replace

    def meddle(target: Path, data: bytes, expected: str) -> None:
        original(target, data, expected)
        target.write_bytes(b"formatted on save")

    monkeypatch.setattr(disk_files, "_replace", meddle)
    with pytest.raises(FileChangedMeanwhile):
        await replace(path, b"mine")


async def test_disk_that_fills_up_keeps_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, twice = tmp_path / "plain", tmp_path / "twice"
    for path in (plain, twice):
        path.write_bytes(b"old content")
    (tmp_path / "second name").hardlink_to(twice)
    original = os.write

    def full(descriptor: int, data: memoryview) -> int:
        if bytes(data).startswith(b"new"):
            original(descriptor, data[:3])
            raise OSError(28, "No space left on device")
        return original(descriptor, data)

    monkeypatch.setattr(disk_files.os, "write", full)
    for path in (plain, twice):
        with pytest.raises(OSError, match="No space left"):
            await replace(path, b"new content that is longer")
        assert path.read_bytes() == b"old content"
    with pytest.raises(OSError, match="No space left"):
        await files.write(tmp_path / "fresh", b"new", expected_sha256=None)
    assert names_in(tmp_path) == ["plain", "second name", "twice"]


async def test_file_without_write_permission_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    # The superuser may write everything, so the answer is given here.
    monkeypatch.setattr(disk_files.os, "access", lambda target, mode: False)
    with pytest.raises(PermissionError):
        await replace(path, b"new")
    assert path.read_bytes() == b"old"


async def test_cancelled_write_is_brought_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, go_on = threading.Event(), threading.Event()
    original = disk_files._write

    def slow(path: Path, data: bytes, expected: str | None) -> FileContent:
        began.set()
        go_on.wait()
        return original(path, data, expected)

    monkeypatch.setattr(disk_files, "_write", slow)
    writing = asyncio.create_task(files.write(tmp_path / "a", b"whole", expected_sha256=None))
    await asyncio.to_thread(began.wait)
    writing.cancel()
    await asyncio.sleep(0)
    assert not writing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert (tmp_path / "a").read_bytes() == b"whole"
