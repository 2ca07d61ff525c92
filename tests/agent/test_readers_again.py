"""A call that only reads is tried once more where what went wrong may pass."""

import errno
from pathlib import Path

import pytest

from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import FileContent
from tests.support.agents import PersonHost, check, results
from tests.support.fake_time import FakeTime
from tests.support.scenarios import calls, says


class FlakyFiles(DiskFiles):
    """Files that fail at first."""

    def __init__(self, number: int, times: int) -> None:
        super().__init__()
        self.number = number
        self.left = times
        self.reads = 0

    async def read(self, path: Path) -> FileContent:
        self.reads += 1
        if self.left:
            self.left -= 1
            raise OSError(self.number, "as the test has it", str(path))
        return await super().read(path)


@pytest.mark.parametrize(
    ("number", "times", "reads", "outcome"),
    [
        (errno.ESTALE, 1, 2, "ok"),
        (errno.EAGAIN, 1, 2, "ok"),
        (errno.ESTALE, 2, 2, "error"),
        (errno.EIO, 1, 1, "error"),
    ],
)
async def test_a_read_that_failed_in_passing_is_done_once_more(
    folder, number, times, reads, outcome
):
    host = PersonHost()
    host._files = FlakyFiles(number, times)
    time = FakeTime()
    session = await check(
        folder,
        script=[calls("Read", file_path="a.txt"), says("So.")],
        host=host,
        pace=time.pace,
        expect=f"""
            turn started
            Read: {outcome}
            text: So.
            turn finished
        """,
    )
    assert host._files.reads == reads
    assert len(time.sleeps) == reads - 1
    assert ("alpha" in results(session)[0]) is (outcome == "ok")


async def test_a_write_is_never_done_twice(folder):
    host = PersonHost()
    host._files = FlakyFiles(errno.ESTALE, 1)
    await check(
        folder,
        script=[calls("Write", file_path="new.txt", content="x"), says("So.")],
        host=host,
        mode="acceptEdits",
        expect="""
            turn started
            Write: error
            text: So.
            turn finished
        """,
    )
