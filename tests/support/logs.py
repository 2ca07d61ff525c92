"""Log files for tests: written as a store writes them, and read as a store reads them."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from agentls.errors import ContentMissing
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope
from agentls.sessions.raw_log import read_file
from agentls.sessions.records import envelope_line, header_line
from agentls.sessions.store import RawLog


class OneLog:
    """The store of a single log file, as far as loading needs one."""

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.path = path
        self.blobs: dict[str, bytes] = {}
        self.readings: list[bool] = []
        """Whether all was asked for, for each reading."""
        if data is not None:
            path.write_bytes(data)

    @classmethod
    def without_file(cls) -> "OneLog":
        return cls(Path("/nowhere"))

    def read(self, session_id: str, chat_id: str = MAIN_CHAT, *, whole: bool = False) -> RawLog:
        self.readings.append(whole)
        return read_file(self.path, whole)

    def blob(self, session_id: str, sha256: str) -> bytes:
        if sha256 not in self.blobs:
            raise ContentMissing(f"no blob {sha256[:12]}")
        return self.blobs[sha256]

    def blob_of_session(self, sha256: str) -> bytes:
        return self.blob("s1", sha256)

    def keep_blob(self, data: bytes) -> str:
        name = sha256(data).hexdigest()
        self.blobs[name] = data
        return name


def log_of(envelopes: Iterable[Envelope], session_id: str = "s1") -> bytes:
    """Return a log of these events."""
    return header_line(session_id) + b"".join(map(envelope_line, envelopes))
