import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.tasks.output_file import LAST_KEPT, OutputFile, read_output
from tests.support.checkpoints import as_nobody

TEXT = st.text(st.sampled_from("a\n\u00e9\u20ac\U0001f600"), max_size=60)
ANYTHING = st.one_of(
    st.binary(max_size=60),
    TEXT.map(str.encode),
    st.lists(st.sampled_from([b"\xe2", b"\x82", b"\xac", b"\xf0", b"\xc3", b"a"])).map(b"".join),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("output")
    folder.chmod(0o700)
    return folder / "x.output"


def pieces(path: Path, limit: int, *, ended: bool = True, start: int = 0) -> tuple[str, int]:
    """Read piece by piece until nothing more comes; return the text and where that was."""
    text, offset = "", start
    while True:
        piece = read_output(path, offset, limit, ended=ended)
        text += piece.text
        if piece.next_offset == offset:
            return text, offset
        offset = piece.next_offset


@given(data=ANYTHING, limit=st.integers(1, 12))
def test_pieces_give_the_whole_and_cut_no_character(path: Path, data: bytes, limit: int) -> None:
    path.write_bytes(data)
    assert pieces(path, limit) == (data.decode("utf-8", "replace"), len(data))


@given(chunks=st.lists(ANYTHING, max_size=6), limit=st.integers(1, 12))
def test_pieces_of_what_grows_give_the_whole(path: Path, chunks: list[bytes], limit: int) -> None:
    path.write_bytes(b"")
    text, offset = "", 0
    for chunk in chunks:
        with path.open("ab") as file:
            file.write(chunk)
        more, offset = pieces(path, limit, ended=False, start=offset)
        text += more
    text += pieces(path, limit, start=offset)[0]
    assert text == b"".join(chunks).decode("utf-8", "replace")


@given(text=TEXT, offset=st.integers(0, 250), limit=st.integers(1, 12))
def test_whoever_begins_inside_a_character_gets_what_follows_it(
    path: Path, text: str, offset: int, limit: int
) -> None:
    path.write_bytes(text.encode())
    piece = read_output(path, offset, limit)
    assert "\ufffd" not in piece.text
    assert text.encode()[offset : piece.next_offset].endswith(piece.text.encode())
    assert piece.size == len(text.encode())
    assert piece.next_offset >= min(offset, piece.size)


def test_offsets_beyond_the_end_or_before_the_beginning_lead_to_it(path: Path) -> None:
    path.write_bytes(b"abc")
    assert read_output(path, 100, 10).next_offset == 3
    assert read_output(path, -5, 10).text == "abc"


def test_file_and_folder_are_closed_to_others(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "new" / "x.output")
    file.append(b"a")
    file.finish()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_output_beyond_the_cap_is_counted_and_its_end_kept(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "o" / "x.output", 1_000)
    for _ in range(1_000):
        file.append(b"x" * 1_000)
    assert file.path.stat().st_size == 1_000
    file.append(b"the end\n")
    file.finish()
    data = file.path.read_bytes()
    left_out = 1_000_008 - 1_000 - LAST_KEPT
    assert data[:1_000] == b"x" * 1_000
    assert data[1_000:].startswith(f"\n[... {left_out:,} bytes left out ...]\nxxx".encode())
    assert data.endswith(b"xthe end\n")
    assert len(data) < 1_000 + LAST_KEPT + 100
    assert file.read(len(data) - 8, 100).text == "the end\n"
    assert file.trouble is None


def test_little_beyond_the_cap_is_kept_whole(tmp_path: Path) -> None:
    file = OutputFile(tmp_path / "o" / "x.output", 10)
    file.append("12345678\u20ac and more".encode())
    assert file.path.read_bytes() == b"12345678"
    file.finish()
    assert file.path.read_text() == "12345678\u20ac and more"


def plant_file(folder: Path, elsewhere: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "x.output").symlink_to(elsewhere / "victim")


def plant_dangling_file(folder: Path, elsewhere: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "x.output").symlink_to(elsewhere / "new")


def plant_hard_link(folder: Path, elsewhere: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "x.output").hardlink_to(elsewhere / "victim")


def plant_folder(folder: Path, elsewhere: Path) -> None:
    folder.symlink_to(elsewhere)


def plant_folder_above(folder: Path, elsewhere: Path) -> None:
    folder.parent.rmdir()
    folder.parent.symlink_to(elsewhere)


def open_to_all(folder: Path, elsewhere: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


@pytest.mark.parametrize(
    "plant",
    [
        plant_file,
        plant_dangling_file,
        plant_hard_link,
        plant_folder,
        plant_folder_above,
        open_to_all,
    ],
)
def test_planted_links_are_not_followed(
    tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "victim").write_text("untouched")
    folder = tmp_path / "session" / "output"
    folder.parent.mkdir()
    plant(folder, elsewhere)
    file = OutputFile(folder / "x.output")
    file.append(b"output\n")
    file.finish()
    assert file.trouble is not None
    assert str(folder / "x.output") in file.trouble
    assert [path.read_text() for path in elsewhere.rglob("*") if path.is_file()] == ["untouched"]
    # It is not lost: who asks for it gets it from memory.
    assert file.read(0, 100).text == "output\n"


@pytest.mark.parametrize("planted", ["link", "pipe", "folder link"])
def test_reading_follows_no_link_and_waits_for_no_pipe(tmp_path: Path, planted: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "secret").write_text("secret")
    path = tmp_path / "x.output"
    if planted == "link":
        path.symlink_to(tmp_path / "real" / "secret")
    elif planted == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "folder").symlink_to(tmp_path / "real")
        path = tmp_path / "folder" / "secret"
    with pytest.raises(OSError):  # noqa: PT011  its kind differs by what was planted
        read_output(path, 0, 100)


def test_folder_that_cannot_be_written_costs_the_file_alone(tmp_path: Path) -> None:
    folder = tmp_path / "output"
    folder.mkdir(mode=0o500)
    with as_nobody(tmp_path):
        file = OutputFile(folder / "x.output")
        file.append(b"a" * (LAST_KEPT + 10))
        file.finish()
        assert file.trouble == f"{folder / 'x.output'} could not be written: Permission denied"
        text = file.read(0, 1 << 20).text
    assert text.startswith("\n[... 10 bytes left out: ")
    assert text.endswith("Permission denied ...]\n" + "a" * LAST_KEPT)


class Disk:
    """Takes so many bytes, and refuses the others until there is room."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, descriptor: int, data: memoryview) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        sent = WRITE(descriptor, data[: self.room])
        self.room -= sent
        return sent


WRITE = os.write


def test_full_disk_is_told_and_the_end_is_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.write", Disk(100).write)
    file = OutputFile(tmp_path / "o" / "x.output")
    for n in range(20_000):
        file.append(f"{n}\n".encode())
    assert file.read(0, 1 << 20).size == 100
    file.finish()
    assert file.path.stat().st_size == 100
    assert file.trouble == f"{file.path} could not be written: No space left on device"
    whole = file.read(0, 1 << 20)
    assert whole.text.startswith("0\n1\n2\n")
    assert "bytes left out: " in whole.text
    assert whole.text.endswith("\n19998\n19999\n")
    assert file.read(whole.size - 6, 100).text == "19999\n"
    assert file.read(98, 10).text == whole.text[98:108]


def test_disk_that_has_room_again_gets_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(4)
    monkeypatch.setattr("os.write", disk.write)
    file = OutputFile(tmp_path / "o" / "x.output")
    file.append(b"one\ntwo\n")
    file.append(b"three\n")
    assert file.trouble
    disk.room = 1_000
    file.finish()
    assert file.path.read_text() == "one\ntwo\nthree\n"
    assert file.trouble is None
