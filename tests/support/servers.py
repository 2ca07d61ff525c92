"""A real `agentls lsp` process in a workspace of its own, driven as an editor would."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_client import RawClient, RpcError, spawn
from tests.support.scenarios import write_scenario

AGENTLS = Path(__file__).parents[2] / ".venv" / "bin" / "agentls"
OURS = {"version": 1, "clientName": "Test Editor"}
QUIET = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": ""}


class Editor:
    """An editor with our client's manners, over a raw client."""

    def __init__(self, client: RawClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.hello: dict[str, Any] = {}

    async def start(self, **options: Any) -> None:
        """Do the handshake; `options` are `initializationOptions.agentls`."""
        self.hello = await self.client.initialize(
            rootUri=self.folder.as_uri(),
            initializationOptions={"agentls": OURS | options},
        )

    async def ask(self, method: str, **params: Any) -> Any:
        """Send `agent/<method>` and return its result."""
        return await self.client.request(f"agent/{method}", params)

    async def new_session(self, session_id: str = "s1", **params: Any) -> dict[str, Any]:
        """Begin a session and return its snapshot."""
        result = await self.ask("session/new", sessionId=session_id, **params)
        return result["snapshot"]

    async def prompt(self, text: str, session_id: str = "s1", **params: Any) -> str:
        """Send a prompt and return its turn's id."""
        result = await self.ask("session/prompt", sessionId=session_id, text=text, **params)
        return result["turnId"]

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the events told so far, all or those of a type."""
        told = [params["event"] for params in self.client.notifications("agent/session/event")]
        return [event for event in told if kind in (None, event["type"])]

    async def event(self, kind: str, number: int = 1, seconds: float = 20) -> dict[str, Any]:
        """Wait for the `number`-th event of a type."""

        def there() -> list[dict[str, Any]] | None:
            found = self.events(kind)
            return found if len(found) >= number else None

        found = await self.client.wait_until(there, f"event {kind} {number}", seconds)
        return found[number - 1]

    async def answer(self, option: str, number: int = 1, **params: Any) -> Any:
        """Answer the `number`-th approval once it is asked."""
        asked = await self.event("approvalRequested", number)
        call_id = asked["approval"]["callId"]
        return await self.ask(
            "approval/answer", sessionId="s1", callId=call_id, optionId=option, **params
        )

    async def refused(self, method: str, **params: Any) -> RpcError:
        """Ask for what the server must refuse of session `s1`, and return its answer."""
        with pytest.raises(RpcError) as caught:
            await self.ask(method, **({"sessionId": "s1"} | params))
        return caught.value

    async def state(self, session_id: str = "s1") -> dict[str, Any]:
        """Return a session's state."""
        return (await self.ask("state/get", sessionId=session_id))["snapshot"]["state"]

    async def changed(self, name: str, wanted: Callable[[Any], Any] = lambda value: True) -> Any:
        """Wait until a slice was told with a value as `wanted`, and return the first of them."""

        def told() -> list[Any]:
            messages = self.client.notifications("agent/state/didChange")
            return [told[name] for told in messages if name in told and wanted(told[name])]

        return (await self.client.wait_until(told, f"the slice {name}"))[0]

    def slices(self) -> dict[str, Any]:
        """Return what the slices add up to, newest last."""
        merged: dict[str, Any] = {}
        for params in self.client.notifications("agent/state/didChange"):
            merged |= params
        return merged

    async def at_rest(self) -> dict[str, Any]:
        """Wait until the slices say that nothing runs, and return them."""

        def rests() -> bool:
            return self.slices().get("activity", {}).get("status") in ("idle", "error")

        await self.client.wait_until(rests, "the session at rest")
        return self.slices()

    def streamed(self) -> dict[str, str]:
        """Return the text each part was streamed with; every piece must continue it."""
        parts: dict[str, str] = {}
        for delta in self.client.notifications("agent/session/delta"):
            known = parts.get(delta["partId"], "")
            assert delta["offset"] == len(known), delta
            parts[delta["partId"]] = known + delta["text"]
        return parts


def scripted(folder: Path, *script: dict[str, Any]) -> tuple[str, str]:
    """Return the flags of a server over `folder` whose model plays `script`."""
    return "--model", f"scripted:{write_scenario(folder.parent / 'scenario.json', *script)}"


def write_settings(folder: Path, **settings: Any) -> None:
    """Set what the settings of the user say whose workspace this is."""
    path = folder.parent / "config" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))


@asynccontextmanager
async def editor(
    folder: Path,
    *arguments: str,
    env: dict[str, str] | None = None,
    greet: bool = True,
    program: Sequence[str | Path] | None = None,
    **options: Any,
) -> AsyncIterator[Editor]:
    """Start the server over `folder`; afterwards it is gone. `program` is run in its place."""
    private = {"AGENTLS_CONFIG_DIR": str(folder.parent / "config")}
    private["AGENTLS_DATA_DIR"] = str(folder.parent / "data")
    command = program or [AGENTLS, "lsp", "--stdio", *arguments]
    async with spawn(command, cwd=folder.parent, env=QUIET | private | (env or {})) as client:
        made = Editor(client, folder)
        if greet:
            await made.start(**options)
        yield made
