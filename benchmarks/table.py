"""Readings side by side: medians, the spread of their ratios, and whether the target is met."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Row:
    """One figure of both subjects. `floor` and `ours` hold readings taken in pairs."""

    name: str
    unit: str
    floor: Sequence[float]
    ours: Sequence[float]
    target: float | None = None
    """The ratio that ours may reach; None for a figure that is only shown."""
    allowance: float = 0.0
    """What ours may have beyond the ratio, in the row's unit."""
    cpu: float | None = None
    """Ratio of processor time over all readings."""

    @property
    def ratios(self) -> list[float]:
        """Ours over the floor's, pair by pair: what both suffer from the machine cancels."""
        pairs = zip(self.floor, self.ours, strict=True)
        return sorted((ours - self.allowance) / floor for floor, ours in pairs)

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return median(self.ratios)

    @property
    def verdict(self) -> str:
        """Whether the target is met; unclear where the middle half of the ratios holds it."""
        if self.target is None:
            return ""
        low, high = _quartiles(self.ratios)
        if low < self.target < high:
            return "unclear"
        return _verdict(self.ratio <= self.target)


@dataclass(frozen=True)
class Fact:
    """Something that is so or not, with the words that say what was found."""

    name: str
    met: bool
    found: str


NOT_MET = "NOT MET"
HEADER = ("", "floor", "ours", "ours/floor", "quartiles", "cpu", "target", "")


def render(rows: Sequence[Row | Fact]) -> str:
    """Return the table as text."""
    cells = [HEADER, *(_cells(row) for row in rows if isinstance(row, Row))]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    lines = ["  ".join(_aligned(line, widths)).rstrip() for line in cells]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    facts = [
        f"{row.name}: {row.found} -> {_verdict(row.met)}" for row in rows if isinstance(row, Fact)
    ]
    return "\n".join([*lines, "", *facts])


def shortfalls(rows: Sequence[Row | Fact]) -> str:
    """Return the closing list: what is not met, and what this run could not tell."""
    missed = [line for row in rows if (line := _missed(row))]
    unclear = [row for row in rows if isinstance(row, Row) and row.verdict == "unclear"]
    lines = ["Not met:", *missed] if missed else ["Not met: nothing"]
    if unclear:
        lines += ["Unclear:", *(f"  {_reached(row)}" for row in unclear)]
    return "\n".join(lines)


def _missed(row: Row | Fact) -> str:
    if isinstance(row, Fact):
        return "" if row.met else f"  {row.name}: {row.found}"
    return f"  {_reached(row)}" if row.verdict == NOT_MET else ""


def _reached(row: Row) -> str:
    return f"{row.name.strip()}: {row.ratio:.2f}, target {_target(row)}"


def _cells(row: Row) -> tuple[str, ...]:
    low, high = _quartiles(row.ratios)
    return (
        row.name,
        f"{median(row.floor):.4g} {row.unit}",
        f"{median(row.ours):.4g} {row.unit}",
        f"{row.ratio:.2f}",
        f"{low:.2f}-{high:.2f}" if len(row.ratios) > 1 else "",
        "" if row.cpu is None else f"{row.cpu:.2f}",
        _target(row),
        row.verdict,
    )


def _target(row: Row) -> str:
    if row.target is None:
        return ""
    beyond = f" + {row.allowance:.3g} {row.unit}" if row.allowance else ""
    return f"<= {row.target:.2f}{beyond}"


def _quartiles(ratios: list[float]) -> tuple[float, float]:
    if len(ratios) < 2:
        return ratios[0], ratios[0]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return low, high


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if column in (0, len(HEADER) - 1) else text.rjust(width)
        for column, (text, width) in enumerate(zip(line, widths, strict=True))
    ]


def _verdict(met: bool) -> str:
    return "met" if met else NOT_MET
