"""`agentls run`: prompts in, text or JSON lines out; exit codes as in outcome.py."""

import asyncio
import logging
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.errors import AgentError, InvalidRequest, UnknownSession
from agentls.headless.input import in_daemon_thread, message_lines, piped_text, prompt_text
from agentls.headless.lines import ControlResponseLine, InitLine
from agentls.headless.outcome import (
    EXIT_FAILED,
    EXIT_OK,
    INTERRUPTED,
    Outcome,
    outcome_of,
    outcome_of_error,
)
from agentls.headless.output import Output, OutputClosed, OutputFormat, Recorder
from agentls.stdio import take_stdin, take_stdout
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files
from agentls.version import VERSION

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says."""

    workspace: WorkspaceOptions
    prompt: str | None
    output_format: OutputFormat = "text"
    input_format: Literal["text", "stream-json"] = "text"
    resume: str | None = None
    continue_latest: bool = False
    permission_prompt: Literal["deny", "fail"] = "deny"


class ScriptHost:
    """The host of a run: files on disk, and nobody to ask."""

    def __init__(self) -> None:
        self._files = DiskFiles()

    @property
    def files(self) -> Files:
        """Files on disk; see the port."""
        return self._files

    def can_ask(self) -> bool:
        """Return False: an approval that nobody can give is a no."""
        return False


def run(options: RunOptions) -> int:
    """Carry out the run and return its exit code."""
    stdin, stdout = take_stdin(), take_stdout()
    output = Output(stdout, options.output_format)
    return asyncio.run(_Run(options, stdin, output).main())


class _Run:
    """One process's run: one session, one prompt after the other."""

    def __init__(self, options: RunOptions, stdin: int, output: Output) -> None:
        self._options = options
        self._stdin = stdin
        self._output = output
        self._stopped_by: signal.Signals | None = None
        self._session: Session | None = None
        self._running: asyncio.Task[int] | None = None

    async def main(self) -> int:
        """Run until the prompts end, a signal comes, or nobody reads any more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        self._running = asyncio.create_task(self._whole_run(), name="run")
        try:
            code = await self._running
        except asyncio.CancelledError:
            code = EXIT_FAILED
        except OutputClosed:
            return EXIT_FAILED
        return 128 + self._stopped_by if self._stopped_by else code

    async def _whole_run(self) -> int:
        workspace: Workspace | None = None
        try:
            workspace = open_workspace(self._options.workspace, ScriptHost())
            for notice in workspace.app.now.state.notices:
                sys.stderr.write(f"agentls: {notice.message}\n")
            self._session = await self._find_session(workspace)
            return await self._prompts(workspace, self._session)
        except AgentError as error:
            return self._end_badly(workspace, outcome_of_error(error))
        except asyncio.CancelledError:
            return self._end_badly(workspace, INTERRUPTED)
        finally:
            if workspace is not None:
                await workspace.aclose()

    async def _find_session(self, workspace: Workspace) -> Session:
        if self._options.resume:
            return await workspace.load_session(self._options.resume)
        if not self._options.continue_latest:
            return await workspace.new_session()
        kept = await workspace.list_sessions()
        if not kept:
            raise UnknownSession(
                f"there is no session to continue in {workspace.surroundings.cwd}; "
                "leave out --continue to begin one"
            )
        return await workspace.load_session(kept[0].id)

    async def _prompts(self, workspace: Workspace, session: Session) -> int:
        code: int | None = None
        async with aclosing(self._texts(session)) as texts:
            async for text in texts:
                if code is None:
                    workspace.surroundings.catalog.resolve(session.state.model.effective or "")
                    self._output.write_line(self._init_line(workspace))
                code = await self._one_prompt(session, text)
                if self._stopped_by:
                    break
        if code is None:
            raise InvalidRequest("no prompt: give one with -p TEXT, or on stdin")
        return code

    async def _texts(self, session: Session) -> AsyncGenerator[str, None]:
        prompt = self._options.prompt
        if self._options.input_format == "text":
            parts = [prompt or ""]
            async for piped in in_daemon_thread(
                lambda: piped_text(self._stdin, wait=prompt is None)
            ):
                parts.append(piped)
            if text := "\n\n".join(part for part in parts if part.strip()):
                yield text
            return
        if prompt:
            yield prompt
        async for text in self._message_texts(session):
            yield text

    async def _message_texts(self, session: Session) -> AsyncGenerator[str, None]:
        """Yield the prompts of stdin; control requests are answered while a turn runs."""
        texts: asyncio.Queue[str | Exception | None] = asyncio.Queue()

        async def read() -> None:
            try:
                async for message in in_daemon_thread(lambda: message_lines(self._stdin)):
                    if message.get("type") == "control_request":
                        self._control(session, message)
                    elif message.get("type") == "user":
                        texts.put_nowait(prompt_text(message))
                    else:
                        raise InvalidRequest(
                            f"stdin: type {message.get('type')!r} is not known here; "
                            "send user or control_request"
                        )
                texts.put_nowait(None)
            except (AgentError, OutputClosed) as error:
                texts.put_nowait(error)

        reader = asyncio.create_task(read(), name="stdin messages")
        try:
            while (text := await texts.get()) is not None:
                if isinstance(text, Exception):
                    raise text
                yield text
        finally:
            reader.cancel()

    def _control(self, session: Session, message: dict[str, Any]) -> None:
        request: dict[str, Any] = message.get("request") or {}
        response: dict[str, Any] = {"request_id": message.get("request_id")}
        if request.get("subtype") == "interrupt":
            turn = session.state.turn
            response |= {"subtype": "success", "cancelled": bool(turn and session.cancel(turn.id))}
        else:
            text = f"unknown control request {request.get('subtype')!r}; known: interrupt"
            response |= {"subtype": "error", "error": text}
        self._output.write_line(ControlResponseLine(response=response))

    async def _one_prompt(self, session: Session, text: str) -> int:
        recorder = Recorder(self._output, on_closed=self._stop_turn)
        began = monotonic()
        unsubscribe = session.subscribe(recorder)
        try:
            session.prompt(text)
            await session.idle()
        finally:
            unsubscribe()
        if self._output.closed:
            raise OutputClosed
        fail_on_denial = self._options.permission_prompt == "fail"
        outcome = outcome_of(session.state, recorder.denials, fail_on_denial=fail_on_denial)
        duration = round((monotonic() - began) * 1000)
        return self._end(recorder, outcome, duration)

    def _end(self, recorder: Recorder, outcome: Outcome, duration_ms: int) -> int:
        session_id = self._session.id if self._session else ""
        self._output.write_result(recorder.result(session_id, outcome, duration_ms))
        if outcome.code != EXIT_OK:
            sys.stderr.write(f"agentls: {outcome.text}\n")
        return outcome.code

    def _end_badly(self, workspace: Workspace | None, outcome: Outcome) -> int:
        """End a run that cannot go on: with a first line where none was written, and a last."""
        if not self._output.began:
            self._output.write_line(self._init_line(workspace))
        return self._end(Recorder(self._output, on_closed=self._stop_turn), outcome, 0)

    def _init_line(self, workspace: Workspace | None) -> InitLine:
        options, state = self._options.workspace, self._session and self._session.state
        return InitLine(
            session_id=state.meta.id if state else "",
            cwd=str(options.roots[0]),
            model=state.model.effective if state else options.model,
            tools=tuple(workspace.surroundings.tools.tools) if workspace else (),
            permissionMode=state.permissions.mode if state else options.mode or "default",
            agentls_version=VERSION,
        )

    def _stop(self, number: signal.Signals) -> None:
        self._stopped_by = number
        if not self._stop_turn() and self._running is not None:
            self._running.cancel()

    def _stop_turn(self) -> bool:
        turn = self._session.state.turn if self._session else None
        return self._session is not None and turn is not None and self._session.cancel(turn.id)
