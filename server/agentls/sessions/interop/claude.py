"""Claude Code's sessions as logs of ours. Nothing in them is run, no path in them is opened."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentls.errors import ImportRefused
from agentls.protocol.events.conversation import SessionMeta, TagChanged, TitleChanged
from agentls.protocol.events.envelope import MAIN_CHAT, Envelope, SessionEvents
from agentls.sessions.interop.events import Chat, envelopes_of
from agentls.sessions.interop.lines import Line, read_lines, text_in
from agentls.sessions.interop.report import ImportReport, Tally
from agentls.sessions.interop.sidechains import sidechains_of
from agentls.sessions.interop.tree import Tree, build, left_out_name
from agentls.version import VERSION

Logs = dict[str, tuple[Envelope, ...]]
"""The events of each conversation, by its chat's id; the session's own first."""

SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TITLE_LENGTH = 200
_TAG_LENGTH = 60
_CARRIED = ("custom-title", "ai-title", "summary", "tag", "user", "assistant", "system")


def read_claude_code(
    path: Path, session_id: str | None, model: str | None
) -> tuple[Logs, ImportReport]:
    """Return a session of Claude Code as logs. Raises `ImportRefused`."""
    tally = Tally()
    lines = read_lines(path, tally)
    own = [line for line in lines if not line.says("isSidechain")]
    tree = build(own, tally)
    if not any(node.kind == "prompt" for node in tree.nodes):
        raise _refusal(path, lines)
    their_id = _session_id(path, own)
    meta = SessionMeta(
        id=session_id or their_id,
        created_at=own[0].at if own[0].uuid else tree.nodes[0].lines[0].at,
        cwd=".",
        agentls_version=VERSION,
        git_branch=_latest(own, "gitBranch") or None,
        imported_from=f"{_name(own)}, {path.name}",
    )
    _note_the_rest(own, tally)
    return _logs(path, their_id, lines, tree, meta, model, tally)


def _refusal(path: Path, lines: Sequence[Line]) -> ImportRefused:
    sidechain = next((line for line in lines if line.says("isSidechain")), None)
    if sidechain is not None:
        session = text_in(sidechain.record, "sessionId") or "SESSION"
        return ImportRefused(
            f"{path} is the conversation of a subagent; import the file of the session that it "
            f"belongs to, {session}.jsonl, which brings this one with it"
        )
    return ImportRefused(
        f"{path} holds no prompt; name the .jsonl file of a session of Claude Code, such as "
        "~/.claude/projects/PROJECT/SESSION.jsonl, or a JSON file that `agentls sessions "
        "export --format json` wrote"
    )


def _logs(
    path: Path,
    their_id: str,
    lines: Sequence[Line],
    tree: Tree,
    meta: SessionMeta,
    model: str | None,
    tally: Tally,
) -> tuple[Logs, ImportReport]:
    sidechains = sidechains_of(path, their_id, lines, tree, tally)
    started = tuple(side.started for side in sidechains)
    main = Chat(tree, meta, model, sidechains=started)
    logs = {MAIN_CHAT: envelopes_of(main, _names(lines, tree), tally)}
    for side in sidechains:
        chat = Chat(side.tree, meta, model, chat_id=side.started.chat_id)
        logs[chat.chat_id] = envelopes_of(chat, (), side.tally)
        tally.add(side.tally, "in subagents")
    tally.branches = _branches(tree)
    return logs, tally.report(str(meta.imported_from))


def _session_id(path: Path, lines: Sequence[Line]) -> str:
    """Return the id of the session there: its file's name, or what its records say."""
    named = [text_in(line.record, "sessionId") for line in lines]
    for candidate in (path.stem if path.stem in named else None, *reversed(named)):
        if candidate and SESSION_ID.fullmatch(candidate):
            return candidate
    uuids = "\n".join(line.uuid for line in lines if line.uuid)
    return f"imported-{hashlib.sha256(uuids.encode()).hexdigest()[:16]}"


def _name(lines: Sequence[Line]) -> str:
    version = _latest(lines, "version")
    return f"Claude Code {version}" if version else "Claude Code"


def _latest(lines: Sequence[Line], key: str) -> str | None:
    return next((text for line in reversed(lines) if (text := text_in(line.record, key))), None)


def _names(lines: Sequence[Line], tree: Tree) -> Iterator[SessionEvents]:
    """Yield title and tag: what the user chose, else what a model did, else an old summary."""
    known = {line.uuid for line in lines}
    old = [line for line in lines if text_in(line.record, "leafUuid") in known]
    summaries = [line for line in old if line.type == "summary"]
    titles = (
        _latest(_of_type(lines, "custom-title"), "customTitle"),
        _latest(_of_type(lines, "ai-title"), "aiTitle"),
        _latest(summaries, "summary"),
    )
    title = next((" ".join(title.split()) for title in titles if title), None)
    if title and tree.nodes:
        yield TitleChanged(title=title[:_TITLE_LENGTH])
    tags = _of_type(lines, "tag")
    tag = text_in(tags[-1].record, "tag") if tags else None
    if tag:
        yield TagChanged(tag=tag[:_TAG_LENGTH])


def _of_type(lines: Sequence[Line], kind: str) -> list[Line]:
    return [line for line in lines if line.type == kind]


def _note_the_rest(lines: Sequence[Line], tally: Tally) -> None:
    """Note what takes no part in the conversation; the rest was noted when it was looked at."""
    for line in lines:
        if line.uuid is None and line.type not in _CARRIED:
            tally.leave_out(left_out_name(line), line.number)
        elif line.uuid is None and line.type in ("user", "assistant"):
            tally.leave_out("messages without an id", line.number)


def _branches(tree: Tree) -> int:
    """Return how many ends the conversation has besides its newest."""
    followed = {node.parent for node in tree.nodes}
    return sum(node.id not in followed for node in tree.nodes) - 1
