"""The conversation in Claude Code's records: prompts, answers and summaries, each with its parent.

Records of many kinds take part in the chain there; here only messages do. An answer that is kept in
several lines is one message, and a tool's result belongs to the answer that called it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.lines import Line, object_in, text_in
from agentls.sessions.interop.report import Tally

_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]]*\]")
_ASIDE = re.compile(r"<(local-command-(stdout|stderr|caveat))>")
SYNTHETIC = "<synthetic>"

LineKind = Literal[
    "prompt", "answer", "results", "boundary", "summary", "meta", "failure", "interrupted", "other"
]


@dataclass(slots=True)
class Result:
    """What became of a tool call, as a record tells it."""

    line: Line
    block: JsonObject


@dataclass(slots=True)
class Node:
    """A message of the conversation."""

    id: str
    kind: Literal["prompt", "answer", "boundary"]
    lines: list[Line]
    """An answer's lines; a prompt's, with what was put in for the model behind it; a boundary's and
    its summary's."""
    parent: str | None = None
    """The node before it, or the id of a record that is missing."""
    missing: bool = False
    """`parent` leads nowhere."""
    results: list[Result] = field(default_factory=list[Result])
    failure: Line | None = None
    """The error that ended the turn behind it."""
    interrupted: Line | None = None
    """The user's stop behind it."""
    summary: Line | None = None
    """A boundary's summary."""
    kept_from: str | None = None
    """The first message that stays as it is behind a boundary."""

    @property
    def last(self) -> Line:
        """The latest line of all that belongs to it."""
        more = [*(result.line for result in self.results), self.failure, self.interrupted]
        return max((*self.lines, *filter(None, more)), key=lambda line: line.number)


@dataclass(frozen=True, slots=True)
class Tree:
    """All messages of a file, parents first."""

    nodes: tuple[Node, ...]
    head: str | None
    """The newest message."""

    def children(self) -> dict[str | None, list[Node]]:
        """Return the messages behind each message."""
        found: dict[str | None, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.parent, []).append(node)
        return found


def build(lines: Iterable[Line], tally: Tally, *, outside: frozenset[str] = frozenset()) -> Tree:
    """Return the conversation that `lines` hold.

    `outside` are ids of records in another conversation, which begins this one.
    """
    builder = _Builder(tally, outside)
    for line in lines:
        builder.take(line)
    return builder.tree()


def kind_of(line: Line) -> LineKind:
    """Return what a record is in the conversation."""
    match line.type:
        case "user":
            return _kind_of_user(line)
        case "assistant" if line.says("isApiErrorMessage"):
            return "failure"
        case "assistant" if text_in(line.message, "model") != SYNTHETIC:
            return "answer"
        case "attachment" if _is_queued_prompt(object_in(line.record, "attachment")):
            return "prompt"
        case "system" if text_in(line.record, "subtype") == "compact_boundary":
            return "boundary"
        case _:
            return "other"


def _is_queued_prompt(attachment: JsonObject) -> bool:
    """Whether a user wrote it while a turn ran; other kinds tell the model of tasks."""
    kind, mode = text_in(attachment, "type"), text_in(attachment, "commandMode")
    return kind == "queued_command" and mode in ("prompt", None)


def _kind_of_user(line: Line) -> LineKind:
    if line.says("isCompactSummary"):
        return "summary"
    if any(text_in(block, "type") == "tool_result" for block in line.blocks):
        return "results"
    texts = [text_in(block, "text") or "" for block in line.blocks]
    if texts and all(_INTERRUPTED.fullmatch(text.strip()) for text in texts):
        return "interrupted"
    if line.says("isMeta"):
        return "meta"
    if texts and all(_ASIDE.match(text.strip()) for text in texts):
        return "other"
    return "prompt"


class _Builder:
    def __init__(self, tally: Tally, outside: frozenset[str]) -> None:
        self._tally = tally
        self._outside = outside
        self._parents: dict[str, str | None] = {}
        """Of every record in the chain."""
        self._nodes: dict[str, Node] = {}
        self._node_of: dict[str, Node] = {}
        """By the id of each record that is part of a message."""
        self._answers: dict[str, Node] = {}
        """By the id of the model's response."""
        self._callers: dict[str, list[Node]] = {}
        """The answers that made a call, by its id."""
        self._head: str | None = None

    def take(self, line: Line) -> None:
        uuid = line.uuid
        if uuid is None:
            return
        if uuid in self._parents:
            self._tally.leave_out("records that are there twice", line.number)
            return
        self._parents[uuid] = line.parent
        match kind_of(line):
            case "prompt":
                self._head = self._add(Node(uuid, "prompt", [line])).id
            case "answer":
                self._head = self._answer(uuid, line).id
            case "boundary":
                self._parents[uuid] = line.parent or text_in(line.record, "logicalParentUuid")
                self._head = self._add(Node(uuid, "boundary", [line])).id
            case "summary":
                self._summary(uuid, line)
            case "results":
                self._results(uuid, line)
            case "meta":
                self._meta(line)
            case "failure" | "interrupted" as what:
                self._ending(line, what)
            case "other":
                self._leave_out(line)

    def tree(self) -> Tree:
        """Return what was taken, parents before what follows them."""
        for uuid in [uuid for uuid, node in self._nodes.items() if node.kind == "boundary"]:
            self._without_summary(uuid)
        for node in self._nodes.values():
            self._find_parent(node)
        for node in self._nodes.values():
            self._move_behind_boundary(node)
        return Tree(tuple(self._in_order()), self._head)

    def _add(self, node: Node) -> Node:
        self._nodes[node.id] = node
        self._node_of[node.id] = node
        return node

    def _answer(self, uuid: str, line: Line) -> Node:
        response = text_in(line.message, "id") or uuid
        node = self._answers.get(response)
        if node is None:
            node = self._answers[response] = self._add(Node(uuid, "answer", []))
        node.lines.append(line)
        self._node_of[uuid] = node
        for block in line.blocks:
            if text_in(block, "type") == "tool_use" and (call_id := text_in(block, "id")):
                callers = self._callers.setdefault(call_id, [])
                if node not in callers:
                    callers.append(node)
        return node

    def _summary(self, uuid: str, line: Line) -> None:
        before, _ = self._resolve(line.parent)
        node = self._nodes.get(before) if before else None
        if node is None or node.kind != "boundary" or node.summary is not None:
            node = self._add(Node(uuid, "boundary", []))
        node.lines.append(line)
        node.summary = line
        self._node_of[uuid] = node
        self._head = node.id

    def _results(self, uuid: str, line: Line) -> None:
        for block in line.blocks:
            if text_in(block, "type") != "tool_result":
                continue
            node = self._caller(text_in(block, "tool_use_id") or "", line)
            if node is None:
                self._tally.leave_out("results of calls that are not there", line.number)
                continue
            node.results.append(Result(line, block))
            if line.parent not in self._parents:
                self._parents[uuid] = node.id
            self._head = node.id
        texts = [text_in(block, "text") or "" for block in line.blocks]
        if any(_INTERRUPTED.fullmatch(text.strip()) for text in texts):
            self._ending(line, "interrupted")
        elif any(text.strip() for text in texts):
            self._node_behind_results(uuid, line)

    def _node_behind_results(self, uuid: str, line: Line) -> None:
        """Make what the user wrote beside a result a prompt behind it."""
        node = self._add(Node(f"{uuid}_prompt", "prompt", [line]))
        self._parents[node.id] = self._parents[uuid]
        self._node_of[uuid] = node
        self._head = node.id

    def _caller(self, call_id: str, line: Line) -> Node | None:
        callers = self._callers.get(call_id, [])
        said = text_in(line.record, "sourceToolAssistantUUID")
        named = self._node_of.get(said) if said else None
        if named in callers:
            return named
        return callers[-1] if callers else None

    def _meta(self, line: Line) -> None:
        """Text put in behind a prompt, such as a command's, is part of what the model was asked."""
        before = self._node_of.get(line.parent or "")
        if before is not None and before.kind == "prompt" and line.uuid:
            before.lines.append(line)
            self._node_of[line.uuid] = before
        else:
            self._tally.leave_out("notes it wrote for its model", line.number)

    def _ending(self, line: Line, what: Literal["failure", "interrupted"]) -> None:
        before, missing = self._resolve(line.parent)
        node = self._nodes.get(before) if before and not missing else None
        if node is None:
            self._leave_out(line)
        elif what == "failure":
            node.failure = line
        else:
            node.interrupted = line

    def _leave_out(self, line: Line) -> None:
        self._tally.leave_out(left_out_name(line), line.number)

    def _without_summary(self, uuid: str) -> None:
        """Drop a compaction that came to nothing: what is behind it goes on without it."""
        node = self._nodes[uuid]
        if node.summary is not None:
            return
        del self._nodes[uuid], self._node_of[uuid]
        self._tally.leave_out("compactions without a summary", node.lines[0].number)
        if self._head == uuid:
            self._head, missing = self._resolve(uuid)
            self._head = None if missing else self._head

    def _find_parent(self, node: Node) -> None:
        own = [line.uuid for line in node.lines if line.uuid] or [node.id]
        for uuid in [node.id, *own]:
            parent, missing = self._resolve(self._parents.get(uuid))
            if parent != node.id:
                node.parent, node.missing = parent, missing
                break
        if node.missing and (node.parent in self._outside or node.kind == "boundary"):
            node.parent, node.missing = None, False

    def _resolve(self, uuid: str | None) -> tuple[str | None, bool]:
        """Return the message that a record belongs to or follows, and whether it is missing."""
        passed: set[str] = set()
        while uuid is not None and uuid not in passed:
            passed.add(uuid)
            if uuid in self._node_of:
                return self._node_of[uuid].id, False
            if uuid not in self._parents:
                return uuid, True
            uuid = self._parents[uuid]
        return None, False

    def _move_behind_boundary(self, node: Node) -> None:
        """Let what follows the last message kept behind a boundary follow the boundary."""
        if node.kind != "boundary" or node.parent is None:
            return
        metadata = object_in(node.lines[0].record, "compactMetadata")
        segment = object_in(metadata, "preservedSegment")
        first = self._node_of.get(text_in(segment, "headUuid") or "")
        if first is None or not self._leads_to(node.parent, first.id):
            return
        node.kept_from = first.id
        for later in self._nodes.values():
            is_later = later.lines[0].number > node.lines[0].number
            if later is not node and is_later and later.parent == node.parent:
                later.parent = node.id

    def _leads_to(self, start: str, wanted: str) -> bool:
        passed: set[str] = set()
        place: str | None = start
        while place is not None and place not in passed:
            if place == wanted:
                return True
            passed.add(place)
            node = self._nodes.get(place)
            place = node.parent if node and node.kind != "boundary" else None
        return False

    def _in_order(self) -> list[Node]:
        """Return the messages as they were written, but for those written before their parents."""
        ordered: dict[str, Node] = {}
        for node in self._nodes.values():
            way: dict[str, Node] = {}
            place: Node | None = node
            while place is not None and place.id not in ordered:
                if place.id in way:
                    self._tally.leave_out("parents that lead in a circle", place.lines[0].number)
                    next(reversed(way.values())).parent = None
                    break
                way[place.id] = place
                place = self._nodes.get(place.parent or "")
            ordered |= dict(reversed(way.items()))
        return list(ordered.values())


def left_out_name(line: Line) -> str:
    """Return what a record that is not carried is called, for a person."""
    match line.type:
        case "system":
            return f"system records ({text_in(line.record, 'subtype') or 'unnamed'})"
        case "attachment":
            kind = text_in(object_in(line.record, "attachment"), "type")
            return f"attachments for its model ({kind or 'unnamed'})"
        case "user":
            return "outputs of its own commands"
        case "assistant":
            return "answers that no model gave"
        case kind:
            return f"records of type {kind}" if kind else "records without a type"
