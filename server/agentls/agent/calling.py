"""Asks the model once for a turn, and keeps what it answers."""

import asyncio
from contextlib import aclosing

from agentls.agent.assemble import AnswerAssembler
from agentls.agent.keeping import AnswerKeeper
from agentls.agent.retrying import Retries
from agentls.agent.tool_specs import tool_specs
from agentls.agent.workplace import Workplace
from agentls.errors import TryAgainLater
from agentls.llm.model import ModelRequest
from agentls.llm.model_facts import ModelFacts, facts_of, priced
from agentls.llm.watchdog import watched
from agentls.protocol.events.conversation import AnswerFinished, UsageRecorded
from agentls.protocol.events.envelope import SessionEvents
from agentls.protocol.events.retries import AnswerStalled
from agentls.state.event_store import timestamp

QUIET_SECONDS = 20.0
"""After how long a silence of the model it is told."""
MOST_ANSWER_TOKENS = 32_000
"""Of one answer, thinking included; what is longer is gone on with."""


class ModelCaller:
    """Sends a chat's conversation to its model, once for each call."""

    def __init__(self, turn_id: str, place: Workplace, retries: Retries) -> None:
        self._turn_id = turn_id
        self._chat = place.chat
        self._saving = place.saving
        self._surroundings = place.surroundings
        self._retries = retries
        self._last_word = place.surroundings.clock()

    async def call(self) -> None:
        """Ask, and put on record what is answered; where that breaks off, its whole parts.

        Raises a `ModelError` where there is nothing more to be done here: a `TryAgainLater` is
        raised when it has been tried again as often as it may be.
        """
        chat = self._chat
        request = await self._request()
        chat.cache_watch.asked(request, self._surroundings.clock())
        model = self._surroundings.catalog.resolve(request.model)
        parent, message_id = chat.state.head, chat.new_message_id()
        keeper = AnswerKeeper(message_id, request.model, parent or "", self._emit)
        answer = AnswerAssembler(message_id, request.model, keeper, chat.is_call_taken)
        self._last_word = self._surroundings.clock()
        limits = self._surroundings.settings().settings.retry
        events = watched(
            model.stream(request),
            first=limits.first_word_seconds,
            gap=limits.stall_seconds,
            quiet=QUIET_SECONDS,
            on_quiet=lambda: self._tell_of_silence(message_id),
        )
        try:
            async with aclosing(events):
                async for event in events:
                    self._last_word = self._surroundings.clock()
                    answer.feed(event)
        except TryAgainLater as error:
            keeper.stop()
            if not self._retries.may_try_again(error):
                self._keep(answer, answer.cut(parent, "cut"))
                raise
            self._keep(answer, answer.whole_parts(parent))
            self._retries.schedule(error)
        except BaseException as error:
            keeper.stop()
            stopped = isinstance(error, asyncio.CancelledError)
            self._keep(answer, answer.cut(parent, "cancelled" if stopped else "cut"))
            raise
        else:
            keeper.stop()
            self._keep(answer, answer.finish(parent))

    async def _request(self) -> ModelRequest:
        chat, settings = self._chat, self._surroundings.settings().settings
        name = chat.state.model.effective or ""
        await self._saving.secure()
        await chat.conversation.prepare(chat.state.history)
        cleared = chat.state.compaction
        messages = chat.conversation.messages(
            chat.state.history, cleared.cleared_before, cleared.cleared_at
        )
        return ModelRequest(
            model=name,
            system=await chat.system_prompt(),
            messages=messages,
            tools=tool_specs(self._surroundings.tools),
            max_tokens=answer_tokens(facts_of(name, settings)),
            thinking=chat.state.gates.thinking,
            encoded=messages.encoded,
        )

    def _keep(self, answer: AnswerAssembler, finished: AnswerFinished | None) -> None:
        if finished is not None:
            self._emit(finished)
        used = answer.usage
        if not used.context_tokens:
            return
        missed = self._chat.cache_watch.answered(used, answer.response_id)
        if missed is not None:
            self._emit(missed)
        facts = facts_of(answer.model, self._surroundings.settings().settings)
        self._emit(
            UsageRecorded(
                response_id=answer.response_id,
                model=answer.model,
                usage=priced(used, facts),
                window=facts.window,
            )
        )

    def _tell_of_silence(self, message_id: str) -> None:
        since = timestamp(self._last_word)
        self._emit(AnswerStalled(message_id=message_id, silent_since=since))

    def _emit(self, event: SessionEvents) -> None:
        self._chat.emit(event, turn_id=self._turn_id)


def answer_tokens(facts: ModelFacts) -> int:
    """Return how long an answer the model is asked for, thinking included."""
    most = min(MOST_ANSWER_TOKENS, facts.max_output)
    return most if facts.window is None else min(most, facts.window // 4)
