"""Line differences of two texts, exact where that is cheap and never slow."""

import difflib

Change = tuple[int, int, int, int]
"""Lines `[0]:[1]` of the old text became lines `[2]:[3]` of the new."""
CONTEXT = 3
MOST_WORK = 4_000_000
"""Pairs of lines; beyond, the differing middle counts as replaced whole."""
NO_FINAL_NEWLINE = "\\ No newline at end of file\n"


def count_changes(before: bytes, after: bytes) -> tuple[int, int]:
    """Return how many lines were added and how many removed."""
    changes = _changes(_lines(before), _lines(after))
    return sum(j2 - j1 for _, _, j1, j2 in changes), sum(i2 - i1 for i1, i2, _, _ in changes)


def unified(before: bytes, after: bytes, path: str, *, most: int = 20_000) -> str:
    """Return a unified diff with three lines of context, cut at `most` characters."""
    old, new = _lines(before), _lines(after)
    pieces = [f"--- {path}\n", f"+++ {path}\n"]
    for group in _grouped(_changes(old, new)):
        pieces += _hunk(group, old, new)
    return _cut("".join(pieces), most)


def _lines(data: bytes) -> list[str]:
    r"""Split at `\n` alone, each line with its end."""
    text = data.decode("utf-8", "replace")
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _changes(old: list[str], new: list[str]) -> list[Change]:
    """Return what differs, in order, found after common ends are taken off.

    difflib's short cut for long inputs turns small changes in repetitive text into thousands; its
    exact way is quadratic. What is left between the common ends is nearly always small.
    """
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if old_end == head and new_end == head:
        return []
    if (old_end - head) * (new_end - head) > MOST_WORK:
        return [(head, old_end, head, new_end)]
    matcher = difflib.SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
    return [
        (i1 + head, i2 + head, j1 + head, j2 + head)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _common(old: list[str], new: list[str]) -> int:
    count = 0
    for mine, theirs in zip(old, new, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _grouped(changes: list[Change]) -> list[list[Change]]:
    """Put changes whose context would touch into one group."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[Change], old: list[str], new: list[str]) -> list[str]:
    before = min(CONTEXT, group[0][0])
    after = min(CONTEXT, len(old) - group[-1][1])
    start, end = group[0][0] - before, group[-1][1] + after
    old_range = _range(start, end)
    new_range = _range(group[0][2] - before, group[-1][3] + after)
    pieces = [f"@@ -{old_range} +{new_range} @@\n"]
    for i1, i2, j1, j2 in group:
        pieces += [_marked(" ", line) for line in old[start:i1]]
        pieces += [_marked("-", line) for line in old[i1:i2]]
        pieces += [_marked("+", line) for line in new[j1:j2]]
        start = i2
    return pieces + [_marked(" ", line) for line in old[start:end]]


def _range(start: int, end: int) -> str:
    """Return a range as unified diffs write it: an empty one names the line before it."""
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n{NO_FINAL_NEWLINE}"


def _cut(diff: str, most: int) -> str:
    if len(diff) <= most:
        return diff
    end = diff.rfind("\n", 0, most) + 1 or most
    return f"{diff[:end]}[... {diff.count(chr(10), end):,} more lines of the diff]\n"
