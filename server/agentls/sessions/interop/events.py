"""From Claude Code's conversation to events of ours: turns, answers, results, boundaries."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from agentls.protocol.content import AnswerPart, ContentBlock, TextBlock, ToolCallPart, text_of
from agentls.protocol.events.compaction import ConversationCompacted
from agentls.protocol.events.conversation import (
    AnswerFinished,
    ErrorInfo,
    HeadMoved,
    SessionCreated,
    SessionMeta,
    SidechainStarted,
    TodosChanged,
    TurnFinished,
    TurnStarted,
    TurnStatus,
    UsageRecorded,
    UserMessageReceived,
)
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, SessionEvents
from agentls.protocol.history import History
from agentls.protocol.session_state import SessionState
from agentls.sessions.interop.blocks import as_typed, content_of, parts_of, stop_reason, usage_of
from agentls.sessions.interop.lines import text_in
from agentls.sessions.interop.report import Tally
from agentls.sessions.interop.results import finished, todos_of, without_result
from agentls.sessions.interop.tree import Node, Tree
from agentls.state.reduce import reduce
from agentls.state.reduce_compaction import boundary_state

UNKNOWN_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation that is being imported."""

    tree: Tree
    meta: SessionMeta
    model: str | None
    """What the session starts with."""
    chat_id: str = MAIN_CHAT
    sidechains: tuple[SidechainStarted, ...] = ()


def envelopes_of(chat: Chat, extra: Iterable[SessionEvents], tally: Tally) -> tuple[Envelope, ...]:
    """Return the whole log of a conversation; `extra` are the session's own events, at its end."""
    writer = _Writer(chat, tally)
    writer.write()
    for event in extra:
        writer.put(event, writer.latest)
    return tuple(writer.envelopes)


class _Writer:
    """Writes the events, and keeps the state behind each message, where it branches or is cut."""

    def __init__(self, chat: Chat, tally: Tally) -> None:
        self._chat = chat
        self._tally = tally
        self._children = chat.tree.children()
        self._sidechains: dict[str, list[SidechainStarted]] = {}
        for started in chat.sidechains:
            self._sidechains.setdefault(started.parent, []).append(started)
        self._states: dict[str | None, SessionState] = {}
        self._seqs: dict[str, int] = {}
        self._turns: dict[str, Node] = {}
        """The prompt of the turn that a message belongs to, by the message's id."""
        self._their_ids: dict[str, str] = {}
        """The id by which results know a call, by the call's id."""
        self.latest = chat.meta.created_at
        self.envelopes: list[Envelope] = []

    def write(self) -> None:
        created = SessionCreated(session=self._chat.meta, model=self._chat.model)
        state = SessionState(meta=self._chat.meta)
        self._states[None] = self._reduced(state, created, self._chat.meta.created_at, None)
        previous: str | None = None
        usage = state.usage
        for node in self._chat.tree.nodes:
            before = self._states[previous if node.missing else node.parent]
            before = before.model_copy(update={"usage": usage})
            if node.parent is None and previous and not node.missing and node.kind != "boundary":
                # Another beginning is as after a rewind to the start; else it would be damage.
                self.put(HeadMoved(head=None, previous=previous), node.lines[0].at)
            self._states[node.id] = self._node(node, before)
            usage = self._states[node.id].usage  # what was paid counts on every branch
            previous = node.id
        head = self._chat.tree.head
        if head != previous:
            self.put(HeadMoved(head=head, previous=previous), self.latest)

    def put(self, event: SessionEvents, at: str, turn: Node | None = None) -> Envelope:
        """Write an event that is not reduced."""
        envelope = Envelope(
            seq=len(self.envelopes) + 1,
            session_id=self._chat.meta.id,
            chat_id=self._chat.chat_id,
            turn_id=f"turn_{turn.id}" if turn else None,
            origin=None,
            at=at,
            event=event,
        )
        self.envelopes.append(envelope)
        self.latest = max(self.latest, at)
        return envelope

    def _reduced(
        self, state: SessionState, event: SessionEvents, at: str, turn: Node | None
    ) -> SessionState:
        return reduce(state, self.put(event, at, turn))

    def _node(self, node: Node, state: SessionState) -> SessionState:
        self._seqs[node.id] = len(self.envelopes) + 1
        if node.kind == "prompt":
            state = self._prompt(node, state)
        elif node.kind == "answer":
            state = self._answer(node, state)
        else:
            state = self._boundary(node, state)
        for started in self._sidechains.get(node.id, ()):
            self.put(started, node.last.at, self._turns.get(node.id))
        return self._end_of_turn(node, state)

    def _prompt(self, node: Node, state: SessionState) -> SessionState:
        self._tally.prompts += 1
        self._turns[node.id] = node
        event = UserMessageReceived(
            id=node.id, parent=node.parent, content=self._prompt_content(node)
        )
        state = self._reduced(state, event, node.lines[0].at, node)
        answer = self._first_answer(node)
        if answer is None and not node.failure:
            return state
        started = TurnStarted(parent=node.id, model=_model(answer))
        return self._reduced(state, started, node.lines[0].at, node)

    def _prompt_content(self, node: Node) -> tuple[ContentBlock, ...]:
        content: list[ContentBlock] = []
        for line in node.lines:
            for block in content_of(line.content, line, self._tally):
                is_text = isinstance(block, TextBlock)
                content.append(TextBlock(text=as_typed(block.text)) if is_text else block)
        return tuple(content)

    def _answer(self, node: Node, state: SessionState) -> SessionState:
        self._tally.answers += 1
        turn = self._turn_of(node)
        parts = self._own_calls(parts_of(node.lines, self._tally))
        reason = stop_reason(node.lines, parts)
        model, usage = _model(node), usage_of(node.lines)
        response = text_in(node.lines[0].message, "id") or node.id
        event = AnswerFinished(
            id=node.id,
            parent=node.parent,
            model=model,
            parts=parts,
            stop_reason="cancelled" if node.interrupted and reason == "endTurn" else reason,
            response_id=response,
            usage=usage,
        )
        at = node.lines[-1].at
        state = self._reduced(state, event, at, turn)
        recorded = UsageRecorded(response_id=response, model=model, usage=usage)
        state = self._reduced(state, recorded, at, turn)
        return self._results(node, state, parts, turn)

    def _own_calls(self, parts: tuple[AnswerPart, ...]) -> tuple[AnswerPart, ...]:
        """Give a call an id of its own where another answer has a call of that id."""
        own: list[AnswerPart] = []
        for part in parts:
            if isinstance(part, ToolCallPart):
                call_id, number = part.id, 1
                while call_id in self._their_ids:
                    number += 1
                    call_id = f"{part.id}_{number}"
                self._their_ids[call_id] = part.id
                part = part.model_copy(update={"id": call_id})
            own.append(part)
        return tuple(own)

    def _results(
        self, node: Node, state: SessionState, parts: tuple[AnswerPart, ...], turn: Node | None
    ) -> SessionState:
        calls = [part for part in parts if isinstance(part, ToolCallPart)]
        waiting = {self._their_ids[call.id]: call for call in calls}
        self._tally.tool_calls += len(waiting)
        for result in node.results:
            call = waiting.pop(text_in(result.block, "tool_use_id") or "", None)
            if call is None:
                self._tally.leave_out("results that came twice", result.line.number)
                continue
            event = finished(node.id, call, result, self._tally)
            state = self._reduced(state, event, result.line.at, turn)
            todos = todos_of(call) if event.outcome == "ok" else None
            if todos is not None:
                changed = TodosChanged(parent=node.id, todos=todos)
                state = self._reduced(state, changed, result.line.at, turn)
        for call in waiting.values():
            state = self._reduced(
                state, without_result(node.id, call, node.lines[0]), node.last.at, turn
            )
        return state

    def _boundary(self, node: Node, state: SessionState) -> SessionState:
        self._tally.summaries += 1
        assert node.summary is not None
        turn = self._turn_of(node)
        ids = [getattr(entry, "id", "") for entry in state.history]
        kept = len(ids) - ids.index(node.kept_from) if node.kept_from in ids else 0
        event = ConversationCompacted(
            id=node.id,
            parent=None,
            logical_parent=node.parent,
            kept_from=node.kept_from if kept else None,
            kept_from_seq=self._seqs[node.kept_from] if kept and node.kept_from else None,
            summary=text_of(content_of(node.summary.content, node.summary, self._tally)),
            message_count=len(ids) - kept,
            state=boundary_state(state),
        )
        if not kept:
            state = state.model_copy(update={"history": History()})
        return self._reduced(state, event, node.lines[0].at, turn)

    def _end_of_turn(self, node: Node, state: SessionState) -> SessionState:
        turn = self._turns.get(node.id)
        if state.turn is None or turn is None:
            return state
        if any(child.kind != "prompt" for child in self._behind(node)):
            return state
        event = TurnFinished(
            parent=node.id,
            status=_status(node),
            error=_error(node),
            message_count=len(state.history),
            duration_ms=_milliseconds(turn.lines[0].at, node.last.at),
        )
        return self._reduced(state, event, node.last.at, turn)

    def _turn_of(self, node: Node) -> Node | None:
        turn = self._turns.get(node.parent or "")
        if turn is not None:
            self._turns[node.id] = turn
        return turn

    def _first_answer(self, prompt: Node) -> Node | None:
        """Return the first answer of a turn; a compaction may come before it."""
        behind = self._behind(prompt)
        while behind:
            answer = next((node for node in behind if node.kind == "answer"), None)
            if answer is not None:
                return answer
            cut = (node for node in behind if node.kind == "boundary")
            behind = [node for boundary in cut for node in self._behind(boundary)]
        return None

    def _behind(self, node: Node) -> list[Node]:
        return self._children.get(node.id, [])


def _model(answer: Node | None) -> str:
    said = text_in(answer.lines[0].message, "model") if answer else None
    return said or UNKNOWN_MODEL


def _status(node: Node) -> TurnStatus:
    if node.failure:
        return "failed"
    return "cancelled" if node.interrupted else "completed"


def _error(node: Node) -> ErrorInfo | None:
    if node.failure is None:
        return None
    text = text_of(content_of(node.failure.content, node.failure, Tally()))
    return ErrorInfo(kind="ModelError", message=text or "the model's server refused")


def _milliseconds(start: str, end: str) -> int:
    passed = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0, round(passed.total_seconds() * 1000))
