"""How much of a model's window is for what: when to make room, and what may stay when it is made.

All numbers are tokens. `used` anywhere means what a request holds, the overhead included.
"""

from dataclasses import dataclass

from agentls.state.measure import BYTES_PER_TOKEN

LARGEST_RESERVE = 20_000
"""For an answer: few are longer, and the window is better used for the conversation."""
RESERVE_SHARE = 0.25
"""Of the window, at most for an answer: small models name as many tokens as their window has."""
MARGIN_SHARE = 0.05
"""Of the window, as what came since the last answer is estimated and not counted."""
LARGEST_MARGIN = 10_000
"""No single round is estimated worse than this."""
LEAST_USABLE = 2_000
"""Below it a summary, the user's words and one round do not fit beside each other."""
CLEAR_SHARE = 0.7
"""Of what is usable: old tool output goes long before a summary is needed, and it often suffices.

Not earlier, as each time the model's cache of the conversation is lost.
"""

KEPT_SHARE = 0.25
"""For the latest messages, which stay word for word."""
RECENT_OUTPUT_SHARE = 1 / 3
"""For the latest tool output, which is not cleared."""
SUMMARY_SHARE = 0.15
LARGEST_SUMMARY = 20_000
PROMPTS_SHARE = 0.1
LARGEST_PROMPTS = 20_000
CONTENTS_SHARE = 0.1
"""For the present content of files that are being edited."""

# The rest of what is carried: at most a seventh of what is usable, so that all shares together
# leave room to go on. The least of each is what holds one entry of usual length.
GOAL_SHARE, LEAST_GOAL, LARGEST_GOAL = 0.04, 200, 4_000
CONSTRAINTS_SHARE, LEAST_CONSTRAINTS, LARGEST_CONSTRAINTS = 0.04, 200, 4_000
FAILURES_SHARE, LEAST_FAILURES, LARGEST_FAILURES = 0.03, 300, 6_000
FILES_SHARE, LEAST_FILES, LARGEST_FILES = 0.02, 100, 2_000


@dataclass(frozen=True, slots=True)
class Room:
    """What there is room for in a model's window."""

    window: int
    overhead: int
    """What every request holds besides the conversation: the system prompt and the tools."""
    answer: int
    """The longest answer that the model is asked for."""
    at_tokens: int | None = None
    """Where the user wants room to be made earlier than need be; null: nowhere."""

    @property
    def reserve(self) -> int:
        """What is kept free for an answer, which is also where a summary is written."""
        return min(self.answer, LARGEST_RESERVE, int(self.window * RESERVE_SHARE))

    @property
    def compact_at(self) -> int:
        """How much may be used before a summary takes the place of the conversation."""
        latest = self._latest
        return latest if self.at_tokens is None else min(latest, self.at_tokens)

    @property
    def clear_at(self) -> int:
        """How much may be used before old tool output is cleared."""
        return self.overhead + int(self.usable * CLEAR_SHARE)

    @property
    def usable(self) -> int:
        """What the conversation may take."""
        return max(0, self.compact_at - self.overhead)

    @property
    def recent_output(self) -> int:
        """How much tool output is never cleared, the latest first."""
        return int(self.usable * RECENT_OUTPUT_SHARE)

    @property
    def kept(self) -> int:
        """For the latest messages, word for word."""
        return int(self.usable * KEPT_SHARE)

    @property
    def summary(self) -> int:
        """For the summary; never more than the reserve in which it is written."""
        return min(LARGEST_SUMMARY, int(self.usable * SUMMARY_SHARE), self.reserve)

    @property
    def prompts(self) -> int:
        """For what the user has said, word for word, besides the first prompt."""
        return min(LARGEST_PROMPTS, int(self.usable * PROMPTS_SHARE))

    @property
    def contents(self) -> int:
        """For the present content of files that are being edited."""
        return int(self.usable * CONTENTS_SHARE)

    @property
    def goal(self) -> int:
        """For the first prompt."""
        return self._share(GOAL_SHARE, LEAST_GOAL, LARGEST_GOAL)

    @property
    def constraints(self) -> int:
        """For what the user said must or must not be done."""
        return self._share(CONSTRAINTS_SHARE, LEAST_CONSTRAINTS, LARGEST_CONSTRAINTS)

    @property
    def failures(self) -> int:
        """For calls that did not succeed."""
        return self._share(FAILURES_SHARE, LEAST_FAILURES, LARGEST_FAILURES)

    @property
    def files(self) -> int:
        """For the names of files read and changed."""
        return self._share(FILES_SHARE, LEAST_FILES, LARGEST_FILES)

    def fits(self) -> bool:
        """Whether there is enough room for a conversation at all."""
        return self.usable >= LEAST_USABLE

    def shortage(self) -> str:
        """Say why there is no room and what to do, where `fits` says no."""
        taken = (
            f"The system prompt and the tools take about {self.overhead:,} tokens of the model's "
            f"window of {self.window:,}, and an answer takes {self.reserve:,}"
        )
        if self._latest - self.overhead >= LEAST_USABLE:
            return (
                f"{taken}; with compaction.atTokens at {self.at_tokens:,} no room is left for a "
                f"conversation. Set it to {self.overhead + LEAST_USABLE:,} or more, or take it "
                "out of the settings."
            )
        return (
            f"{taken}: no room is left for a conversation. Choose a model with a larger window, or "
            "shorten the instructions in AGENTS.md or CLAUDE.md. Where the window is in truth "
            "larger, say so in the settings: models.<id>.contextWindow."
        )

    @property
    def _latest(self) -> int:
        margin = min(LARGEST_MARGIN, int(self.window * MARGIN_SHARE))
        return self.window - self.reserve - margin

    def _share(self, share: float, least: int, largest: int) -> int:
        return min(largest, max(least, int(self.usable * share)))


MARK = "[... {count:,} characters left out ...]"
_MARK_BYTES = 64
"""A mark with its line ends, whatever its number."""
_WORD_BYTES = 80
"""How far a cut moves to the end of a word: most paths are shorter."""


def cut_middle(text: str, tokens: int) -> str:
    """Return `text` as it is where it takes at most `tokens`, else its two ends with a mark."""
    most = max(0, int(tokens * BYTES_PER_TOKEN))
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    if most < 2 * _MARK_BYTES:
        return data[:most].decode("utf-8", "ignore")
    half = (most - _MARK_BYTES) // 2
    head = _whole_words(data[:half].decode("utf-8", "ignore"))
    tail = _whole_words(data[-half:].decode("utf-8", "ignore")[::-1])[::-1]
    count = len(text) - len(head) - len(tail)
    return f"{head}\n{MARK.format(count=count)}\n{tail}"


def _whole_words(text: str) -> str:
    """Return `text` without the beginning of a word at its end, unless that is a long one."""
    at = max(text.rfind(" ", -_WORD_BYTES), text.rfind("\n", -_WORD_BYTES))
    return text[:at] if at > 0 else text
