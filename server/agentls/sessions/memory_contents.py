"""Contents of files as they were, for as long as the process lives."""

import threading
import time
from collections.abc import Collection, Iterable
from hashlib import sha256

from agentls.checkpoints.pruning import Pruned
from agentls.errors import ContentMissing
from agentls.sessions.content_rules import (
    KeptContent,
    Needs,
    chunks_of_file,
    plan_prune,
    write_all,
)


class MemoryContents:
    """Keeps contents in memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._data: dict[str, bytes] = {}
        self._kept: dict[str, KeptContent] = {}
        self._sessions: dict[str, Needs] = {}

    def put(self, data: bytes) -> str:
        """Keep `data`; see the port."""
        name = sha256(data).hexdigest()
        with self._lock:
            self._data[name] = data
            self._kept[name] = KeptContent(len(data), time.time())
        return name

    def put_file(self, path: str) -> str:
        """Keep a file; see the port. Here it is in memory, as all is."""
        return self.put(b"".join(chunks_of_file(path)))

    def get(self, sha256: str) -> bytes:
        """Return a content; see the port."""
        with self._lock:
            if sha256 not in self._data:
                raise ContentMissing(f"the content {sha256[:80]} is not kept in memory")
            return self._data[sha256]

    def copy_to(self, sha256: str, descriptor: int) -> None:
        """Copy a content; see the port."""
        write_all(descriptor, self.get(sha256))

    def has(self, sha256: str) -> bool:
        """Whether it is there; see the port."""
        return sha256 in self._data

    def refer(self, session_id: str, sha256s: Iterable[str]) -> None:
        """Note what a session needs; see the port."""
        with self._lock:
            before = self._sessions.get(session_id, Needs(frozenset(), 0.0))
            self._sessions[session_id] = Needs(before.sha256s | set(sha256s), time.time())

    def release(self, session_id: str) -> None:
        """Forget what a session needs; see the port."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def prune(self, quota_bytes: int, keep: Collection[str] = ()) -> Pruned:
        """Remove what is not needed; see the port."""
        with self._lock:
            pruned, removed = plan_prune(self._kept, self._sessions, quota_bytes, keep)
            for session_id in pruned.sessions:
                del self._sessions[session_id]
            for name in removed:
                del self._data[name], self._kept[name]
        return pruned
