"""What of a history fits into one request: the newest pictures and documents, and the thoughts that
still count.

All is decided by the entries in their order alone, so that a conversation that grows and the same
one loaded anew are sent alike, and decided once: what was left out stays left out. To leave media
out changes what was sent before, which costs the model's cache; so many go at once, and rarely.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agentls.llm.blocks import encode, file_text, sendable_json
from agentls.llm.clearing import Clearing
from agentls.llm.documents import SendableDocument, sendable_document
from agentls.llm.images import (
    MANY_IMAGES,
    NO_PILLOW,
    SIDE_AMONG_MANY,
    SendableImage,
    sendable_image,
)
from agentls.protocol.content import (
    AnswerPart,
    Content,
    DocumentBlock,
    FileBlock,
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
MAX_PAGES = 600
"""Of all documents in one request, with models of a window of a million tokens; others take 100.
Source: the API's documentation, "PDF support"."""
FEWER_PAGES = 450
MAX_BYTES = 30_000_000
"""Of the messages, as JSON: 32 MB is the whole request's, of which the rest is for the prompt and
the tools. Source: the API's overview, "Request size limits"."""
FEWER_BYTES = 20_000_000
BLOCK_BYTES = 700
"""What a block takes besides its text: keys, ids, a name, a note in an image's place."""

ONE_OF_TOO_MANY = f"a request holds {MAX_IMAGES} images at most, and this is one of the oldest"
TOO_MANY_PAGES = (
    f"a request holds {MAX_PAGES} pages of documents at most, and this is one of the oldest"
)
TOO_MUCH_TOGETHER = "a request holds 32 MB at most, and this is one of the oldest"
TOO_LARGE_AMONG_MANY = (
    f"with more than {MANY_IMAGES} images none may have more than {SIDE_AMONG_MANY} pixels a side, "
    f"and {NO_PILLOW}"
)

Place = tuple[int, int]
"""Of a picture or document: the number of its entry in the history, and its place in that."""


@dataclass(frozen=True, slots=True)
class _Shown:
    place: Place
    size: int
    images: int = 0
    pages: int = 0
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What differs from what was sent before: media left out, and so thoughts that lost count."""

    left_out: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    """By entry and place in it: why it is left out."""
    begin: int = 0
    end: int = 0
    """Answers from `begin` to before `end` were thought with what is left out now."""


class Fitting:
    """Follows a history entry by entry, and says what of it is sent."""

    def __init__(self, clearing: Clearing | None = None) -> None:
        self.rewritten = Rewritten()
        self._clearing = clearing or Clearing()
        self._first_cleared: int | None = None
        self._gap: int | None = None
        """Where messages are missing: what is thought after it was thought of more than is sent."""
        self._summaries: tuple[tuple[int, str], ...] = ()
        """Where and when the conversation was compacted, which changed what thoughts follow."""
        self._count = 0
        self._shown: list[_Shown] = []
        """Oldest first."""
        self._bytes = 0
        """Of all that is no picture and no document."""
        self._unmeasured: list[Entry] = []
        self._any_media = False

    def after(self, entries: Sequence[Entry]) -> "Fitting":
        """Return what holds with `entries` added; this one stays as it is."""
        other = Fitting(self._clearing)
        other.rewritten = self.rewritten
        other._first_cleared = self._first_cleared
        other._gap, other._summaries = self._gap, self._summaries
        other._count, other._bytes, other._any_media = self._count, self._bytes, self._any_media
        other._shown = self._shown.copy()
        # Without media the sizes do not matter, and to copy the list each time would.
        if self._any_media or any(map(_has_media, entries)):
            other._unmeasured = self._unmeasured.copy()
        other.add(entries)
        return other

    def add(self, entries: Sequence[Entry]) -> None:
        """Follow these entries, which come next."""
        cleared = self._count < self._clearing.before
        if not self._any_media and not cleared and not any(map(_matters, entries)):
            self._unmeasured += entries
            self._count += len(entries)
            return
        for entry in entries:
            sent = self.sent(self._count, entry)
            if sent is not entry and self._first_cleared is None:
                self._first_cleared = self._count
            self._add(sent)
            self._count += 1

    def sent(self, number: int, entry: Entry) -> Entry:
        """Return an entry as it is sent, where old output is cleared."""
        return self._clearing.sent(number, entry)

    def takes_thoughts_of(self, number: int, answer: Answer) -> bool:
        """Whether the model's server would still know the thoughts of this answer.

        Newer models check that nothing before a thought has changed since (documentation,
        "Preserved thinking"), and refuse the request where something has.
        """
        if self._gap is not None and number > self._gap:
            return False
        after_cleared = self._first_cleared is not None and number > self._first_cleared
        if after_cleared and self._clearing.was_thought_before(number, answer):
            return False
        if self._summaries and any(
            place < number and answer.at <= at for place, at in self._summaries
        ):
            return False
        return not self.rewritten.begin <= number < self.rewritten.end

    def left_out_of(self, number: int) -> dict[int, str]:
        """Return the places of the media of an entry that are not sent, each with the reason."""
        return self.rewritten.left_out.get(number, {})

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, Gap) and self._gap is None:
            self._gap = self._count
        elif isinstance(entry, Summary):
            self._summaries = (*self._summaries, (self._count, entry.at))
        self._unmeasured.append(entry)
        if not self._any_media and not _has_media(entry):
            return
        self._any_media = True
        self._bytes += sum(map(_text_bytes, self._unmeasured))
        self._unmeasured.clear()
        if not isinstance(entry, CallResult) or entry.call.outcome == "ok":
            self._show(_media_of(entry))
        self._make_room(
            lambda shown: shown.size, self._bytes, MAX_BYTES, FEWER_BYTES, TOO_MUCH_TOGETHER
        )

    def _show(self, media: Iterable[tuple[int, ImageBlock | DocumentBlock]]) -> None:
        for place, block in media:
            shown = _shown((self._count, place), block)
            if shown is None:
                continue
            self._shown.append(shown)
            self._make_room(
                lambda shown: shown.images, 0, MAX_IMAGES, FEWER_IMAGES, ONE_OF_TOO_MANY
            )
            self._make_room(lambda shown: shown.pages, 0, MAX_PAGES, FEWER_PAGES, TOO_MANY_PAGES)
            if sum(shown.images for shown in self._shown) > MANY_IMAGES:
                large = [shown for shown in self._shown if shown.is_large]
                self._leave_out(large, TOO_LARGE_AMONG_MANY)

    def _make_room(
        self, weigh: Callable[[_Shown], int], taken: int, limit: int, fewer: int, reason: str
    ) -> None:
        """Leave out the oldest where all weighs more than `limit`, until it is `fewer`.

        The newest stays where there is room for it alone: it is what is being talked of.
        """
        weighing = [shown for shown in self._shown if weigh(shown)]
        total = taken + sum(map(weigh, weighing))
        if total <= limit:
            return
        gone: list[_Shown] = []
        for shown in weighing:
            if total <= (limit if shown is weighing[-1] else fewer):
                break
            total -= weigh(shown)
            gone.append(shown)
        self._leave_out(gone, reason)

    def _leave_out(self, gone: list[_Shown], reason: str) -> None:
        if not gone:
            return
        places = [shown.place for shown in gone]
        self._shown = [shown for shown in self._shown if shown.place not in places]
        left_out = dict(self.rewritten.left_out)
        for number, place in places:
            left_out[number] = {**left_out.get(number, {}), place: reason}
        sent_before = [number for number, _ in places if number < self._count]
        begin, end = self.rewritten.begin, self.rewritten.end
        if sent_before:
            begin = min(sent_before) if end == 0 else min(begin, *sent_before)
            # Also an answer that is itself too much was thought with them.
            end = self._count + 1
        self.rewritten = Rewritten(left_out, begin, end)


def _shown(place: Place, block: ImageBlock | DocumentBlock) -> _Shown | None:
    """Return what is sent of a picture or document; None where a note stands for it."""
    if isinstance(block, DocumentBlock):
        document = sendable_document(block)
        if not isinstance(document, SendableDocument):
            return None
        return _Shown(place, len(document.data), pages=document.pages)
    image = sendable_image(block)
    if not isinstance(image, SendableImage):
        return None
    return _Shown(place, len(image.data), images=1, is_large=image.is_large)


def _matters(entry: Entry) -> bool:
    return not isinstance(entry, Answer) and (isinstance(entry, Summary | Gap) or _has_media(entry))


def _has_media(entry: Entry) -> bool:
    return next(iter(_media_of(entry)), None) is not None


def _media_of(entry: Entry) -> Iterable[tuple[int, ImageBlock | DocumentBlock]]:
    """Yield the pictures and documents of an entry with their places in it."""
    if isinstance(entry, UserMessage) and entry.author != "user":
        return
    for place, block in enumerate(_content_of(entry)):
        if isinstance(block, ImageBlock | DocumentBlock):
            yield place, block


def _content_of(entry: Entry) -> tuple[Content, ...]:
    if isinstance(entry, UserMessage):
        return entry.content
    return entry.call.content if isinstance(entry, CallResult) else ()


def _text_bytes(entry: Entry) -> int:
    """Return at least what the entry takes as JSON, but for its pictures and documents."""
    match entry:
        case UserMessage() | CallResult():
            content = _content_of(entry)
            return sum(map(_block_bytes, content)) + BLOCK_BYTES * (len(content) + 1)
        case Answer():
            return sum(_part_bytes(part) + BLOCK_BYTES for part in entry.parts) + BLOCK_BYTES
        case Summary():
            return _json_bytes(entry.text) + _json_bytes(entry.put_back) + BLOCK_BYTES
        case Gap():
            return BLOCK_BYTES


def _block_bytes(block: Content) -> int:
    match block:
        case TextBlock():
            return _json_bytes(block.text)
        case FileBlock():
            return _json_bytes(file_text(block))
        case ImageBlock() | DocumentBlock():
            return 0


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
