"""A server of the Messages API that keeps prompts as Anthropic's does, by the test's own clock.

Written from the documentation, "Prompt caching", and not from the code that hopes to hit: a prompt
is its tools, then its system prompt, then its messages, a row of blocks. Up to 4 blocks may carry
`cache_control`; what comes up to such a block is kept, and nothing else is. A request looks for
what is kept from each of its marks backwards, the marked block and the 19 before it, and reads the
longest. What is kept is one model's, is gone 5 minutes after its last use, and is at least 1,024
tokens long. Another setting of thinking leaves tools and system prompt kept and no message.
"""

import hashlib
import json
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MOST_MARKS = 4
LOOK_BACK = 20
KEPT_SECONDS = 5 * 60
LEAST_TOKENS = 1_024
BYTES_PER_TOKEN = 4

Answer = dict[str, Any]
"""What the model says, as in scenarios: `text`, `calls` with `name`, `input` and `id`."""


class Refused(Exception):
    """The request breaks a rule; the text is the API's error message."""


@dataclass(frozen=True)
class CacheUsage:
    """What the server says of a prompt; the three add up to it."""

    input: int
    read: int
    written: int


@dataclass(frozen=True)
class Block:
    """A block of a prompt, and all that comes before it."""

    key: bytes
    """The same for the same prompt up to here, and for no other."""
    tokens: int
    """Of the prompt up to here."""
    marked: bool


class PromptCache:
    """What is kept of prompts, and until when."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds; goes on when a test says so."""
        self._kept_until: dict[bytes, float] = {}

    def use(self, request: dict[str, Any]) -> CacheUsage:
        """Read what is kept of a request's prompt and keep what it marks. Raises Refused."""
        blocks = list(_blocks(request))
        marks = [place for place, block in enumerate(blocks) if block.marked]
        if len(marks) > MOST_MARKS:
            raise Refused(
                f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. "
                f"Found {len(marks)}."
            )
        total = blocks[-1].tokens
        found = [place for mark in marks for place in self._found_from(blocks, mark)]
        read = blocks[max(found)].tokens if found else 0
        kept = [blocks[mark] for mark in marks if blocks[mark].tokens >= LEAST_TOKENS]
        for block in (*kept, *(blocks[place] for place in found)):
            self._kept_until[block.key] = self.now + KEPT_SECONDS
        end = max(read, kept[-1].tokens if kept else 0)
        return CacheUsage(input=total - end, read=read, written=end - read)

    def _found_from(self, blocks: Sequence[Block], mark: int) -> Iterator[int]:
        for place in range(mark, max(-1, mark - LOOK_BACK), -1):
            if self._kept_until.get(blocks[place].key, -1) >= self.now:
                yield place
                return


class CacheServer:
    """The server; `serving_cache` starts and ends it."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.cache = PromptCache()
        self.requests: list[dict[str, Any]] = []
        self.usages: list[CacheUsage] = []
        """One for each request that was not refused."""
        self.url = ""
        self._answers = list(answers)

    def wait(self, seconds: float) -> None:
        """Let time go by for what is kept."""
        self.cache.now += seconds

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Return the events of the next answer; after the last one it is repeated."""
        self.requests.append(request)
        usage = self.cache.use(request)
        number = len(self.usages)
        self.usages.append(usage)
        answer = self._answers[min(number, len(self._answers) - 1)]
        return _events(answer, f"msg_{number}", request["model"], usage)


@contextmanager
def serving_cache(*answers: Answer) -> Generator[CacheServer]:
    """Serve on a free port of this machine, in a thread that ends with the block."""
    server = CacheServer(answers)

    class Handler(_Handler):
        serves = server

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    serves: CacheServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            events = self.serves.answer(request)
        except Refused as refused:
            error = {"type": "invalid_request_error", "message": str(refused)}
            body = json.dumps({"type": "error", "error": error}).encode()
            self._send(400, "application/json", body)
            return
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(200, "text/event-stream", "".join(lines).encode())

    def _send(self, status: int, mime: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", mime)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""


def _blocks(request: dict[str, Any]) -> Iterator[Block]:
    chain = hashlib.blake2b(request["model"].encode())
    tokens = 0
    for part, block in _parts(request):
        bare = {name: value for name, value in block.items() if name != "cache_control"}
        data = json.dumps([part, bare]).encode()
        chain.update(len(data).to_bytes(8, "big") + data)
        tokens += -(-len(data) // BYTES_PER_TOKEN)
        marked = "cache_control" in block
        if marked and not _may_be_marked(block):
            raise Refused(f"cache_control cannot be set for {block['type']} blocks like this one")
        yield Block(chain.copy().digest(), tokens, marked)


def _parts(request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the prompt's blocks in their order, each with what stands around it."""
    for tool in request.get("tools", ()):
        yield "tool", tool
    for block in _as_blocks(request.get("system", [])):
        yield "system", block
    thinking = json.dumps(request.get("thinking"), sort_keys=True)
    for number, message in enumerate(request["messages"]):
        for block in _as_blocks(message["content"]):
            yield f"{thinking} {number} {message['role']}", block


def _as_blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _may_be_marked(block: dict[str, Any]) -> bool:
    if block.get("type") in ("thinking", "redacted_thinking"):
        return False
    return block.get("type") != "text" or bool(block["text"])


def _events(
    answer: Answer, message_id: str, model: str, usage: CacheUsage
) -> Iterator[dict[str, Any]]:
    counted = {
        "input_tokens": usage.input,
        "cache_read_input_tokens": usage.read,
        "cache_creation_input_tokens": usage.written,
    }
    message = {"id": message_id, "type": "message", "role": "assistant", "model": model}
    rest: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "usage": counted | {"output_tokens": 1},
    }
    yield {"type": "message_start", "message": message | rest}
    for index, (start, delta) in enumerate(_content(answer, message_id)):
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if answer.get("calls") else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": counted | {"output_tokens": 50}}
    yield {"type": "message_stop"}


def _content(answer: Answer, message_id: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    if text := answer.get("text"):
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
    for number, call in enumerate(answer.get("calls", ())):
        call_id = call.get("id", f"toolu_{message_id}_{number}")
        start: dict[str, Any] = {
            "type": "tool_use",
            "id": call_id,
            "name": call["name"],
            "input": {},
        }
        yield start, {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
