"""What a person brings besides words reaches the model whole: by a real server, over HTTP."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.messages_api import MessagesApi, serving
from tests.support.attachments import blank_pdf
from tests.support.histories import picture
from tests.support.servers import Editor, editor

SOURCE = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


@dataclass
class Asked:
    """A server over a workspace, and what it asks the model's side."""

    it: Editor
    api: MessagesApi

    async def with_prompt(self, text: str, **params: Any) -> dict[str, Any]:
        """Send a prompt and return the body of the request that it made."""
        asked = len(self.api.requests)
        turn_id = await self.it.prompt(text, **params)
        await self.it.client.wait_until(lambda: turn_id in self._over(), f"the end of {turn_id}")
        assert len(self.api.requests) == asked + 1
        return self.api.requests[-1]

    def _over(self) -> list[str]:
        told = self.it.client.notifications("agent/session/event")
        return [p["turnId"] for p in told if p["event"]["type"] == "turnFinished"]


@asynccontextmanager
async def asking(folder: Path) -> AsyncGenerator[Asked]:
    async with serving() as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-test-0123456789"}
        async with editor(folder, "--model", "claude-sonnet-5-5", env=env) as it:
            await it.new_session()
            yield Asked(it, api)


def system_of(request: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in request["system"])


def said_in(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of the latest message of the user."""
    return [message for message in request["messages"] if message["role"] == "user"][-1]["content"]


def text_in(request: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in said_in(request) if block["type"] == "text")


async def test_instructions_of_a_project_are_in_every_request_until_it_begins_anew(
    folder: Path,
) -> None:
    (folder / "docs").mkdir()
    (folder / "docs/tabs.md").write_text("Indent with tabs, never with spaces.\n")
    (folder / "AGENTS.md").write_text("Answer in short words.\n\n@docs/tabs.md\n")
    (folder / "CLAUDE.md").write_text("Run `make test` before you are done.\n")
    async with asking(folder) as asked:
        system = system_of(await asked.with_prompt("Begin."))
        assert "Answer in short words." in system
        assert "Indent with tabs, never with spaces." in system
        assert "Run `make test` before you are done." in system
        (folder / "AGENTS.md").write_text("Answer at length.\n")
        assert system_of(await asked.with_prompt("Go on.")) == system
        await asked.it.ask("session/clear", sessionId="s1")
        system = system_of(await asked.with_prompt("Begin anew."))
        assert "Answer at length." in system
        assert "Answer in short words." not in system
        assert "Indent with tabs" not in system


async def test_mentioned_files_lines_symbols_and_folders_come_with_the_words(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src/code.py").write_text(SOURCE)
    async with asking(folder) as asked:
        text = text_in(await asked.with_prompt("See @a.txt."))
        assert "See @a.txt." in text
        assert "alpha" in text
        text = text_in(await asked.with_prompt("See @src/code.py:4-5."))
        assert "def first" in text
        assert "def second" not in text
        text = text_in(await asked.with_prompt("See @src/code.py#second."))
        assert "return 2" in text
        assert "return 1" not in text
        assert "code.py" in text_in(await asked.with_prompt("See @src/."))
        assert text_in(await asked.with_prompt("See @not/there.py.")) == "See @not/there.py."


async def test_pictures_and_papers_are_sent_as_what_they_are(folder: Path) -> None:
    (folder / "paper.pdf").write_bytes(blank_pdf())
    seen = base64.b64encode(picture()).decode()
    attachments = [{"data": seen, "name": "seen.png"}, {"path": "paper.pdf"}]
    async with asking(folder) as asked:
        blocks = said_in(await asked.with_prompt("See these.", attachments=attachments))
        kinds = [block["type"] for block in blocks]
        assert (kinds.count("image"), kinds.count("document")) == (1, 1)
        sources = {block["type"]: block["source"] for block in blocks if block["type"] != "text"}
        assert sources["image"] == {"type": "base64", "media_type": "image/png", "data": seen}
        assert sources["document"]["data"] == base64.b64encode(blank_pdf()).decode()
        assert "See these." in text_in(asked.api.requests[-1])
