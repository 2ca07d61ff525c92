"""LSP's framing: `Content-Length` headers, a blank line, a body. Knows no JSON and no files."""

import re
from dataclasses import dataclass

MAX_BODY = 256 << 20

# A header line longer than this is no header. Of such a line only its end is kept, where a header
# that follows a body of the wrong length would stand.
_MAX_LINE = 8 << 10
_TAIL = 64
_EXCERPT = 40

_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:")
_CONTENT_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,19})[ \t]*\r?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Bytes that are no frame. The stream goes on at the next header found."""

    reason: str


Frame = bytes | BadFrame


def header_of(body: bytes) -> bytes:
    """Return what goes before `body` on the wire."""
    return b"Content-Length: %d\r\n\r\n" % len(body)


class Framer:
    """Cuts a stream of bytes into bodies, however it is split.

    Header names count in any case and lines may end in a bare newline. What is no header is skipped
    up to the next `Content-Length` at the end of a line and reported once, in its place. JSON text
    cannot hold such a line inside a string, so that skipping the body of a frame that is too large
    never takes a part of it for a message.
    """

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._buffer = bytearray()
        self._position = 0
        """Where the unfinished frame goes on."""
        self._searched = 0
        """Up to where no line end was found."""
        self._length: int | None = None
        self._in_body = False
        self._skipping = False
        self._line_start: bytes | None = None
        """How an overlong line began, the rest of which is being dropped."""
        self._headers = 0
        self._frames: list[Frame] = []

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes and return the frames they complete, in order."""
        self._buffer += data
        while self._take_body() if self._in_body else self._take_line():
            pass
        # Cutting the front off a bytearray moves no bytes, so that this stays linear.
        del self._buffer[: self._position]
        self._searched -= self._position
        self._position = 0
        frames, self._frames = self._frames, []
        return frames

    @property
    def unfinished(self) -> bool:
        """Whether the stream, if it ended here, would end inside a frame."""
        return self._in_body or self._headers > 0 or bool(self._buffer)

    def _take_body(self) -> bool:
        length = self._length or 0
        end = self._position + length
        if len(self._buffer) < end:
            return False
        with memoryview(self._buffer) as view:
            self._frames.append(bytes(view[self._position : end]))
        self._position = self._searched = end
        self._in_body, self._length, self._skipping, self._headers = False, None, False, 0
        return True

    def _take_line(self) -> bool:
        end = self._buffer.find(b"\n", max(self._searched, self._position))
        if end < 0:
            self._shorten_line()
            self._searched = len(self._buffer)
            return False
        line = bytes(self._buffer[self._position : end])
        self._position = self._searched = end + 1
        if self._line_start is not None or len(line) > _MAX_LINE:
            start, self._line_start = self._line_start or line[:_EXCERPT], None
            self._take_garbage(line, start)
        elif line in (b"", b"\r"):
            self._end_headers()
        else:
            self._take_header(line)
        return True

    def _shorten_line(self) -> None:
        waiting = len(self._buffer) - self._position
        if self._line_start is None:
            if waiting <= _MAX_LINE:
                return
            self._line_start = bytes(self._buffer[self._position : self._position + _EXCERPT])
        self._position += max(0, waiting - _TAIL)

    def _take_header(self, line: bytes) -> None:
        if found := _CONTENT_LENGTH.match(line):
            self._take_length(found)
        elif not _HEADER.match(line) or line[:14].lower() == b"content-length":
            self._take_garbage(line, line[:_EXCERPT])
        self._headers += 1

    def _take_garbage(self, line: bytes, start: bytes) -> None:
        self._report(f"Expected a header such as 'Content-Length: 120', found {_shown(start)}.")
        if found := _CONTENT_LENGTH.search(line[-_TAIL:]):
            self._take_length(found)

    def _take_length(self, found: re.Match[bytes]) -> None:
        length = int(found[1])
        if length > self._max_body:
            self._length = None
            self._report(
                f"A message of {length} bytes is too large; at most {self._max_body} are taken."
            )
            return
        self._length = length

    def _end_headers(self) -> None:
        if self._length is not None:
            self._in_body = True
        elif self._headers:
            self._report("Headers without a 'Content-Length'.")
        self._headers = 0

    def _report(self, reason: str) -> None:
        if not self._skipping:
            self._frames.append(BadFrame(reason))
        self._skipping = True


def _shown(data: bytes) -> str:
    return repr(data.decode("utf-8", "replace"))
