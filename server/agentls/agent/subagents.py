"""Agents that work on a part of the job: a conversation of their own each, kept beside the first.

What one of them may do is never more than what its session may, and nobody is asked for it.
"""

import secrets
import string
from dataclasses import replace
from functools import cache

from agentls.agent.agent_job import AgentJob
from agentls.agent.background import BackgroundTasks
from agentls.agent.chat import Chat
from agentls.agent.host import Host
from agentls.agent.saving import Saving
from agentls.agent.surroundings import Surroundings
from agentls.agent.workplace import Workplace
from agentls.checkpoints.present import OpenBuffers
from agentls.context.system_prompt import PromptSettings
from agentls.protocol.events.conversation import SessionCreated, SidechainStarted
from agentls.protocol.events.settings import ModeChanged, ModelChanged, RuleAdded
from agentls.protocol.tasks import TASK_LETTERS, Task
from agentls.sessions.loaded import LoadedSession
from agentls.sessions.store import Fence
from agentls.state.event_store import Moment
from agentls.tools.agents import Report
from agentls.tools.files import Files
from agentls.tools.registry import ToolRegistry

MOST_ROUNDS = 100
"""After so many answers an agent has lost its way."""
NOT_FOR_AGENTS = frozenset({"Task", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
"""Tools that need a person, or that would have agents set agents to work without end."""
APPENDIX = (
    "You were set to work by another agent, on the job in the first message, and nobody can be "
    "asked. Do that job and nothing else. Your last answer is your report, and all that is read "
    "of you: say what you found or did, with paths and line numbers, and what is left open."
)

_ALPHABET = string.digits + string.ascii_lowercase


class Subagents:
    """The agents that one session has set to work; see the port `tools/agents.Agents`."""

    def __init__(
        self,
        chat: Chat,
        surroundings: Surroundings,
        background: BackgroundTasks,
        lease: Fence | None,
    ) -> None:
        """Set agents to work for `chat`; what they write is written under its `lease`."""
        self._chat = chat
        self._background = background
        self._lease = lease
        appendix = "\n\n".join(filter(None, [surroundings.prompt.appendix, APPENDIX]))
        self._surroundings = replace(
            surroundings,
            host=NobodyToAsk(surroundings.host),
            toolbox=cache(
                lambda: ToolRegistry(
                    tool
                    for tool in surroundings.tools.tools.values()
                    if tool.name not in NOT_FOR_AGENTS
                )
            ),
            prompt=PromptSettings(surroundings.prompt.replacement, appendix),
            max_rounds=MOST_ROUNDS,
        )

    async def run(self, prompt: str, *, description: str, call_id: str) -> Report:
        """Have an agent work and wait for its report; see the port."""
        job = self._begun(_new_id(), prompt, description, call_id)
        try:
            await job.wait()
        finally:
            await job.end_gently(everywhere=True)
            job.close()
        return job.report

    async def start(self, prompt: str, *, description: str, call_id: str) -> Task:
        """Have an agent work in the background; see the port."""
        return await self._background.start_agent(
            lambda chat_id: self._begun(chat_id, prompt, description, call_id),
            description=description,
            call_id=call_id,
        )

    def _begun(self, chat_id: str, prompt: str, description: str, call_id: str) -> AgentJob:
        """Set an agent to work."""
        parent = self._chat.state
        chat = self._new_chat(chat_id)
        message_id = parent.calls[call_id].message_id if call_id in parent.calls else parent.head
        self._chat.emit(
            SidechainStarted(
                parent=message_id or "", chat_id=chat_id, call_id=call_id, title=description
            ),
            turn_id=parent.turn and parent.turn.id,
        )
        place = Workplace(
            chat=chat,
            saving=Saving(chat, self._surroundings),
            surroundings=self._surroundings,
            background=self._background,
            agents=None,
            warn=_nobody_is_told,
        )
        return AgentJob(self._chat, place, prompt)

    def _new_chat(self, chat_id: str) -> Chat:
        """Return a conversation with the session's model, mode and rules, as they are now."""
        state = self._chat.state
        chat = Chat(
            LoadedSession.empty(state.meta),
            self._surroundings.store.create(state.meta.id, chat_id, lease=self._lease),
            self._surroundings,
            _no_effects,
            chat_id=chat_id,
        )
        chat.emit(SessionCreated(session=state.meta, model=state.model.default))
        if state.model.effective != state.model.default:
            chat.emit(ModelChanged(model=state.model.effective, scope="session"))
        chat.emit(ModeChanged(mode=state.permissions.mode))
        for rule in state.permissions.rules:
            chat.emit(RuleAdded(behaviour=rule.behaviour, rule=rule.rule, source=rule.source))
        return chat


class NobodyToAsk:
    """A host whose user has set an agent to work and is not asked for it."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def files(self) -> Files:
        """Files as the host's user sees them; see the port."""
        return self._host.files

    @property
    def buffers(self) -> OpenBuffers:
        """The files that the user has open; see the port."""
        return self._host.buffers

    def can_ask(self) -> bool:
        """Return False: what needs an approval is denied."""
        return False


def _new_id() -> str:
    return TASK_LETTERS["localAgent"] + "".join(secrets.choice(_ALPHABET) for _ in range(8))


def _no_effects(new: Moment, old: Moment) -> None:
    """Do nothing: what an agent's conversation comes to changes none of the user's settings."""


def _nobody_is_told(message: str) -> None:
    """Do nothing: an agent's troubles are in its report."""
