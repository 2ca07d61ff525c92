"""A log under a writer, lines for it, and a disk that is full."""

import asyncio
import errno
import json
import os

from agentls.sessions.log_file import LogFile
from agentls.sessions.writer import LogWriter

HEADER = b'{"log":"agentls","version":2,"sessionId":"s"}\n'


def line(number):
    return b'{"n":%d,"text":"%s"}\n' % (number, b"x" * (number % 40))


def event(seq):
    return b'{"seq":%d,"event":{}}\n' % seq


def whole_lines(path):
    """Return the records that can be read; a half that a fault left behind cannot."""
    found = []
    for data in path.read_bytes().split(b"\n"):
        try:
            found.append(data + b"\n" if json.loads(data) else data)
        except ValueError:
            continue
    return found


class Log:
    """A writer on a file, and what was told of it."""

    def __init__(self, path, **options):
        self.path = path
        self.told = []
        self.writer = LogWriter(LogFile(path, **options), on_trouble=self.told.append)

    async def put(self, *lines):
        for each in lines:
            self.writer.append(each)
        await self.writer.flush()
        await asyncio.sleep(0)  # what was told comes through the loop


class SmallDisk:
    """Takes `room` more bytes in all, and then is full."""

    def __init__(self, monkeypatch, room=1 << 30):
        self.room = room
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, fd, data):
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(fd, bytes(data)[: self.room])
        self.room -= written
        return written
