"""Conversations of Claude Code's subagents: in the session's file, or in files beside it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import cast

import orjson

from agentls.errors import ImportRefused
from agentls.protocol.events.conversation import SidechainStarted
from agentls.protocol.wire_model import JsonObject
from agentls.sessions.interop.lines import Line, object_in, read_lines, text_in
from agentls.sessions.interop.report import Tally
from agentls.sessions.interop.tree import Node, Tree, build, kind_of

_MOST_FILES = 2000
_MOST_OF_NOTES = 64 << 10
_TITLE_LENGTH = 80
_TOOLS = ("Agent", "Task")


@dataclass(frozen=True, slots=True)
class Sidechain:
    """A subagent's conversation, and where it began."""

    started: SidechainStarted
    tree: Tree
    tally: Tally
    """What could not be carried of it."""


@dataclass(frozen=True, slots=True)
class _Found:
    agent_id: str
    lines: list[Line]
    tally: Tally
    title: str | None = None
    call_id: str | None = None


def sidechains_of(
    path: Path, session_id: str, lines: Sequence[Line], main: Tree, tally: Tally
) -> list[Sidechain]:
    """Return the conversations of subagents that belong to the session at `path`."""
    outside = frozenset(line.uuid for line in lines if line.uuid and not line.says("isSidechain"))
    links = _Links(lines, main)
    sidechains: list[Sidechain] = []
    taken: set[str] = set()
    for found in (*_inside(lines), *_beside(path, session_id)):
        tree = build(found.lines, found.tally, outside=outside)
        chat_id = _chat_id(found.agent_id)
        if not tree.nodes or chat_id in taken or not main.nodes:
            tally.leave_out("conversations of subagents that hold nothing", found.lines[0].number)
            continue
        taken.add(chat_id)
        sidechains.append(Sidechain(links.start(found, chat_id, tree), tree, found.tally))
    tally.sidechains += len(sidechains)
    return sidechains


def _inside(lines: Iterable[Line]) -> list[_Found]:
    """Return those in the session's own file: each record follows another of its conversation."""
    groups: dict[str, list[Line]] = {}
    group_of: dict[str, str] = {}
    for line in lines:
        if not line.says("isSidechain") or line.uuid is None:
            continue
        name = text_in(line.record, "agentId") or group_of.get(line.parent or "") or line.uuid
        group_of[line.uuid] = name
        groups.setdefault(name, []).append(line)
    return [_Found(name, group, Tally()) for name, group in groups.items()]


def _beside(path: Path, session_id: str) -> Iterator[_Found]:
    """Yield those in files of their own, in any of the places where they have been kept."""
    folder = path.with_suffix("")
    for place in islice(_files(folder / "subagents", folder, path.parent), _MOST_FILES):
        if place.parent == path.parent and _session_of(place) != session_id:
            continue
        tally = Tally()
        try:
            lines = read_lines(place, tally)
        except ImportRefused:
            continue
        if lines:
            notes = _notes(place.with_suffix(".meta.json"))
            yield _Found(
                agent_id=place.stem.removeprefix("agent-"),
                lines=lines,
                tally=tally,
                title=text_in(notes, "description"),
                call_id=text_in(notes, "toolUseId"),
            )


def _files(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from (place for place in sorted(folder.glob("agent-*.jsonl")) if place.is_file())


def _session_of(place: Path) -> str | None:
    """Return the session that a file's first record names."""
    try:
        with place.open("rb") as file:
            record = orjson.loads(file.readline(1 << 20))
    except (OSError, orjson.JSONDecodeError):
        return None
    return text_in(cast(JsonObject, record), "sessionId") if isinstance(record, dict) else None


def _notes(place: Path) -> JsonObject:
    try:
        with place.open("rb") as file:
            notes = orjson.loads(file.read(_MOST_OF_NOTES))
    except (OSError, orjson.JSONDecodeError):
        return {}
    return cast(JsonObject, notes) if isinstance(notes, dict) else {}


class _Links:
    """Which call began which conversation, by all that the session tells of it."""

    def __init__(self, lines: Iterable[Line], main: Tree) -> None:
        self._nodes = main.nodes
        self._callers: dict[str, Node] = {}
        self._by_prompt: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        """By the subagent's id."""
        for node in main.nodes:
            for line in node.lines if node.kind == "answer" else ():
                self._note_calls(node, line)
        for line in lines:
            self._note_agent(line)

    def start(self, found: _Found, chat_id: str, tree: Tree) -> SidechainStarted:
        """Return the event that links a conversation to where it began."""
        prompt = _first_text(tree)
        call_id = found.call_id or self._calls.get(found.agent_id) or self._by_prompt.get(prompt)
        caller = self._callers.get(call_id or "")
        title = found.title or self._titles.get(call_id or "") or " ".join(prompt.split())
        return SidechainStarted(
            parent=(caller or self._before(found.lines[0].at)).id,
            chat_id=chat_id,
            call_id=call_id if caller else None,
            title=title[:_TITLE_LENGTH] or chat_id,
        )

    def _note_calls(self, node: Node, line: Line) -> None:
        for block in line.blocks:
            call_id, written = text_in(block, "id"), object_in(block, "input")
            if not call_id or text_in(block, "type") != "tool_use":
                continue
            self._callers[call_id] = node
            if text_in(block, "name") in _TOOLS:
                self._by_prompt[text_in(written, "prompt") or call_id] = call_id
                self._titles[call_id] = text_in(written, "description") or ""

    def _note_agent(self, line: Line) -> None:
        if line.type == "progress":
            agent_id = text_in(object_in(line.record, "data"), "agentId")
            call_id = text_in(line.record, "parentToolUseID")
        elif kind_of(line) == "results":
            agent_id = text_in(object_in(line.record, "toolUseResult"), "agentId")
            call_id = next((text_in(block, "tool_use_id") for block in line.blocks), None)
        else:
            return
        if agent_id and call_id:
            self._calls.setdefault(agent_id, call_id)

    def _before(self, at: str) -> Node:
        earlier = [node for node in self._nodes if node.lines[0].at <= at]
        return earlier[-1] if earlier else self._nodes[0]


def _first_text(tree: Tree) -> str:
    texts = (text_in(block, "text") or "" for block in tree.nodes[0].lines[0].blocks)
    return "\n".join(texts)


def _chat_id(agent_id: str) -> str:
    return f"agent-{re.sub('[^A-Za-z0-9_-]', '-', agent_id)}"[:64]
