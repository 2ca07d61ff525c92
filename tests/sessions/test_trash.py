import errno
from pathlib import Path

import pytest

from agentls.errors import SessionExists, StorageError, UnknownSession
from agentls.sessions.trash import Trash


@pytest.fixture
def sessions(tmp_path):
    """A folder with one session in it that has contents of its own."""
    folder = tmp_path / "sessions"
    (folder / "s" / "blobs").mkdir(parents=True)
    (folder / "s" / "blobs" / "b").write_bytes(b"blob")
    (folder / "s.jsonl").write_bytes(b"log\n")
    return folder


@pytest.fixture
def trash(sessions, tmp_path):
    return Trash(sessions, tmp_path / "trash")


def tree(folder):
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    )


def test_a_session_goes_to_the_trash_and_comes_back_whole(trash, sessions, tmp_path):
    trash.put("s")
    assert tree(sessions) == []
    assert tree(tmp_path / "trash") == ["s/s.jsonl", "s/s/blobs/b", "s/trashed-at"]
    assert [path.name for path in trash.logs()] == ["s.jsonl"]
    assert (trash.trashed_at("s") or "").startswith("20")
    trash.restore("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]
    assert tree(tmp_path / "trash") == []
    assert trash.logs() == []
    assert trash.trashed_at("s") is None
    trash.put("s")
    assert tree(sessions) == []


def test_a_session_without_a_folder_can_be_trashed_and_restored(trash, sessions):
    (sessions / "t.jsonl").write_bytes(b"log\n")
    trash.put("t")
    trash.restore("t")
    assert (sessions / "t.jsonl").read_bytes() == b"log\n"


def test_the_trash_is_closed_to_others(trash, tmp_path):
    trash.put("s")
    for path in (tmp_path / "trash", tmp_path / "trash" / "s"):
        assert path.stat().st_mode & 0o777 == 0o700


def test_purging_deletes_one_session_in_the_trash_and_nothing_else(trash, sessions, tmp_path):
    (sessions / "t.jsonl").write_bytes(b"log\n")
    trash.put("s")
    trash.put("t")
    trash.purge("s")
    assert tree(tmp_path / "trash") == ["t/t.jsonl", "t/trashed-at"]
    assert tree(sessions) == []


def test_a_link_in_a_session_is_deleted_and_not_what_it_leads_to(trash, sessions, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_bytes(b"x")
    (sessions / "s" / "chats").symlink_to(tmp_path / "precious")
    trash.put("s")
    trash.purge("s")
    assert (tmp_path / "precious" / "file").read_bytes() == b"x"


def test_nothing_is_made_for_a_session_that_is_not_there(trash, tmp_path):
    for act in (trash.put, trash.restore, trash.purge):
        with pytest.raises(UnknownSession, match="no session t in"):
            act("t")
    assert not (tmp_path / "trash").exists()
    assert trash.logs() == []


def test_a_session_that_is_not_in_the_trash_is_never_deleted(trash, sessions):
    with pytest.raises(UnknownSession):
        trash.purge("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]


def test_restoring_over_a_session_with_the_same_id_is_refused(trash, sessions, tmp_path):
    trash.put("s")
    (sessions / "s.jsonl").write_bytes(b"another\n")
    with pytest.raises(SessionExists, match="already"):
        trash.restore("s")
    assert (sessions / "s.jsonl").read_bytes() == b"another\n"
    assert tree(tmp_path / "trash") == ["s/s.jsonl", "s/s/blobs/b", "s/trashed-at"]


def test_trashing_a_second_session_with_the_same_id_is_refused(trash, sessions, tmp_path):
    trash.put("s")
    (sessions / "s.jsonl").write_bytes(b"another\n")
    with pytest.raises(SessionExists, match="in the trash already"):
        trash.put("s")
    assert (sessions / "s.jsonl").read_bytes() == b"another\n"
    assert (tmp_path / "trash" / "s" / "s.jsonl").read_bytes() == b"log\n"


class Crash(BaseException):
    """The process ends here."""


def crash_at(monkeypatch, number):
    """Let the `number`th rename, counted from 0, not happen any more."""
    count = -1
    real = Path.rename

    def rename(self, target):
        nonlocal count
        count += 1
        if count == number:
            raise Crash
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)


@pytest.mark.parametrize("number", [0, 1])
def test_a_crash_while_trashing_loses_nothing_and_is_put_right(
    trash, sessions, tmp_path, monkeypatch, number
):
    with monkeypatch.context() as patch:
        crash_at(patch, number)
        with pytest.raises(Crash):
            trash.put("s")
    trashed = [path.name for path in trash.logs()]
    if number == 0:
        assert trashed == []
        assert tree(sessions) == ["s.jsonl", "s/blobs/b"]
        trash.put("s")
    else:
        assert trashed == ["s.jsonl"]
    assert tree(sessions) == []
    trash.restore("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]


@pytest.mark.parametrize("number", [0, 1])
def test_a_crash_while_restoring_loses_nothing_and_is_undone(
    trash, sessions, tmp_path, monkeypatch, number
):
    trash.put("s")
    with monkeypatch.context() as patch:
        crash_at(patch, number)
        with pytest.raises(Crash):
            trash.restore("s")
    assert [path.name for path in trash.logs()] == ["s.jsonl"]
    assert tree(sessions) == []
    assert tree(tmp_path / "trash") == ["s/s.jsonl", "s/s/blobs/b", "s/trashed-at"]
    trash.restore("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]


def test_a_session_half_restored_can_be_restored_without_looking_first(
    trash, sessions, monkeypatch
):
    trash.put("s")
    with monkeypatch.context() as patch:
        crash_at(patch, 1)
        with pytest.raises(Crash):
            trash.restore("s")
    trash.restore("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]


def test_a_crash_while_deleting_shows_the_session_whole_or_not_at_all(trash, tmp_path, monkeypatch):
    trash.put("s")

    def end(folder):
        (next(folder.rglob("b"))).unlink()
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("agentls.sessions.trash.shutil.rmtree", end)
        with pytest.raises(Crash):
            trash.purge("s")
    assert trash.logs() == []
    assert tree(tmp_path / "trash") != []
    (tmp_path / "sessions" / "t.jsonl").write_bytes(b"log\n")
    trash.put("t")
    trash.purge("t")
    assert tree(tmp_path / "trash") == []


def test_a_disk_that_refuses_is_told_and_the_session_stays(trash, sessions, monkeypatch):
    def refuse(self, target):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(StorageError, match=r"could not be moved .*s\.jsonl: Read-only"):
            trash.put("s")
    assert tree(sessions) == ["s.jsonl", "s/blobs/b"]


def test_another_process_at_work_is_waited_for_and_then_told(trash, tmp_path, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr("agentls.sessions.trash.LOCK_SECONDS", 0.01)
    (tmp_path / "trash").mkdir()
    with (
        FileLock(tmp_path / "trash" / ".lock"),
        pytest.raises(StorageError, match="another process is at work"),
    ):
        trash.put("s")
