"""What of a history fits into one request: the newest images, and the thoughts that still count.

Both are decided by the entries in their order alone, so that a conversation that grows and the same
one loaded anew are sent alike, and decided once: what was left out stays left out. To leave images
out changes what was sent before, which costs the model's cache; so many go at once, and rarely.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agentls.llm.blocks import encode, sendable_json
from agentls.llm.images import (
    MANY_IMAGES,
    NO_PILLOW,
    SIDE_AMONG_MANY,
    SendableImage,
    images_of,
    sendable_image,
)
from agentls.protocol.content import (
    AnswerPart,
    ImageBlock,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from agentls.protocol.history import Answer, CallResult, Entry, Gap, Summary, UserMessage

MAX_IMAGES = 100
"""In one request, with models of a 200,000-token window; others take 600."""
FEWER_IMAGES = 75
"""What is left of them when there were too many."""
MAX_BYTES = 30_000_000
"""Of the messages, as JSON: 32 MB is the whole request's, of which the rest is for the prompt and
the tools. Source: the API's overview, "Request size limits"."""
FEWER_BYTES = 20_000_000
BLOCK_BYTES = 700
"""What a block takes besides its text: keys, ids, a name, a note in an image's place."""

ONE_OF_TOO_MANY = f"a request holds {MAX_IMAGES} images at most, and this is one of the oldest"
TOO_MUCH_TOGETHER = "a request holds 32 MB at most, and this image is one of the oldest"
TOO_LARGE_AMONG_MANY = (
    f"with more than {MANY_IMAGES} images none may have more than {SIDE_AMONG_MANY} pixels a side, "
    f"and {NO_PILLOW}"
)

Place = tuple[int, int]
"""Of an image: the number of its entry in the history, and its place in that."""


@dataclass(frozen=True, slots=True)
class _Shown:
    place: Place
    size: int
    is_large: bool


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What differs from what was sent before: images left out, and so thoughts that lost count."""

    left_out: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    """By entry and place in it: why the image is left out."""
    begin: int = 0
    end: int = 0
    """Answers from `begin` to before `end` were thought with images that are left out now."""


class Fitting:
    """Follows a history entry by entry, and says what of it is sent."""

    def __init__(self) -> None:
        self.rewritten = Rewritten()
        self._gap: int | None = None
        """Where messages are missing: what is thought after it was thought of more than is sent."""
        self._summaries: tuple[tuple[int, str], ...] = ()
        """Where and when the conversation was compacted, which changed what thoughts follow."""
        self._count = 0
        self._shown: deque[_Shown] = deque()
        self._bytes = 0
        self._unmeasured: list[Entry] = []
        self._any_image = False

    def after(self, entries: Sequence[Entry]) -> "Fitting":
        """Return what holds with `entries` added; this one stays as it is."""
        other = Fitting()
        other.rewritten = self.rewritten
        other._gap, other._summaries = self._gap, self._summaries
        other._count, other._bytes, other._any_image = self._count, self._bytes, self._any_image
        other._shown = self._shown.copy()
        # Without images the sizes do not matter, and to copy the list each time would.
        if self._any_image or any(map(_has_image, entries)):
            other._unmeasured = self._unmeasured.copy()
        other.add(entries)
        return other

    def add(self, entries: Sequence[Entry]) -> None:
        """Follow these entries, which come next."""
        if not self._any_image and not any(map(_matters, entries)):
            self._unmeasured += entries
            self._count += len(entries)
            return
        for entry in entries:
            self._add(entry)
            self._count += 1

    def takes_thoughts_of(self, number: int, answer: Answer) -> bool:
        """Whether the model's server would still know the thoughts of this answer.

        Newer models check that nothing before a thought has changed since (documentation,
        "Preserved thinking"), and refuse the request where something has.
        """
        if self._gap is not None and number > self._gap:
            return False
        if self._summaries and any(
            place < number and answer.at <= at for place, at in self._summaries
        ):
            return False
        return not self.rewritten.begin <= number < self.rewritten.end

    def left_out_of(self, number: int) -> dict[int, str]:
        """Return the places of the images of an entry that are not sent, each with the reason."""
        return self.rewritten.left_out.get(number, {})

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, Gap) and self._gap is None:
            self._gap = self._count
        elif isinstance(entry, Summary):
            self._summaries = (*self._summaries, (self._count, entry.at))
        self._unmeasured.append(entry)
        if not self._any_image and not _has_image(entry):
            return
        self._any_image = True
        self._bytes += sum(map(_text_bytes, self._unmeasured))
        self._unmeasured.clear()
        if not isinstance(entry, CallResult) or entry.call.outcome == "ok":
            self._show(images_of(_content_of(entry)))
        if self._bytes > MAX_BYTES:
            self._leave_out_oldest(len(self._shown), FEWER_BYTES, TOO_MUCH_TOGETHER)

    def _show(self, images: Iterable[tuple[int, ImageBlock]]) -> None:
        for place, block in images:
            image = sendable_image(block)
            if not isinstance(image, SendableImage):
                continue
            shown = _Shown((self._count, place), len(image.data), image.is_large)
            self._shown.append(shown)
            self._bytes += shown.size
            if len(self._shown) > MAX_IMAGES:
                self._leave_out_oldest(FEWER_IMAGES, MAX_BYTES, ONE_OF_TOO_MANY)
            if len(self._shown) > MANY_IMAGES:
                self._leave_out_large()

    def _leave_out_oldest(self, most: int, most_bytes: int, reason: str) -> None:
        places: list[Place] = []
        while self._shown and (len(self._shown) > most or self._bytes > most_bytes):
            oldest = self._shown.popleft()
            self._bytes -= oldest.size
            places.append(oldest.place)
        self._leave_out(places, reason)

    def _leave_out_large(self) -> None:
        large = [shown for shown in self._shown if shown.is_large]
        if not large:
            return
        self._shown = deque(shown for shown in self._shown if not shown.is_large)
        self._bytes -= sum(shown.size for shown in large)
        self._leave_out([shown.place for shown in large], TOO_LARGE_AMONG_MANY)

    def _leave_out(self, places: list[Place], reason: str) -> None:
        if not places:
            return
        left_out = dict(self.rewritten.left_out)
        for number, place in places:
            left_out[number] = {**left_out.get(number, {}), place: reason}
        sent_before = [number for number, _ in places if number < self._count]
        begin, end = self.rewritten.begin, self.rewritten.end
        if sent_before:
            begin = min(sent_before) if end == 0 else min(begin, *sent_before)
            end = self._count
        self.rewritten = Rewritten(left_out, begin, end)


def _matters(entry: Entry) -> bool:
    return not isinstance(entry, Answer) and (isinstance(entry, Summary | Gap) or _has_image(entry))


def _has_image(entry: Entry) -> bool:
    return any(isinstance(block, ImageBlock) for block in _content_of(entry))


def _content_of(entry: Entry) -> tuple[TextBlock | ImageBlock, ...]:
    if isinstance(entry, UserMessage):
        return entry.content
    return entry.call.content if isinstance(entry, CallResult) else ()


def _text_bytes(entry: Entry) -> int:
    """Return at least what the entry takes as JSON, but for its images."""
    match entry:
        case UserMessage() | CallResult():
            content = _content_of(entry)
            texts = [block.text for block in content if not isinstance(block, ImageBlock)]
            return sum(map(_json_bytes, texts)) + BLOCK_BYTES * (len(content) + 1)
        case Answer():
            return sum(_part_bytes(part) + BLOCK_BYTES for part in entry.parts) + BLOCK_BYTES
        case Summary():
            return _json_bytes(entry.text) + BLOCK_BYTES
        case Gap():
            return BLOCK_BYTES


def _part_bytes(part: AnswerPart) -> int:
    match part:
        case TextPart():
            return _json_bytes(part.text)
        case ThinkingPart():
            return _json_bytes(part.text) + _json_bytes(part.signature)
        case RedactedThinkingPart():
            return _json_bytes(part.data)
        case ToolCallPart():
            return len(encode(sendable_json(part.input)))


def _json_bytes(text: str) -> int:
    return len(encode(text))
