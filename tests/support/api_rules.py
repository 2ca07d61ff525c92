"""The documented rules of the Messages API for a request's messages, to check what is sent.

Written from the documentation, page by page, and not from the code that keeps to it. The pages are
those of Anthropic's API documentation; where a rule is known from the API's own refusal alone, the
refusal stands in its place.
"""

import base64
import binascii
import contextlib
import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from PIL import Image

Message = dict[str, Any]
Block = dict[str, Any]

# "Define tools": the name of a tool matches this; the same letters are refused in ids, with
# "String should match pattern '^[a-zA-Z0-9_-]+$'".
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")

# "API overview", Request size limits: Messages API, 32 MB.
REQUEST_BYTES = 32_000_000
# "Create a message": a limit of 100,000 messages in a request.
MESSAGES = 100_000
# "Images and vision", General limits.
IMAGE_TYPES = {"image/jpeg": "JPEG", "image/png": "PNG", "image/gif": "GIF", "image/webp": "WEBP"}
IMAGES_PER_REQUEST = 100
IMAGE_BASE64 = 5 * 1024 * 1024  # "image exceeds 5 MB maximum: 5649924 bytes > 5242880 bytes"
IMAGE_SIDE = 8000
MANY_IMAGES, SIDE_OF_MANY = 20, 2000

# "Create a message", the blocks' schemas: the fields of each, and whose message it stands in.
FIELDS = {
    "text": ({"text"}, {"user", "assistant"}),
    "image": ({"source"}, {"user"}),
    "document": ({"source"}, {"user"}),
    "tool_use": ({"id", "name", "input"}, {"assistant"}),
    "tool_result": ({"tool_use_id", "content"}, {"user"}),
    "thinking": ({"thinking", "signature"}, {"assistant"}),
    "redacted_thinking": ({"data"}, {"assistant"}),
}
OPTIONAL = {"tool_result": {"is_error"}, "document": {"title"}}
# The schema of a document's title.
TITLE = range(1, 501)
# "PDF support": pages of all documents, with a window of a million tokens.
PAGES_PER_REQUEST = 600


def violations(
    messages: Sequence[Message], *, thoughts: Iterable[Block] | None = None
) -> list[str]:
    """Return what the API would refuse, a line each; none means that it takes the messages.

    `thoughts` are the thinking blocks that it has sent, where the caller knows them.
    """
    found = [*_of_the_order(messages), *_of_the_encoding(messages)]
    for number, message in enumerate(messages):
        found += (f"messages.{number}: {said}" for said in _of_a_message(message))
    found += [*_of_the_calls(messages), *_of_the_images(messages), *_of_the_pages(messages)]
    if thoughts is not None:
        found += _of_the_thoughts(messages, list(thoughts))
    return found


def _of_the_order(messages: Sequence[Message]) -> Iterator[str]:
    # "Create a message": at least one, user first, and turns that alternate.
    if not messages:
        yield "messages: at least one message is required"
        return
    if len(messages) > MESSAGES:
        yield f"messages: {len(messages)} of at most {MESSAGES}"
    if messages[0].get("role") != "user":
        yield "messages: first message must use the user role"
    for number, (one, next_one) in enumerate(pairwise(messages), 1):
        if one.get("role") == next_one.get("role"):
            yield f"messages.{number}: roles must alternate"
    # "Errors", Prefill not supported.
    if messages[-1].get("role") != "user":
        yield "messages: the conversation must end with a user message"


def _of_the_encoding(messages: Sequence[Message]) -> Iterator[str]:
    # RFC 8259: JSON is UTF-8, which has no surrogates, and knows no NaN.
    try:
        size = len(json.dumps(list(messages), ensure_ascii=False, allow_nan=False).encode())
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError) as error:
        yield f"messages: not JSON: {error}"
        return
    if size > REQUEST_BYTES:
        yield f"messages: {size} bytes of at most {REQUEST_BYTES}"


def _of_a_message(message: Message) -> Iterator[str]:
    if set(message) != {"role", "content"} or message["role"] not in ("user", "assistant"):
        yield f"not a message: {sorted(message)}"
        return
    content = message["content"]
    # "all messages must have non-empty content except for the optional final assistant message"
    if not isinstance(content, list) or not content:
        yield "content is empty"
        return
    for place, block in enumerate(content):
        yield from (f"content.{place}: {said}" for said in _of_a_block(block, message["role"]))
    # "The final block in an assistant message cannot be `thinking`."
    if content[-1].get("type") in ("thinking", "redacted_thinking"):
        yield "the final block is a thought"
    # "Handle tool calls": tool results come first in the content.
    kinds = [block.get("type") == "tool_result" for block in content]
    if kinds != sorted(kinds, reverse=True):
        yield "a tool_result comes after other content"


def _of_a_block(block: Block, role: str) -> Iterator[str]:
    kind = block.get("type")
    if kind not in FIELDS:
        yield f"unknown type {kind!r}"
        return
    fields, roles = FIELDS[kind]
    if role not in roles:
        yield f"{kind} in a message of the {role}"
    if missing := fields - set(block):
        yield f"{kind} without {sorted(missing)}"
        return
    if extra := set(block) - fields - OPTIONAL.get(kind, set()) - {"type"}:
        yield f"{kind} with extra inputs {sorted(extra)}"
    yield from _BLOCK_RULES.get(kind, _nothing)(block)


def _of_a_text(block: Block) -> Iterator[str]:
    # "text content blocks must be non-empty", "must contain non-whitespace text"
    if not isinstance(block["text"], str) or not block["text"].strip():
        yield "text content blocks must contain non-whitespace text"


def _of_a_call(block: Block) -> Iterator[str]:
    if not isinstance(block["id"], str) or not CALL_ID.fullmatch(block["id"]):
        yield f"tool_use.id {block['id']!r}"
    if not isinstance(block["name"], str) or not TOOL_NAME.fullmatch(block["name"]):
        yield f"tool_use.name {block['name']!r}"
    # "tool_use.input: Input should be a valid dictionary"
    if not isinstance(block["input"], dict):
        yield "tool_use.input is not an object"


def _of_a_result(block: Block) -> Iterator[str]:
    if not isinstance(block["content"], list):
        yield "tool_result.content is not a list"
        return
    for place, inner in enumerate(block["content"]):
        if inner.get("type") not in ("text", "image", "document"):
            yield f"tool_result.content.{place}: unknown type {inner.get('type')!r}"
            continue
        yield from (f"tool_result.content.{place}: {said}" for said in _of_a_block(inner, "user"))
        # "all content must be type `text` if `is_error` is true"
        if block.get("is_error") and inner["type"] != "text":
            yield "all content must be type `text` if `is_error` is true"


def _of_a_document(block: Block) -> Iterator[str]:
    source = block["source"]
    if source.get("type") != "base64" or set(source) != {"type", "media_type", "data"}:
        yield f"document.source with {sorted(source)}"
        return
    if source["media_type"] != "application/pdf":
        yield f"document.source.media_type {source['media_type']!r}"
    if "title" in block and len(block["title"]) not in TITLE:
        yield f"document.title of {len(block['title'])} characters"
    try:
        data = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError) as error:
        yield f"document.source.data: {error}"
        return
    # "PDF support": a standard PDF, no passwords or encryption.
    if b"%PDF-" not in data[:1024]:
        yield "The PDF specified was not valid"
    elif b"/Encrypt" in data:
        yield "The PDF specified is password protected"


def _of_a_thought(block: Block) -> Iterator[str]:
    # "Thinking", Preserving thinking blocks: with the signature, as returned. The text may be
    # empty ("Controlling thinking display").
    if not isinstance(block["thinking"], str):
        yield "thinking is no text"
    if not isinstance(block["signature"], str) or not block["signature"].strip():
        yield "Invalid `signature` in `thinking` block"


def _of_a_redacted_thought(block: Block) -> Iterator[str]:
    if not isinstance(block["data"], str) or not block["data"].strip():
        yield "redacted_thinking without data"


def _nothing(_: Block) -> Iterator[str]:
    return iter(())


_BLOCK_RULES = {
    "text": _of_a_text,
    "document": _of_a_document,
    "tool_use": _of_a_call,
    "tool_result": _of_a_result,
    "thinking": _of_a_thought,
    "redacted_thinking": _of_a_redacted_thought,
}


def _of_the_calls(messages: Sequence[Message]) -> Iterator[str]:
    # "Handle tool calls": each call is answered in the next message, once. "`tool_use` ids must be
    # unique"; "unexpected `tool_use_id` found in `tool_result` blocks"; "each tool_use must have a
    # single result".
    ids: set[str] = set()
    waiting: list[str] = []
    for number, message in enumerate([*messages, {"role": "user", "content": []}]):
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        results = [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
        if results != waiting:
            yield f"messages.{number}: results {results} follow the calls {waiting}"
        waiting = [b.get("id") for b in blocks if b.get("type") == "tool_use"]
        for call_id in waiting:
            if call_id in ids:
                yield f"messages.{number}: `tool_use` ids must be unique: {call_id}"
            ids.add(call_id)


def _of_the_images(messages: Sequence[Message]) -> Iterator[str]:
    images = list(_blocks(messages, "image"))
    if len(images) > IMAGES_PER_REQUEST:
        yield f"messages: {len(images)} images of at most {IMAGES_PER_REQUEST}"
    side = SIDE_OF_MANY if len(images) > MANY_IMAGES else IMAGE_SIDE
    for image in images:
        yield from _of_an_image(image, side)


def _of_the_pages(messages: Sequence[Message]) -> Iterator[str]:
    pages = 0
    for document in _blocks(messages, "document"):
        data = str(document["source"].get("data", "")).encode("ascii", "replace")
        with contextlib.suppress(binascii.Error, ValueError):
            pages += len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(data)))
    if pages > PAGES_PER_REQUEST:
        yield f"A maximum of {PAGES_PER_REQUEST} PDF pages may be provided, not {pages}"


def _blocks(messages: Sequence[Message], kind: str) -> Iterator[Block]:
    """Yield every block of a kind, those in results too, which count as well."""
    for message in messages:
        for block in message["content"]:
            if block.get("type") == kind:
                yield block
            elif block.get("type") == "tool_result":
                yield from (inner for inner in block["content"] if inner.get("type") == kind)


def _of_an_image(image: Block, side: int) -> Iterator[str]:
    source = image["source"]
    if set(source) != {"type", "media_type", "data"} or source["type"] != "base64":
        yield f"image.source with {sorted(source)}"
        return
    if source["media_type"] not in IMAGE_TYPES:
        yield f"image.source.media_type {source['media_type']!r}"
        return
    if len(source["data"]) > IMAGE_BASE64:
        yield f"image exceeds 5 MB maximum: {len(source['data'])} bytes > {IMAGE_BASE64} bytes"
    try:
        data = base64.b64decode(source["data"], validate=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as opened:
                width, height, kind = opened.width, opened.height, opened.format
    except (binascii.Error, ValueError, OSError) as error:
        yield f"Could not process image: {error}"
        return
    # "The image was specified using the image/png media type, but appears to be image/jpeg"
    if kind != IMAGE_TYPES[source["media_type"]]:
        yield f"image specified as {source['media_type']} appears to be {kind}"
    if max(width, height) > side:
        yield f"image dimensions {width} x {height} exceed max allowed size: {side} pixels"


def _of_the_thoughts(messages: Sequence[Message], original: list[Block]) -> Iterator[str]:
    # "Thinking", Preserving thinking blocks: unmodified, in their order.
    position = 0
    for number, message in enumerate(messages):
        for block in message["content"]:
            if block.get("type") not in ("thinking", "redacted_thinking"):
                continue
            while position < len(original) and original[position] != block:
                position += 1
            if position == len(original):
                yield f"messages.{number}: a thought was modified or moved: {block}"
                return
            position += 1
