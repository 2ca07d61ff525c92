"""What messages are made of: the parts of prompts, answers and tool results.

An answer's parts carry an id from their first byte, so that a finished part replaces the one that
was streamed.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from agentls.protocol.wire_model import JsonObject, WireModel


class TextBlock(WireModel):
    """Plain text in a prompt or in a tool's result."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(WireModel):
    """A picture in a prompt or in a tool's result."""

    type: Literal["image"] = "image"
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    data: str
    """The file's bytes, base64."""
    name: str | None = None
    """How a person knows it."""


class DocumentBlock(WireModel):
    """A document in a prompt: a PDF, which the model reads page by page."""

    type: Literal["document"] = "document"
    media_type: str
    """`application/pdf`."""
    data: str
    """The file's bytes, base64."""
    name: str | None = None
    """How a person knows it."""
    pages: int | None = None
    """How many pages it has, where that is known."""


class FileBlock(WireModel):
    """What an @-mention in a prompt stands for, as it was when the turn began."""

    type: Literal["file"] = "file"
    what: Literal["file", "range", "symbol", "folder"]
    path: str
    """Relative to the working folder for a file inside of it, else absolute."""
    text: str
    """The lines, the symbol's definition, or the names in the folder."""
    symbol: str | None = None
    first_line: int | None = None
    """From 1; null for a folder."""
    last_line: int | None = None
    left_out: str | None = None
    """What of it is not in `text`, and why, for the model."""


Content = TextBlock | ImageBlock | DocumentBlock | FileBlock
ContentBlock = Annotated[Content, Field(discriminator="type")]


def text_of(content: Iterable[Content], separator: str = "\n") -> str:
    """Return what was written in a prompt or a result, with a mark where something else stands."""
    return separator.join(
        block.text if isinstance(block, TextBlock) else f"[{block_label(block)}]"
        for block in content
    )


def block_label(block: ImageBlock | DocumentBlock | FileBlock) -> str:
    """Return what a person is shown in a block's place: "image: plan.png", "file: src/main.py"."""
    if not isinstance(block, FileBlock):
        return f"{block.type}: {block.name or block.media_type}"
    lines = f":{block.first_line}-{block.last_line}" if block.what == "range" else ""
    return f"{block.what}: {block.path}{lines}{f'#{block.symbol}' if block.symbol else ''}"


Author = Literal["user", "agentls"]
"""Who says what stands on the user's side of a conversation. `agentls`: a notice for the model."""


class TextPart(WireModel):
    """Text of the model, Markdown."""

    type: Literal["text"] = "text"
    id: str
    text: str


class ThinkingPart(WireModel):
    """The model's reasoning; it goes back to the model exactly as it came, or not at all."""

    type: Literal["thinking"] = "thinking"
    id: str
    text: str
    signature: str = ""


class RedactedThinkingPart(WireModel):
    """Reasoning that the API sent encrypted; it goes back as it came."""

    type: Literal["redactedThinking"] = "redactedThinking"
    id: str
    data: str


class ToolCallPart(WireModel):
    """A tool call as the model wrote it."""

    type: Literal["toolCall"] = "toolCall"
    id: str
    """The call's id, by which approvals, progress and the result refer to it."""
    name: str
    input: JsonObject = Field(default_factory=dict[str, JsonValue])
    malformed_input: str | None = None
    """What the model wrote, where that is not a JSON object; `input` is then empty."""


AnswerPart = Annotated[
    TextPart | ThinkingPart | RedactedThinkingPart | ToolCallPart, Field(discriminator="type")
]


class LivePart(WireModel):
    """A part of an answer that is still being streamed."""

    type: Literal["text", "thinking", "redactedThinking", "toolCall"]
    id: str
    name: str | None = None
    """The tool's name, for a tool call."""
    text: str = ""
    """What has come so far; for a tool call, its input as unfinished JSON."""


StopReason = Literal[
    "endTurn",
    "toolUse",
    "maxTokens",
    "stopSequence",
    "refusal",
    "contextWindow",
    "cancelled",
    "interrupted",
    "cut",
    "other",
]
"""Why an answer ended: the Messages API's values of `stop_reason`, and three of ours.

`cancelled`: the user stopped it. `interrupted`: the server ended in the middle of it; what had
come is kept. `cut`: the model's side broke off; its whole parts are kept, and the turn goes on.
"""


API_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "endTurn",
    "tool_use": "toolUse",
    "max_tokens": "maxTokens",
    "stop_sequence": "stopSequence",
    "refusal": "refusal",
    "model_context_window_exceeded": "contextWindow",
}
"""The Messages API's own words for them."""


class Usage(WireModel):
    """Tokens and cost of one model response, or of several added up."""

    input_tokens: int = 0
    """Those that no cache had."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_nano_usd: int = 0
    """Billionths of a US dollar, an estimate by the list price at the time: whole numbers add up
    to the same sum in any order."""
    unpriced_responses: int = 0
    """Responses whose price is not known; the cost is that of the others."""

    @property
    def context_tokens(self) -> int:
        """What the request held and the answer added to it."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
            + self.output_tokens
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_nano_usd=self.cost_nano_usd + other.cost_nano_usd,
            unpriced_responses=self.unpriced_responses + other.unpriced_responses,
        )


TodoStatus = Literal["pending", "inProgress", "completed"]


class Todo(WireModel):
    """One line of the agent's plan."""

    content: str
    """What is to be done, in the imperative."""
    active_form: str
    """The same while it is being done: "Running the tests"."""
    status: TodoStatus


class FileChange(WireModel):
    """A file that a tool call changed."""

    path: str
    """Relative to the working folder for a file inside of it, else absolute."""
    kind: Literal["created", "modified", "deleted"]
    before_sha256: str | None
    after_sha256: str | None
    added_lines: int
    removed_lines: int
    before_mode: int | None = None
    """`st_mode`, type bits included: of a link the content is where it leads."""
    after_mode: int | None = None
    restorable: bool = True
    """The content before it is kept, so that a rewind can bring it back."""
    made_folders: int | None = None
    """How many folders, counted from the file up, were made with it; null: not known."""
    raw_path: str | None = None
    """The bytes of a path that is not Unicode, percent-encoded."""
