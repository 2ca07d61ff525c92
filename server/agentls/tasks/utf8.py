"""Where bytes may be cut so that no UTF-8 character is cut in two."""


def begun_at_end(data: bytes) -> int:
    """Return how many bytes at the end belong to a character whose last byte is missing."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        return back if byte & 0xC0 == 0xC0 and back < _length(byte) else 0
    return 0


def left_at_beginning(data: bytes) -> int:
    """Return how many bytes at the beginning may belong to a character begun before them."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count


def _length(first: int) -> int:
    """Return how long a character is, by its first byte."""
    return 2 if first & 0xE0 == 0xC0 else 3 if first & 0xF0 == 0xE0 else 4
