"""A list of sessions as columns that fit the terminal."""

import shutil
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from agentls.protocol.requests import SessionSummary
from agentls.state.event_store import utc_now
from agentls.state.transcript_text import one_line

_GAP = "  "
_WHOLE_ID = 22
"""An id of this length is shown whole; of a longer one, the beginning that no other has."""
_SHORTEST_ID = 8
_WIDE = 100
"""From this width on there is room for costs, and for long names of branches and tags."""
_LEAST_TITLE = 12
_DAY = 24 * 60 * 60
_STEPS = ((60, "s"), (60, "min"), (24, "h"), (14, "d"))


def table(summaries: Sequence[SessionSummary], *, width: int | None = None) -> str:
    """Return a line for each session, below a line of headings, of at most `width` cells."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    ids = [summary.id for summary in summaries]
    branch_width, tag_width = (20, 14) if width >= _WIDE else (12, 8)
    columns = [
        ("ID", [_shown_id(own, ids) for own in ids]),
        ("AGE", [age(summary.updated_at) for summary in summaries]),
        ("MSGS", [str(summary.message_count) for summary in summaries]),
        ("COST", [_cost(summary) if width >= _WIDE else "" for summary in summaries]),
        ("TITLE", [label(summary) for summary in summaries]),
        ("BRANCH", [fitted(summary.git_branch or "", branch_width) for summary in summaries]),
        ("TAG", [fitted(summary.tag or "", tag_width) for summary in summaries]),
    ]
    columns = [(name, cells) for name, cells in columns if any(cells)]
    room = width - _taken(columns)
    while room < _LEAST_TITLE and columns[-1][0] in ("BRANCH", "TAG"):
        columns.pop()
        room = width - _taken(columns)
    room = max(_LEAST_TITLE, room)
    rows = [
        [(name, fitted(cells[number], room) if name == "TITLE" else cells[number])
         for name, cells in columns]
        for number in range(len(summaries))
    ]  # fmt: skip
    return _aligned([[(name, name) for name, _ in columns], *rows])


def label(summary: SessionSummary) -> str:
    """Return what a person knows a session by."""
    return one_line(summary.title or summary.last_prompt or "(no prompt)")


def _cost(summary: SessionSummary) -> str:
    """Return what a session has cost, as far as the prices are known."""
    dollars = summary.usage.cost_nano_usd / 1e9
    if not dollars:
        return ""
    return "<$0.01" if dollars < 0.005 else f"${dollars:.2f}"


def age(at: str, now: datetime | None = None) -> str:
    """Return how long ago something was, in a word: `5 min`, `3 h`, `2 d`, `7 wk`, `2 y`."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at[:10]
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = ((now or utc_now()) - moment).total_seconds()
    if passed < 1:
        return "now"
    rest = passed
    for most, unit in _STEPS:
        if rest < most:
            return f"{int(rest)} {unit}"
        rest /= most
    days = int(passed // _DAY)
    return f"{days // 7} wk" if days < 365 else f"{days // 365} y"


def fitted(text: str, width: int) -> str:
    """Return `text` in one line, cut to so many cells of the terminal."""
    text = one_line(text)
    if cells_wide(text) <= width:
        return text
    kept = ""
    for char in text:
        if cells_wide(kept + char) > width - 1:
            break
        kept += char
    return kept.rstrip() + "…"


def cells_wide(text: str) -> int:
    """Return how many cells of a terminal `text` takes."""
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _taken(columns: Sequence[tuple[str, Sequence[str]]]) -> int:
    """Return the cells that all columns but the title take, with the gaps."""
    widths = [max(map(cells_wide, (name, *cells))) for name, cells in columns if name != "TITLE"]
    return sum(widths) + len(_GAP) * len(widths)


def _shown_id(own: str, ids: Sequence[str]) -> str:
    if len(own) <= _WHOLE_ID:
        return own
    for length in range(_SHORTEST_ID, len(own)):
        if sum(other.startswith(own[:length]) for other in ids) == 1:
            return own[:length]
    return own


def _aligned(rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    widths = [max(cells_wide(row[column][1]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        _GAP.join(
            _padded(name, cell, width) for (name, cell), width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


def _padded(name: str, cell: str, width: int) -> str:
    padding = " " * (width - cells_wide(cell))
    return padding + cell if name in ("MSGS", "AGE", "COST") else cell + padding
