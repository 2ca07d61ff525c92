"""Settles an approval with the first answer that comes."""

from agentls.agent.chat import Chat
from agentls.errors import ApprovalAlreadyAnswered, InvalidRequest, UnknownCall
from agentls.protocol.events.approvals import ApprovalAnswered
from agentls.protocol.events.envelope import Origin
from agentls.protocol.events.settings import ModeChanged, RuleAdded
from agentls.protocol.history import CallResult
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import ApprovalOption, Decision, ToolCall
from agentls.protocol.wire_model import JsonObject


def answer_approval(
    chat: Chat,
    call_id: str,
    option_id: str,
    *,
    reason: str | None,
    edited_input: JsonObject | None,
    origin: Origin | None,
) -> Decision:
    """Settle an approval with one of its options.

    Raises `UnknownCall`, `ApprovalAlreadyAnswered`, and `InvalidRequest` for an option it does not
    have, or one that would switch every approval off.
    """
    call = _waiting_call(chat.state, call_id)
    option = _option(call, option_id)
    turn_id = chat.state.turn and chat.state.turn.id
    who = origin.client_id if origin else None
    decision = _decision(option, reason, who)
    if option.kind == "allowSession" and option.rule:
        source = f"approval in {who}" if who else "approval"
        chat.emit(RuleAdded(behaviour="allow", rule=option.rule, source=source))
    if option.mode is not None:
        # First, as the call is judged again under the mode as soon as it is answered.
        chat.emit(ModeChanged(mode=option.mode), turn_id=turn_id, origin=origin)
    chat.emit(
        ApprovalAnswered(
            parent=call.message_id,
            call_id=call_id,
            option_id=option_id,
            decision=decision,
            edited_input=edited_input,
        ),
        turn_id=turn_id,
        origin=origin,
    )
    return decision


def find_call(state: SessionState, call_id: str) -> ToolCall:
    """Return a call of the conversation, waiting, running or finished. Raises `UnknownCall`."""
    if call := state.calls.get(call_id):
        return call
    for entry in reversed(state.history):
        if isinstance(entry, CallResult) and entry.call.id == call_id:
            return entry.call
    raise UnknownCall(f"no tool call {call_id!r} in session {state.meta.id}")


def _decision(option: ApprovalOption, reason: str | None, who: str | None) -> Decision:
    if option.kind == "deny":
        no = "the user said no" if option.label == "Deny" else f"the user chose “{option.label}”"
        text = f"{no}: {reason}" if reason else no
        return Decision(behaviour="deny", decided_by="user", reason=text, client_id=who)
    return Decision(
        behaviour="allow",
        decided_by="user",
        reason=f"the user chose “{option.label}”",
        rule=option.rule,
        client_id=who,
    )


def _waiting_call(state: SessionState, call_id: str) -> ToolCall:
    call = find_call(state, call_id)
    if call.approval is None:
        instead = "; it asks questions, which are answered by themselves" if call.questions else ""
        raise UnknownCall(f"tool call {call_id!r} does not wait for an approval{instead}")
    if call.status == "waiting" and call.decision is None:
        return call
    said = call.decision
    how = f"{said.behaviour} ({said.reason})" if said else call.outcome
    wish = call.approval.title
    raise ApprovalAlreadyAnswered(f"the approval of “{wish}” is settled already: {how}")


def _option(call: ToolCall, option_id: str) -> ApprovalOption:
    options = call.approval.options if call.approval else ()
    for option in options:
        if option.id == option_id and option.mode == "bypassPermissions":
            raise InvalidRequest(
                f"“{option.label}” would let every call through unasked, which no answer can do; "
                "choose another option, or choose that mode yourself"
            )
        if option.id == option_id:
            return option
    known = ", ".join(option.id for option in options)
    raise InvalidRequest(f"optionId {option_id!r} is none of this approval's options: {known}")
