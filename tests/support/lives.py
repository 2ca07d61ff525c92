"""Random lives of a session: sequences of events as the agent could emit them."""

from datetime import UTC, datetime, timedelta
from typing import Literal

from hypothesis import strategies as st

from agentls.protocol.content import (
    Author,
    LivePart,
    TextBlock,
    TextPart,
    Todo,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events import approvals, compaction, conversation, settings, storage
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.events.kinds import EphemeralEvent, MessageEvent
from agentls.protocol.history import Answer, Summary, UserMessage
from agentls.protocol.session_state import SessionState
from agentls.protocol.tool_calls import Approval, ApprovalOption, Decision
from agentls.sessions.chain import replay
from agentls.state.event_store import EventStore, Moment
from agentls.state.reduce_compaction import boundary_state
from tests.support.lives_at_work import AT_WORK, settled_task, used

ACTIONS = (
    "prompt", "stream", "answer", "answer_with_calls", "ask", "reply", "start", "progress",
    "finish", "todos", "end", "model", "mode", "rule", "title", "rewind", "queue",
    "unqueue", "keep", "compact", "tag", "redo", "record", "late", *AT_WORK,
)  # fmt: skip
actions = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1000)), min_size=1, max_size=60
)
META = conversation.SessionMeta(
    id="s1", created_at="2026-11-30T12:00:00.000Z", cwd=".", agentls_version="0"
)
ALLOW = Decision(behaviour="allow", decided_by="rule", reason="because")


class Life:
    """Turns actions into events that fit the state, and keeps what was emitted."""

    def __init__(self, *, nested: bool = False) -> None:
        """`nested`: a compaction may keep what the one before it had kept."""
        self._nested = nested
        self.log: list[Envelope] = []
        """What is kept."""
        self.told: list[Envelope] = []
        """What subscribers heard."""
        self.moments: list[Moment] = []
        self._now = datetime(2026, 11, 30, 12, tzinfo=UTC)
        self._ids = 0
        self.store = EventStore(SessionState(meta=META), hook=self._took, clock=self._tick)
        self.store.emit(conversation.SessionCreated(session=META, model="m"))

    @property
    def state(self) -> SessionState:
        return self.store.state

    def do(self, action: str, seed: int) -> None:
        """Do what the action says where the state allows it, otherwise nothing."""
        if action in AT_WORK:
            AT_WORK[action](self, seed)
        else:
            getattr(self, f"_{action}")(seed)

    def _prompt(self, seed: int) -> None:
        if self.state.turn is not None:
            return
        turn_id, message_id = self.new_id("turn"), self.new_id("msg")
        content = (TextBlock(text=f"prompt {seed}\u2028 é 😀"),)
        self.emit(conversation.PromptQueued(item_id=turn_id, content=content), turn_id)
        self.emit(conversation.PromptDequeued(item_id=turn_id, reason="started"), turn_id)
        if seed >= 700:
            self.put_before_model("a task has ended", turn_id, author="agentls")
        parent = self.state.head
        self.emit(
            conversation.UserMessageReceived(id=message_id, parent=parent, content=content), turn_id
        )
        self.emit(conversation.TurnStarted(parent=message_id, model="m"), turn_id)

    def _queue(self, seed: int) -> None:
        self.emit(
            conversation.PromptQueued(
                item_id=self.new_id("turn"),
                content=(TextBlock(text="q"),),
                delivery="steer" if seed % 2 else "queue",
            )
        )

    def _stream(self, seed: int) -> None:
        if not self.may_answer():
            return
        message_id = self.new_id("msg")
        self.emit(conversation.AnswerStarted(message_id=message_id, model="m"))
        part = LivePart(type="text", id=f"{message_id}.0")
        self.emit(conversation.PartStarted(message_id=message_id, part=part))
        offset = 0
        for number in range(seed % 4):
            text = "ab😀"[: 1 + (seed + number) % 3]
            self.emit(conversation.PartDelta(part_id=part.id, offset=offset, text=text))
            offset += len(text)

    def _answer(self, seed: int) -> None:
        self.finish_answer(seed, calls=0)

    def _answer_with_calls(self, seed: int) -> None:
        self.finish_answer(seed, calls=1 + seed % 3)

    def finish_answer(self, seed: int, calls: int, *, cut: bool = False) -> None:
        if not self.may_answer():
            return
        message_id = self.state.live.message_id if self.state.live else self.new_id("msg")
        parts = (
            TextPart(id=f"{message_id}.0", text=f"answer {seed}"),
            *(ToolCallPart(id=self.new_id("call"), name="Read", input={}) for _ in range(calls)),
        )
        self.emit(
            conversation.AnswerFinished(
                id=message_id,
                parent=self.state.head,
                model="m",
                parts=parts,
                stop_reason="cut" if cut else "toolUse" if calls else "endTurn",
                response_id=message_id,
                usage=Usage(input_tokens=seed),
            )
        )
        self.emit(
            conversation.UsageRecorded(
                response_id=message_id,
                model=f"m{seed % 2}",
                usage=used(seed),
                window=(200_000, None, 1_000_000)[seed % 3],
            )
        )

    def _ask(self, seed: int) -> None:
        for call in self.calls("ready"):
            approval = Approval(
                call_id=call.id,
                tool_name=call.name,
                title="t",
                detail="d",
                reason="r",
                options=(ApprovalOption(id="allow", kind="allowOnce", label="Allow"),),
                requested_at="2026-11-30T12:00:00.000Z",
            )
            self.emit(approvals.ApprovalRequested(parent=call.message_id, approval=approval))
            return

    def _reply(self, seed: int) -> None:
        for call in self.calls("waiting"):
            if call.questions is not None:
                continue
            self.emit(
                approvals.ApprovalAnswered(
                    parent=call.message_id, call_id=call.id, option_id="allow", decision=ALLOW
                )
            )
            return

    def _start(self, seed: int) -> None:
        for call in self.calls("ready"):
            self.emit(
                conversation.ToolCallStarted(
                    parent=call.message_id, call_id=call.id, invocation="Reading", decision=ALLOW
                )
            )
            return

    def _progress(self, seed: int) -> None:
        for call in self.calls("running"):
            self.emit(conversation.ToolCallProgressed(call_id=call.id, text=f"line {seed}"))

    def _finish(self, seed: int) -> None:
        for call in self.calls("running", "waiting", "ready"):
            self.emit(
                conversation.ToolCallFinished(
                    parent=call.message_id,
                    call_id=call.id,
                    outcome=("ok", "error", "denied", "cancelled")[seed % 4],
                    summary="done",
                    content=(TextBlock(text=str(seed)),),
                    variables={f"Read:{seed % 5}": seed if seed % 3 else None},
                )
            )
            return

    def _todos(self, seed: int) -> None:
        if self.state.head is None:
            return
        todo = Todo(content=f"step {seed}", active_form="doing", status="pending")
        self.emit(conversation.TodosChanged(parent=self.state.head, todos=(todo,)))

    def _end(self, seed: int) -> None:
        turn = self.state.turn
        if turn is None or self.calls("ready", "waiting", "running"):
            return
        if self.state.compaction.running:
            self.do("fail_compaction", seed)
        self.emit(
            conversation.TurnFinished(
                parent=turn.message_id,
                status=("completed", "cancelled", "failed")[seed % 3],
                message_count=len(self.state.history),
                duration_ms=seed,
                usage=self.state.turn.usage if self.state.turn else Usage(),
            ),
            turn.id,
        )

    def _model(self, seed: int) -> None:
        scope = "user" if seed % 2 else "session"
        self.emit(settings.ModelChanged(model=f"m{seed % 3}" if seed % 5 else None, scope=scope))

    def _mode(self, seed: int) -> None:
        self.emit(settings.ModeChanged(mode=("default", "plan", "acceptEdits")[seed % 3]))

    def _rule(self, seed: int) -> None:
        self.emit(settings.RuleAdded(behaviour="allow", rule=f"Bash(x{seed % 4})", source="test"))

    def _title(self, seed: int) -> None:
        self.emit(conversation.TitleChanged(title=f"title {seed % 3}"))

    def _rewind(self, seed: int) -> None:
        if self.state.turn is not None:
            return
        ids = [e.event.id for e in self.log if isinstance(e.event, MessageEvent)]
        target = [None, *ids][seed % (len(ids) + 1)]
        head = self.state.head
        redo = (*self.state.redo, conversation.RedoPoint(head=head))
        self._move(conversation.HeadMoved(head=target, previous=head, redo=redo))

    def _redo(self, seed: int) -> None:
        if self.state.turn is not None or not self.state.redo:
            return
        *rest, point = self.state.redo
        head = self.state.head
        self._move(
            conversation.HeadMoved(head=point.head, previous=head, reason="redo", redo=tuple(rest))
        )

    def _move(self, event: conversation.HeadMoved) -> None:
        moved = self.log[-1].model_copy(update={"seq": self.log[-1].seq + 1, "event": event})
        self.store.emit(event, state=replay([*self.log, moved]))

    def _unqueue(self, seed: int) -> None:
        for item in self.state.queue[seed % 3 :]:
            self.emit(conversation.PromptDequeued(item_id=item.id, reason="removed"))
            return

    def _keep(self, seed: int) -> None:
        """Log what of the live answer is not kept yet."""
        live = self.state.live
        if live is None or not live.parts or self.state.head is None:
            return
        part = live.parts[-1]
        gained = conversation.PartProgress(
            part_id=part.id, type=part.type, offset=live.kept, text=part.text[live.kept :]
        )
        event = conversation.AnswerProgressed(
            parent=self.state.head, message_id=live.message_id, model=live.model, parts=(gained,)
        )
        self.emit(event)

    def _compact(self, seed: int) -> None:
        """Put a summary in place of the history, in a turn too, between its answers."""
        state = self.state
        if state.live or state.head is None or self.calls("ready", "waiting", "running"):
            return
        kept = [e.id for e in state.history if isinstance(e, UserMessage | Answer | Summary)]
        if not self._nested:
            last = max((i for i, e in enumerate(self.log) if _is_compaction(e)), default=-1)
            recent = [e.event.id for e in self.log[last + 1 :] if isinstance(e.event, MessageEvent)]
            kept = [message_id for message_id in kept if message_id in recent]
        kept_from = [*kept, None][seed % (len(kept) + 1)]
        seqs = {e.event.id: e.seq for e in self.log if isinstance(e.event, MessageEvent)}
        if seed % 2:
            self.do("begin_compaction", seed)
            self.pay(seed, "compaction")
        state = self.state
        self.emit(
            compaction.ConversationCompacted(
                id=self.new_id("sum"),
                parent=None,
                logical_parent=state.head,
                kept_from=kept_from,
                kept_from_seq=seqs[kept_from] if kept_from else None,
                summary=f"summary {seed}",
                message_count=len(state.history),
                state=boundary_state(state),
                carried=compaction.Carried(goal=f"goal {seed}"),
                put_back="goal" if seed % 3 else "",
            )
        )

    def _tag(self, seed: int) -> None:
        self.emit(conversation.TagChanged(tag=f"tag {seed % 3}" if seed % 4 else None))

    def _record(self, seed: int) -> None:
        self.emit(storage.SessionResumed(agentls_version="0", face="lsp", git_branch=None))

    def damaged(self, damage: tuple[storage.LogDamage, ...], difference: int | None = None) -> None:
        """Put damage on record."""
        self.emit(storage.LogDamaged(damage=damage, message_count_difference=difference))

    def _late(self, seed: int) -> None:
        for call in self.calls("finished"):
            self.emit(
                conversation.ToolResultIgnored(
                    call_id=call.id, why="duplicate", outcome="ok", summary="late", content=()
                )
            )
            return

    def put_before_model(
        self, text: str, turn_id: str | None = None, *, author: Author = "user"
    ) -> None:
        self.emit(
            conversation.UserMessageReceived(
                id=self.new_id("msg"),
                parent=self.state.head,
                content=(TextBlock(text=text),),
                author=author,
            ),
            turn_id,
        )

    def pay(self, seed: int, purpose: Literal["compaction", "subagent"]) -> None:
        self.emit(
            conversation.UsageRecorded(
                response_id=self.new_id("resp"),
                model=f"m{seed % 3}",
                usage=used(seed),
                purpose=purpose,
                window=seed,
            )
        )

    def may_answer(self) -> bool:
        turn = self.state.turn
        if turn is None or turn.kind == "compact" or turn.retry or self.state.compaction.running:
            return False
        return not self.calls("ready", "waiting", "running")

    def calls(self, *statuses: str) -> list:
        return [call for call in self.state.calls.values() if call.status in statuses]

    def emit(self, event: SessionEvents, turn_id: str | None = None) -> None:
        running = self.state.turn.id if self.state.turn else None
        self.store.emit(event, turn_id=turn_id or running)

    def _took(self, new: Moment, old: Moment) -> None:
        assert new.envelope is not None
        self.told.append(new.envelope)
        self.moments.append(new)
        if not isinstance(new.envelope.event, EphemeralEvent):
            self.log.append(new.envelope)

    def new_id(self, kind: str) -> str:
        self._ids += 1
        return f"{kind}{self._ids}"

    def _tick(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now


def _is_compaction(envelope: Envelope) -> bool:
    return isinstance(envelope.event, compaction.ConversationCompacted)


def lived(steps: list[tuple[str, int]], *, nested: bool = False) -> Life:
    """Return a life of these steps."""
    life = Life(nested=nested)
    for action, seed in steps:
        life.do(action, seed)
    return life


def settled(state: SessionState) -> SessionState:
    """Return what a load can know of a state: all but what passes and is never kept."""
    calls = {key: call.model_copy(update={"progress": None}) for key, call in state.calls.items()}
    tasks = tuple(settled_task(task) for task in state.tasks)
    update = {"live": None, "calls": calls, "tasks": tasks, "gates": settings.Gates()}
    return state.model_copy(update=update)
