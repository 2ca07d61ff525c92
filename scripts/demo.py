"""`make demo`: the main job on a small real workspace, with no key and no network.

It starts `agentls lsp` as an editor does, sends a prompt, shows what streams back, answers the
approvals, ends the server, starts another, and goes on with the session that is on disk.
"""

import asyncio
import difflib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AGENTLS = str(Path(sys.executable).with_name("agentls"))
SESSION = "demo"
PROMPT = """\
find "5 / 9" in *.py
replace "celsius * 5 / 9 + 32" with "celsius * 9 / 5 + 32" in temperature.py
run python3 -m unittest -q"""
MARKS = {"completed": "●", "inProgress": "◐", "pending": "○"}
BOLD, DIM, GREEN, RED, PLAIN = (
    ("\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[0m") if sys.stdout.isatty() else [""] * 5
)


def main() -> int:
    """Play the demo and return 0 where everything went as it should."""
    with tempfile.TemporaryDirectory(prefix="agentls-demo-") as temporary:
        workspace = Path(temporary) / "temperatures"
        shutil.copytree(HERE / "demo-workspace", workspace)
        before = (workspace / "temperature.py").read_text()
        title(f"A workspace: {', '.join(sorted(path.name for path in workspace.iterdir()))}")
        ended = asyncio.run(first_server(workspace))
        title("The session is on disk")
        log = workspace / ".agentls" / "sessions" / f"{SESSION}.jsonl"
        kept = len(log.read_text().splitlines())
        say(f"{log.relative_to(workspace)}: {kept} lines, {log.stat().st_size:,} bytes")
        subprocess.run([AGENTLS, "sessions", "list", "--cwd", workspace], check=True)
        resumed = asyncio.run(second_server(workspace))
        title("What changed")
        after = (workspace / "temperature.py").read_text()
        show_diff(before, after)
    good = ended == resumed == "completed" and "celsius * 9 / 5" in after
    title("Done." if good else "This did not go as it should.")
    return 0 if good else 1


async def first_server(workspace: Path) -> str:
    """Run the first prompt and return how its turn ended."""
    title("agentls lsp --model offline, as an editor starts it")
    editor = await Editor.start(workspace)
    await editor.request("agent/session/new", {"sessionId": SESSION})
    status = await editor.prompt(PROMPT)
    await editor.end()
    return status


async def second_server(workspace: Path) -> str:
    """Open the session again in a new process, go on with it, return how that turn ended."""
    title("Another server, the same session")
    editor = await Editor.start(workspace)
    loaded = await editor.request("agent/session/load", {"sessionId": SESSION})
    state = loaded["snapshot"]["state"]
    say(f"{len(state['history'])} messages; the plan: {progress(state['todos'])}")
    status = await editor.prompt("read temperature.py")
    await editor.end()
    return status


class Editor:
    """The least an editor does: JSON-RPC in frames, and an answer to every approval."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.answers: dict[int, asyncio.Future[Any]] = {}
        self.ended: asyncio.Future[str] | None = None
        self.calls: dict[str, str] = {}
        self.reading = asyncio.create_task(self.read())

    @classmethod
    async def start(cls, workspace: Path) -> "Editor":
        """Start a server over `workspace` and shake hands with it."""
        process = await asyncio.create_subprocess_exec(
            AGENTLS, "lsp", "--model", "offline",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, limit=1 << 26,
        )  # fmt: skip
        editor = cls(process)
        greeting = {
            "processId": None,
            "rootUri": workspace.as_uri(),
            "capabilities": {},
            "initializationOptions": {"agentls": {"version": 1, "clientName": "the demo"}},
        }
        await editor.request("initialize", greeting)
        editor.send({"method": "initialized", "params": {}})
        return editor

    async def prompt(self, text: str) -> str:
        """Send a prompt, follow its turn, and return how it ended."""
        for number, line in enumerate(text.splitlines()):
            say(f"{BOLD}{'>' if number == 0 else ' '} {line}{PLAIN}")
        self.ended = asyncio.get_running_loop().create_future()
        await self.request("agent/session/prompt", {"sessionId": SESSION, "text": text})
        return await asyncio.wait_for(self.ended, 60)

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and return its result."""
        number = len(self.answers) + 1
        self.answers[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        return await asyncio.wait_for(self.answers[number], 60)

    async def end(self) -> None:
        """Shut the server down as LSP says."""
        await self.request("shutdown", None)
        self.send({"method": "exit"})
        await asyncio.wait_for(self.process.wait(), 30)
        await self.reading

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def read(self) -> None:
        """Take what the server sends until it ends."""
        stream = self.process.stdout
        assert stream
        while header := await stream.readline():
            await stream.readline()
            message = json.loads(await stream.readexactly(int(header.split(b":")[1])))
            if message.get("method") == "agent/session/event":
                self.show(message["params"]["event"])
            elif "id" in message and "method" not in message:
                self.take_answer(message)

    def take_answer(self, message: dict[str, Any]) -> None:
        """Hand an answer to whoever waits for it."""
        answer = self.answers[message["id"]]
        if "error" in message:
            answer.set_exception(RuntimeError(message["error"]["message"]))
        else:
            answer.set_result(message["result"])

    def show(self, event: dict[str, Any]) -> None:
        """Print an event as a person would like to read it."""
        match event["type"]:
            case "answerFinished":
                for part in event["parts"]:
                    if part["type"] == "text":
                        say(indented(part["text"]))
                    elif part["type"] == "toolCall":
                        self.calls[part["id"]] = part["name"]
            case "todosChanged":
                say(f"  {BOLD}Plan{PLAIN}  {progress(event['todos'])}")
            case "approvalRequested":
                self.approve(event["approval"])
            case "toolCallFinished" if self.calls[event["callId"]] != "TodoWrite":
                mark = f"{GREEN}ok{PLAIN}" if event["outcome"] == "ok" else f"{RED}failed{PLAIN}"
                say(f"  {BOLD}{self.calls[event['callId']]:5}{PLAIN} {mark}  {event['summary']}")
            case "turnFinished":
                assert self.ended
                self.ended.set_result(event["status"])
            case _:
                pass

    def approve(self, approval: dict[str, Any]) -> None:
        """Answer an approval with yes, as the person at an editor would."""
        say(f"  {BOLD}May I?{PLAIN} {approval['title']}  {DIM}{approval['reason']}{PLAIN}")
        if "\n" in approval["detail"]:
            say(coloured(indented(approval["detail"])))
        say(f"  {BOLD}Allow{PLAIN} {DIM}(the demo answers for you){PLAIN}")
        params = {"sessionId": SESSION, "callId": approval["callId"], "optionId": "allow"}
        number = len(self.answers) + 1
        self.answers[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": "agent/approval/answer", "params": params})


def progress(todos: list[dict[str, Any]]) -> str:
    """Return how far a plan is, in one line."""
    marks = "".join(MARKS[todo["status"]] for todo in todos)
    now = [todo["activeForm"] for todo in todos if todo["status"] == "inProgress"]
    return f"{GREEN}{marks}{PLAIN}  {now[0] if now else 'all done'}"


def show_diff(before: str, after: str) -> None:
    """Print how a file changed."""
    lines = difflib.unified_diff(
        before.splitlines(),
        after.splitlines(),
        "temperature.py",
        "temperature.py",
        lineterm="",
        n=1,
    )
    say(coloured("\n".join(f"  {line}" for line in lines)))


def indented(text: str) -> str:
    """Return `text`, each line two further to the right."""
    return "\n".join(f"  {line}" for line in text.splitlines())


def coloured(diff: str) -> str:
    """Return a diff with its lines in the usual colours."""
    colours = {"+": GREEN, "-": RED, "@": DIM}
    return "\n".join(
        f"{colours[line.strip()[0]]}{line}{PLAIN}" if line.strip()[:1] in colours else line
        for line in diff.splitlines()
    )


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{BOLD}== {text}{PLAIN}", flush=True)


def say(text: str) -> None:
    """Print a line, at once."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
