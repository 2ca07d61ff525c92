"""`agentls run`: prompts in, text or JSON lines out; exit codes as in outcome.py."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Literal, cast

from agentls.agent.open import WorkspaceOptions, open_workspace
from agentls.agent.session import Session
from agentls.agent.workspace import Workspace
from agentls.checkpoints.present import NoBuffers
from agentls.errors import AgentError, InvalidRequest, UnknownSession
from agentls.headless.input import MessageLine, ScriptPrompt
from agentls.headless.lines import ControlResponseLine, InitLine
from agentls.headless.outcome import (
    EXIT_FAILED,
    EXIT_OK,
    INTERRUPTED,
    Outcome,
    outcome_of,
    outcome_of_error,
)
from agentls.headless.output import Output, OutputClosed, OutputFormat
from agentls.headless.prompts import message_prompts, text_prompts
from agentls.headless.recorder import Recorder
from agentls.protocol.content import Content
from agentls.protocol.requests import Attachment
from agentls.state.app_store import AppMoment
from agentls.stdio import take_stdin, take_stdout, tell
from agentls.tools.disk_files import DiskFiles
from agentls.tools.files import Files
from agentls.version import VERSION

LAST_WORDS_SECONDS = 2.0
"""How long the last lines may take to be read once a signal has ended the run."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says."""

    workspace: WorkspaceOptions
    prompt: str | None
    attachments: tuple[Attachment, ...] = ()
    """What goes with the first prompt."""
    output_format: OutputFormat = "text"
    input_format: Literal["text", "stream-json"] = "text"
    resume: str | None = None
    continue_latest: bool = False
    permission_prompt: Literal["deny", "fail"] = "deny"


class ScriptHost:
    """The host of a run: files on disk, and nobody to ask."""

    def __init__(self) -> None:
        self._files = DiskFiles()
        self.buffers = NoBuffers()
        """No editor has anything open; see the port."""

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
        self._stopped = asyncio.Event()
        self._session: Session | None = None
        self._turn_id: str | None = None
        """Of the prompt that is being worked on."""
        self._code = EXIT_FAILED
        """Of the latest prompt."""
        self._running: asyncio.Task[int] | None = None
        self._closing = False

    async def main(self) -> int:
        """Run until the prompts end, a signal comes, or nobody reads any more."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, number)
        self._output.start(on_closed=self._stop_work)
        self._running = asyncio.create_task(self._whole_run(), name="run")
        await asyncio.wait([self._running])
        code = self._code_of(self._running)
        if not await self._last_words() and not self._stopped_by:
            return EXIT_FAILED
        return 128 + self._stopped_by if self._stopped_by else code

    def _code_of(self, run: asyncio.Task[int]) -> int:
        try:
            return run.result()
        except (asyncio.CancelledError, OutputClosed):
            return EXIT_FAILED
        except Exception:
            logger.exception("the run could not be ended as it should")
            return EXIT_FAILED

    async def _last_words(self) -> bool:
        """Wait until all is written; once a signal has come, for two seconds and no longer."""
        writing = asyncio.create_task(self._output.written(), name="last words")
        stopped = asyncio.create_task(self._stopped.wait(), name="signal")
        await asyncio.wait([writing, stopped], return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait([writing], timeout=LAST_WORDS_SECONDS)
        writing.cancel()
        stopped.cancel()
        await asyncio.gather(writing, stopped, return_exceptions=True)
        return await self._output.finish()

    async def _whole_run(self) -> int:
        workspace: Workspace | None = None
        try:
            workspace = open_workspace(self._options.workspace, ScriptHost())
            self._output.write_ahead = workspace.surroundings.store.write_ahead
            self._tell_notices(workspace)
            self._session = await self._find_session(workspace)
            self._output.write_line(self._init_line(workspace))
            await self._finish_what_was_left(self._session)
            return await self._prompts(self._session)
        except OutputClosed:
            return EXIT_FAILED
        except asyncio.CancelledError:
            return self._code if self._output.ended else self._end_badly(workspace, INTERRUPTED)
        except Exception as error:
            if not isinstance(error, AgentError):
                logger.exception("the run failed")
            return self._end_badly(workspace, outcome_of_error(error))
        finally:
            self._closing = True
            if workspace is not None:
                await workspace.aclose()

    def _tell_notices(self, workspace: Workspace) -> None:
        """Tell the user what there is to tell, now and later."""
        told: set[str] = set()

        def tell_new(new: AppMoment) -> None:
            for notice in new.state.notices:
                if notice.id not in told:
                    told.add(notice.id)
                    tell(notice.message)

        workspace.app.subscribe(lambda new, old: tell_new(new))
        tell_new(workspace.app.now)

    async def _find_session(self, workspace: Workspace) -> Session:
        options = self._options
        if options.resume is None and not options.continue_latest:
            return await workspace.new_session()
        if not options.workspace.keep_sessions:
            raise InvalidRequest(
                "--no-session keeps nothing and knows of nothing kept: leave it out to go on with "
                "a session"
            )
        session_id = await self._kept_session(workspace)
        session = await workspace.load_session(session_id)
        mode = options.workspace.mode
        if mode is not None and mode != session.state.permissions.mode:
            session.set_mode(mode)
        return session

    async def _kept_session(self, workspace: Workspace) -> str:
        if self._options.resume is not None:
            return self._options.resume
        kept = await workspace.list_sessions()
        if not kept:
            raise UnknownSession(
                f"there is no session to continue in {workspace.surroundings.cwd}; "
                "leave out --continue to begin one"
            )
        return kept[0].id

    async def _finish_what_was_left(self, session: Session) -> None:
        """Let the session come to rest: an approval that is open gets a no here."""
        recorder = Recorder(self._output)
        unsubscribe = session.subscribe(recorder)
        try:
            await session.idle()
        finally:
            unsubscribe()

    async def _prompts(self, session: Session) -> int:
        code: int | None = None
        async with aclosing(self._read_prompts(session)) as prompts:
            async for prompt in prompts:
                code = await self._one_prompt(session, prompt)
                if self._stopped_by:
                    break
        if code is None:
            raise InvalidRequest("no prompt: give one with -p TEXT, or on stdin")
        return code

    def _read_prompts(self, session: Session) -> AsyncGenerator[ScriptPrompt, None]:
        prompt, attachments = self._options.prompt, self._options.attachments
        if self._options.input_format == "text":
            return text_prompts(prompt, self._stdin, attachments)
        control = partial(self._control, session)
        return message_prompts(prompt, self._stdin, attachments, control)

    def _control(self, session: Session, line: MessageLine) -> None:
        request = line.message.get("request")
        subtype = (
            cast(dict[str, Any], request).get("subtype") if isinstance(request, dict) else None
        )
        response: dict[str, Any] = {"request_id": line.message.get("request_id")}
        if subtype == "interrupt":
            cancelled = self._turn_id is not None and session.cancel(self._turn_id)
            response |= {"subtype": "success", "cancelled": cancelled}
        else:
            text = f"unknown control request {subtype!r}; known: interrupt"
            response |= {"subtype": "error", "error": text}
        self._output.write_line(ControlResponseLine(response=response))

    async def _one_prompt(self, session: Session, prompt: ScriptPrompt) -> int:
        recorder = Recorder(self._output)
        began = monotonic()
        unsubscribe = session.subscribe(recorder)
        try:
            outcome = await self._answer(session, prompt, recorder)
        except asyncio.CancelledError:
            outcome = INTERRUPTED
        except AgentError as error:
            outcome = outcome_of_error(error)
        finally:
            self._turn_id = None
            unsubscribe()
        self._code = self._end(recorder, outcome, round((monotonic() - began) * 1000))
        if not self._stopped_by:
            await self._output.written()
        return self._code

    async def _answer(self, session: Session, prompt: ScriptPrompt, recorder: Recorder) -> Outcome:
        attached: tuple[Content, ...] = ()
        if prompt.attachments:
            # Imported for the first attachment: a script waits for the start.
            from agentls.context.attachments import all_attached

            attached = await all_attached(prompt.attachments, cwd=self._options.workspace.roots[0])
        turn_id = self._turn_id = session.prompt(prompt.text, attached=attached).turn_id
        await session.idle()
        fails = self._options.permission_prompt == "fail"
        outcome = outcome_of(session.state, turn_id, recorder.unasked if fails else ())
        if outcome.code == EXIT_OK:
            await session.flush()
        return outcome

    def _end(self, recorder: Recorder, outcome: Outcome, duration_ms: int) -> int:
        session_id = self._session.id if self._session else ""
        self._output.write_result(recorder.result(session_id, outcome, duration_ms))
        if outcome.code != EXIT_OK and not self._output.closed:
            tell(outcome.text)
        return outcome.code

    def _end_badly(self, workspace: Workspace | None, outcome: Outcome) -> int:
        """End a run that cannot go on: with a first line where none was written, and a last."""
        if not self._output.began:
            self._output.write_line(self._init_line(workspace))
        return self._end(Recorder(self._output), outcome, 0)

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
        self._stopped.set()
        self._stop_work()

    def _stop_work(self) -> None:
        """End the prompt that is being worked on, or else the whole run."""
        if self._closing or self._running is None:
            return
        if (
            self._session is None
            or self._turn_id is None
            or not self._session.cancel(self._turn_id)
        ):
            self._running.cancel()
