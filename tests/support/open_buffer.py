"""A document that is open in an editor: the editor's side of the conversation about it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from tests.support.raw_client import SILENCE, RawClient

CAPABILITIES: dict[str, Any] = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def capabilities(encoding: str = "utf-16") -> dict[str, Any]:
    """Return those of an editor that applies edits and counts in `encoding`."""
    return CAPABILITIES | {"general": {"positionEncodings": [encoding]}}


class OpenBuffer:
    """One open document. It applies what the server asks for, and tells of each change."""

    def __init__(
        self, client: RawClient, path: Path, encoding: str = "utf-16", *, whole: bool = True
    ) -> None:
        self.client = client
        self.uri = path.as_uri()
        self.text = path.read_bytes().decode("utf-8-sig")
        self.version = 1
        self.asked: list[dict[str, Any]] = []
        """The edits that the server asked for."""
        self.mode = "apply"
        """What is done with an edit: `apply`, `refuse`, `ignore`."""
        self.tells = "before"
        """When the change is told: `before` the answer, or `later`."""
        self._encoding = encoding
        self._whole = whole
        client.answers["workspace/applyEdit"] = self._answer
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        await self.client.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": self.uri,
                    "languageId": "plaintext",
                    "version": self.version,
                    "text": self.text,
                }
            },
        )

    async def type(self, line: int, start: int, end: int, text: str) -> None:
        """Let the user replace a stretch of one line."""
        begin = {"line": line, "character": start}
        change: dict[str, Any] = {
            "range": {"start": begin, "end": {"line": line, "character": end}},
            "text": text,
        }
        self.text = self._applied(change["range"], text)
        self.version += 1
        await self.client.notify("textDocument/didChange", self._told(change))

    async def close(self) -> None:
        await self.client.notify("textDocument/didClose", {"textDocument": {"uri": self.uri}})

    @property
    def edits(self) -> list[dict[str, Any]]:
        """The edits of the last request."""
        (change,) = self.asked[-1]["edit"]["documentChanges"]
        return change["edits"]

    def _answer(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        if self.mode == "ignore":
            return SILENCE
        (document,) = params["edit"]["documentChanges"]
        identifier = document["textDocument"]
        fits = (identifier["uri"], identifier["version"]) == (self.uri, self.version)
        if self.mode == "refuse" or not fits:
            return {"applied": False, "failureReason": "the user does not want it"}
        (edit,) = document["edits"]
        self.text = self._applied(edit["range"], edit["newText"])
        self.version += 1
        told = self._told({"range": edit["range"], "text": edit["newText"]})
        if self.tells == "before":
            self._send_now("textDocument/didChange", told)
        else:
            self._tell_later(told)
        return {"applied": True}

    def _told(self, change: dict[str, Any]) -> dict[str, Any]:
        changes = [{"text": self.text}] if self._whole else [change]
        return {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": changes,
        }

    def _send_now(self, method: str, params: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()
        assert self.client.process.stdin is not None
        self.client.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _tell_later(self, told: dict[str, Any]) -> None:
        async def tell() -> None:
            await asyncio.sleep(0.15)
            await self.client.notify("textDocument/didChange", told)

        task = asyncio.create_task(tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def all_told(self) -> None:
        """Return when the server has been told of every change."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _applied(self, where: dict[str, Any], new: str) -> str:
        start, end = self._offset(where["start"]), self._offset(where["end"])
        return self.text[:start] + new + self.text[end:]

    def _offset(self, position: dict[str, int]) -> int:
        lines = _LINE.findall(self.text)
        before = "".join(lines[: position["line"]])
        assert position["line"] <= len(lines), "no line begins there"
        line = lines[position["line"]] if position["line"] < len(lines) else ""
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[self._encoding]
        codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[self._encoding]
        units = line.encode(codec)
        assert position["character"] * width <= len(units), "the line is shorter"
        return len(before) + len(units[: position["character"] * width].decode(codec))
