"""Where a run's prompts come from: the command line and a pipe, or lines of stream-json."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from agentls.errors import InvalidRequest
from agentls.headless.input import (
    MessageLine,
    ScriptPrompt,
    chunks_of,
    in_daemon_thread,
    message_lines,
    piped_text,
    prompt_of,
)
from agentls.protocol.requests import Attachment


async def text_prompts(
    prompt: str | None, stdin: int, attachments: tuple[Attachment, ...]
) -> AsyncGenerator[ScriptPrompt, None]:
    """Yield the prompt, with what is piped in behind it; nothing where there is neither."""
    parts = [prompt or ""]
    async for piped in in_daemon_thread(lambda: piped_text(stdin, wait=prompt is None)):
        parts.append(piped)
    if text := "\n\n".join(part for part in parts if part.strip()):
        yield ScriptPrompt(text, attachments)


async def message_prompts(
    prompt: str | None,
    stdin: int,
    attachments: tuple[Attachment, ...],
    on_control: Callable[[MessageLine], None],
) -> AsyncGenerator[ScriptPrompt, None]:
    """Yield the prompt, where there is one, and then those of stdin.

    Control requests go to `on_control` as they come, also while a prompt is being worked on. A line
    that is wrong is raised when the prompts before it are done. Raises `InvalidRequest`.
    """
    prompts: asyncio.Queue[ScriptPrompt | Exception | None] = asyncio.Queue()

    async def read() -> None:
        try:
            async for line in in_daemon_thread(lambda: message_lines(chunks_of(stdin))):
                if line.message.get("type") == "control_request":
                    on_control(line)
                else:
                    prompts.put_nowait(_user_prompt(line))
            prompts.put_nowait(None)
        except Exception as error:  # whatever it is, whoever waits for a prompt must hear of it
            prompts.put_nowait(error)

    if prompt:
        prompts.put_nowait(ScriptPrompt(prompt, attachments))
    reader = asyncio.create_task(read(), name="stdin messages")
    try:
        while (found := await prompts.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found
    finally:
        reader.cancel()
        await asyncio.wait([reader])


def _user_prompt(line: MessageLine) -> ScriptPrompt:
    kind = line.message.get("type")
    if kind != "user":
        raise InvalidRequest(
            f"stdin, line {line.number}: type {kind!r} is not known here; "
            "send user or control_request"
        )
    return prompt_of(line)
