"""Histories made by hand, and pictures for them."""

import base64
import io
import random
from functools import cache
from typing import Any

from PIL import Image

from agentls.protocol.content import (
    AnswerPart,
    ImageBlock,
    StopReason,
    TextBlock,
    TextPart,
    ToolCallPart,
    Usage,
)
from agentls.protocol.history import Answer, CallResult, Gap, Summary, UserMessage
from agentls.protocol.tool_calls import CallOutcome, ToolCall

AT = "2026-11-30T15:00:00.000Z"


def user(*content: str | ImageBlock) -> UserMessage:
    return UserMessage(id="u", at=AT, turn_id="t", content=_content(content))


def answer(*parts: AnswerPart, stop_reason: StopReason = "endTurn", at: str = AT) -> Answer:
    return Answer(
        id="a", at=at, turn_id="t", model="m", parts=parts, stop_reason=stop_reason, usage=Usage()
    )


def text(words: str) -> TextPart:
    return TextPart(id="p", text=words)


def call(call_id: str, **arguments: Any) -> ToolCallPart:
    return ToolCallPart(id=call_id, name="Read", input=arguments)


def result(
    call_id: str, *content: str | ImageBlock, outcome: CallOutcome | None = "ok"
) -> CallResult:
    return CallResult(
        call=ToolCall(
            id=call_id,
            message_id="a",
            name="Read",
            invocation="Reading",
            input={},
            status="finished",
            outcome=outcome,
            content=_content(content),
        )
    )


def summary(words: str, at: str = AT) -> Summary:
    return Summary(id="s", at=at, text=words, message_count=12)


def gap() -> Gap:
    return Gap(id="g", at=AT, missing="m7")


def image(data: bytes, name: str | None = "shot.png", media_type: str = "image/png") -> ImageBlock:
    return ImageBlock(media_type=media_type, data=base64.b64encode(data).decode(), name=name)


@cache
def picture(width: int = 4, height: int = 3, kind: str = "PNG", mode: str = "RGB") -> bytes:
    """Return a picture's file: smooth, so that it is small."""
    return encoded(Image.linear_gradient("L").resize((width, height)).convert(mode), kind)


@cache
def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    """Return a picture's file that no encoder makes small."""
    pixels = random.Random(0).randbytes(width * height * 3)
    return encoded(Image.frombytes("RGB", (width, height), pixels), kind)


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def opened(block: dict[str, Any]) -> Image.Image:
    """Return the picture of an image block that is sent."""
    return Image.open(io.BytesIO(base64.b64decode(block["source"]["data"])))


def _content(content: tuple[str | ImageBlock, ...]) -> tuple[TextBlock | ImageBlock, ...]:
    return tuple(TextBlock(text=item) if isinstance(item, str) else item for item in content)
