"""Keeps a session's gates true to its model and the settings."""

from agentls.agent.chat import Chat
from agentls.agent.gates import gates
from agentls.agent.surroundings import Surroundings
from agentls.llm.model_facts import facts_of
from agentls.protocol.events.settings import Gates, GatesChanged
from agentls.protocol.session_state import ModelChoice
from agentls.state.event_store import Moment


def keep_gates(chat: Chat, surroundings: Surroundings) -> None:
    """Set the gates now, and again whenever another model answers."""

    def look(new: Moment, old: Moment) -> None:
        if new.state.model is not old.state.model:
            chat.emit(GatesChanged(gates=_gates(new.state.model, surroundings)))

    chat.emit(GatesChanged(gates=_gates(chat.state.model, surroundings)))
    chat.subscribe(look)


def _gates(model: ModelChoice, surroundings: Surroundings) -> Gates:
    settings = surroundings.settings().settings
    answering, chosen = model.effective or "", model.session or model.default or ""
    allowed = gates(answering, settings, facts_of(answering, settings))
    fast_model = gates(chosen, settings, facts_of(chosen, settings)).fast_model
    return allowed.model_copy(update={"fast_model": fast_model})
