"""A command's output, of which the beginning and the end are kept in bounded memory."""


class BoundedOutput:
    """Takes any amount of bytes; keeps at most `most`, half of them from either end."""

    def __init__(self, most: int) -> None:
        self._room = most // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def append(self, data: bytes) -> None:
        """Add what came."""
        self._total += len(data)
        space = self._room - len(self._head)
        self._head += data[:space]
        self._tail += data[space:]
        # Not at each append: to move the kept bytes costs as much as they are long.
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    def text(self) -> str:
        """Return the output as valid Unicode; where some is missing, a line says how much."""
        if self._total <= 2 * self._room:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = _without_cut_end(bytes(self._head))
        tail = _without_cut_beginning(bytes(self._tail[-self._room :]))
        left_out = self._total - len(head) - len(tail)
        return (
            f"{head.decode('utf-8', 'replace')}\n"
            f"[... {left_out:,} bytes left out ...]\n"
            f"{tail.decode('utf-8', 'replace')}"
        )

    def last_lines(self, lines: int = 5, most: int = 1_000) -> str:
        """Return the end of the output, at most `most` bytes, to show while it grows."""
        whole = self._total <= 2 * self._room
        kept = self._head + self._tail if whole else self._tail[-self._room :]
        end = _without_cut_beginning(bytes(kept)[-most:])
        return "\n".join(end.decode("utf-8", "replace").rstrip("\n").split("\n")[-lines:])


def _without_cut_beginning(data: bytes) -> bytes:
    """Leave out the rest of a UTF-8 character whose first byte is missing."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _without_cut_end(data: bytes) -> bytes:
    """Leave out the first bytes of a UTF-8 character whose last one is missing."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4
        return data[:-back] if byte & 0xC0 == 0xC0 and back < length else data
    return data
