"""The least agent that could answer: stock pygls, one pydantic model, the official SDK.

`floor/prompt {text}` loops model → Read → model and answers when the model stops; each piece of
text goes out as one `floor/delta {text}`. `floor/new` forgets the conversation. With `--no-sdk`
the SDK is not imported, which leaves the start of an agent that puts it off.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from pygls.lsp.server import LanguageServer


def make_client() -> Any:
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(max_retries=0)


client: Any = None if "--no-sdk" in sys.argv else make_client()
server = LanguageServer("floor", "1")
history: list[dict[str, Any]] = []


class ReadInput(BaseModel):
    file_path: str = Field(description="The file to read, relative to the workspace.")


READ = {
    "name": "Read",
    "description": "Reads a text file of the workspace.",
    "input_schema": ReadInput.model_json_schema(),
}


@server.feature("floor/new")
async def new(ls: LanguageServer, params: Any) -> None:
    history.clear()


@server.feature("floor/prompt")
async def prompt(ls: LanguageServer, params: Any) -> dict[str, int]:
    history.append({"role": "user", "content": params.text})
    while True:
        answer = await ask_model(ls)
        history.append({"role": "assistant", "content": answer})
        results = [run_read(block) for block in answer if block["type"] == "tool_use"]
        if not results:
            return {"messages": len(history)}
        history.append({"role": "user", "content": results})


async def ask_model(ls: LanguageServer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    pieces: list[str] = []
    stream = await client.messages.create(
        model=os.environ["FLOOR_MODEL"],
        max_tokens=16_384,
        system="You are a coding agent. Read files before you speak of them.",
        messages=history,
        tools=[READ],
        stream=True,
    )
    async for event in stream:
        if event.type == "content_block_start":
            pieces.clear()
            if event.content_block.type == "text":
                blocks.append({"type": "text", "text": ""})
            elif event.content_block.type == "tool_use":
                call = event.content_block
                blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        elif event.type == "content_block_delta":
            if event.delta.type == "text_delta":
                pieces.append(event.delta.text)
                ls.protocol.notify("floor/delta", {"text": event.delta.text})
            elif event.delta.type == "input_json_delta":
                pieces.append(event.delta.partial_json)
        elif event.type == "content_block_stop":
            if blocks[-1]["type"] == "text":
                blocks[-1]["text"] = "".join(pieces)
            else:
                blocks[-1]["input"] = json.loads("".join(pieces) or "{}")
    return blocks


def run_read(block: dict[str, Any]) -> dict[str, Any]:
    try:
        text, failed = Path(ReadInput(**block["input"]).file_path).read_text(), False
    except (ValidationError, OSError, UnicodeDecodeError) as error:
        text, failed = str(error), True
    return {
        "type": "tool_result",
        "tool_use_id": block["id"],
        "content": text,
        "is_error": failed,
    }


def main() -> None:
    server.start_io()


if __name__ == "__main__":
    main()
