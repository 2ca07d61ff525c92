import errno
import os
from hashlib import sha256

import pytest

from agentls.errors import ContentMissing
from agentls.sessions.blobs import Blob, read_blob


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "s" / "blobs"


def test_a_value_comes_back_and_is_closed_to_others(folder):
    blob = Blob.of(folder, b"x" * 3_000_000)
    blob.write()
    assert blob.name == sha256(blob.data).hexdigest()
    assert read_blob(folder, blob.name) == blob.data
    assert (folder / blob.name).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_value_that_is_kept_is_not_written_again(folder):
    blob = Blob.of(folder, b"value")
    blob.write()
    first = (folder / blob.name).stat()
    blob.write()
    second = (folder / blob.name).stat()
    assert (second.st_ino, second.st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    assert [path.name for path in folder.iterdir()] == [blob.name]


def test_a_damaged_value_is_not_returned_and_is_mended_by_keeping_it_again(folder):
    blob = Blob.of(folder, b"value")
    blob.write()
    (folder / blob.name).write_bytes(b"valu")
    with pytest.raises(ContentMissing, match="its hash is another"):
        read_blob(folder, blob.name)
    blob.write()
    assert read_blob(folder, blob.name) == b"value"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "A" * 64, "0" * 64 + "\n"])
def test_only_hashes_are_looked_for(folder, name):
    with pytest.raises(ContentMissing, match="not the name"):
        read_blob(folder, name)


def test_a_missing_value_is_named(folder):
    with pytest.raises(ContentMissing, match=f"{folder}/{'0' * 64}, which .* No such file"):
        read_blob(folder, "0" * 64)


def test_planted_links_are_neither_read_nor_written_through(folder, tmp_path):
    blob = Blob.of(folder, b"value")
    outside = tmp_path / "outside"
    outside.write_bytes(b"value")
    folder.mkdir(parents=True)
    (folder / blob.name).symlink_to(outside)
    with pytest.raises(ContentMissing):
        read_blob(folder, blob.name)
    blob.write()
    assert not (folder / blob.name).is_symlink()
    assert read_blob(folder, blob.name) == b"value"
    assert outside.read_bytes() == b"value"


@pytest.mark.parametrize("which", ["blobs", "s"])
def test_a_planted_link_in_place_of_a_folder_is_refused(tmp_path, which):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "blobs").mkdir(parents=True)
    folder = tmp_path / "s" / "blobs"
    if which == "s":
        folder.parent.symlink_to(elsewhere)
    else:
        folder.parent.mkdir()
        folder.symlink_to(elsewhere)
    blob = Blob.of(folder, b"value")
    with pytest.raises(NotADirectoryError, match="a link or a file"):
        blob.write()
    assert list((elsewhere / "blobs").iterdir()) == []
    (elsewhere / "blobs" / blob.name).write_bytes(b"value")
    with pytest.raises(ContentMissing, match="link"):
        read_blob(folder, blob.name)


def test_a_pipe_in_place_of_a_value_is_not_waited_on(folder):
    folder.mkdir(parents=True)
    blob = Blob.of(folder, b"value")
    os.mkfifo(folder / blob.name)
    with pytest.raises(ContentMissing, match="not a file"):
        read_blob(folder, blob.name)
    blob.write()
    assert read_blob(folder, blob.name) == b"value"


def test_a_full_disk_leaves_nothing_behind_and_the_next_try_succeeds(folder, monkeypatch):
    blob, real_write = Blob.of(folder, b"value"), os.write

    def full_disk(fd, data):
        real_write(fd, bytes(data)[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_disk)
        with pytest.raises(OSError, match="No space left"):
            blob.write()
    assert list(folder.iterdir()) == []
    blob.write()
    assert read_blob(folder, blob.name) == b"value"
