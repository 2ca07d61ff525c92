"""What an import carried and what it could not, kept while it works and told afterwards."""

from dataclasses import dataclass, field

from agentls.protocol.kept_sessions import LeftOut


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of an import."""

    source: str
    """Where the session comes from, for a person: "Claude Code 2.1.81, 2f1c….jsonl"."""
    prompts: int
    answers: int
    tool_calls: int
    summaries: int
    """Places where the conversation was compacted."""
    sidechains: int
    """Conversations of subagents."""
    branches: int
    """Ends of the conversation besides the newest: what was rewound, edited, tried again."""
    left_out: tuple[LeftOut, ...]
    """What could not be carried, most of it first."""

    @property
    def messages(self) -> int:
        """Prompts, answers and tool results that were carried."""
        return self.prompts + self.answers + self.tool_calls

    def lines(self) -> tuple[str, ...]:
        """Return the report as a person reads it."""
        counted = (
            (self.prompts, "prompt", "prompts"),
            (self.answers, "answer", "answers"),
            (self.tool_calls, "tool call", "tool calls"),
            (self.summaries, "summary", "summaries"),
            (self.sidechains, "conversation of a subagent", "conversations of subagents"),
            (self.branches, "other branch", "other branches"),
        )
        carried = [
            f"{count} {one if count == 1 else many}" for count, one, many in counted if count
        ]
        first = f"from {self.source}: {', '.join(carried) or 'nothing'}"
        if not self.left_out:
            return (first, "nothing was left out")
        rows = (f"  {out.count} {out.what} (line {out.first_line})" for out in self.left_out)
        return (first, "left out, with the line where it first occurs:", *rows)


@dataclass(slots=True)
class Tally:
    """Counts while an import works."""

    prompts: int = 0
    answers: int = 0
    tool_calls: int = 0
    summaries: int = 0
    sidechains: int = 0
    branches: int = 0
    left_out: dict[str, LeftOut] = field(default_factory=dict[str, LeftOut])

    def leave_out(self, what: str, line: int) -> None:
        """Note that something is not carried; `what` is in the plural, for a person."""
        known = self.left_out.get(what)
        count, first = (known.count, known.first_line) if known else (0, line)
        self.left_out[what] = LeftOut(what=what, count=count + 1, first_line=first)

    def add(self, other: "Tally", of: str) -> None:
        """Add what was left out elsewhere; `of` says where."""
        for out in other.left_out.values():
            what = f"{out.what}, {of}"
            known = self.left_out.get(what, out)
            count = out.count + (known.count if known is not out else 0)
            self.left_out[what] = LeftOut(what=what, count=count, first_line=known.first_line)

    def report(self, source: str) -> ImportReport:
        """Return what was counted."""
        return ImportReport(
            source=source,
            prompts=self.prompts,
            answers=self.answers,
            tool_calls=self.tool_calls,
            summaries=self.summaries,
            sidechains=self.sidechains,
            branches=self.branches,
            left_out=tuple(sorted(self.left_out.values(), key=lambda out: -out.count)),
        )
