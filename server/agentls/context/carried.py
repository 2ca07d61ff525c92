"""What is carried past a compaction word for word, so that no summary can lose it.

The user's goal, constraints and messages, the files that were read and changed, and what did not
work. It is taken from the entries themselves and from what was carried before, never from a
summary; it is bounded whatever comes in.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePath

from pydantic import JsonValue

from agentls.context.constraints import ITEM_TOKENS, constraints, gathered
from agentls.context.room import Room, cut_middle
from agentls.protocol.content import text_of
from agentls.protocol.events.compaction import Carried, FailedAttempt, SeenFile
from agentls.protocol.history import CallResult, Entry, UserMessage
from agentls.protocol.tool_calls import ToolCall
from agentls.state.measure import tokens_of_text

PROMPT_TOKENS = 8
"""Of a message besides its text: what sets it apart from the next."""
LEAST_OF_PROMPT = 100
"""Tokens of a message that is cut: fewer say nothing."""
MOST_FILES = 50
MOST_CHANGES = 10
"""Of one call: a command that changes more has built or formatted something."""
FILE_TOKENS = 16
"""Of a file besides its path: its hash and what was done to it."""
OLDEST_FAILURES = 10
NEWEST_FAILURES = 20
CALL_BYTES = 240
"""Of the line that names a call. Calls with the same line are taken for the same."""
WHY_LINES = 5
WHY_CHARACTERS = 300
"""Of a line that says why a call failed."""
READ_TOOL = "Read"
"""Sets the variable `Read:path` to the content's hash, as do the tools that change a file."""


def carry(
    previous: Carried,
    entries: Sequence[Entry],
    room: Room,
    *,
    variables: Mapping[str, JsonValue] | None = None,
    cwd: str | None = None,
) -> Carried:
    """Return what is carried when a summary takes the place of `entries`, oldest first.

    `previous` is what the last compaction carried: what a summary among the entries stands for.
    `variables` are the session's, for the hashes of files read; `cwd` is the working folder,
    absolute, to which paths become relative. Carrying again without new entries changes nothing.
    A first prompt that is too long to be the goal whole is a message like any other besides.
    """
    prompts = [text for entry in entries if (text := _prompt(entry))]
    first = previous.goal or next(iter(prompts), None)
    goal = cut_middle(first, room.goal) if first else None
    said = [*previous.prompts, *chain.from_iterable(map(_said, entries))]
    demands = chain.from_iterable(map(_demands, entries))
    return Carried(
        goal=goal,
        constraints=gathered([*previous.constraints, *demands], room.constraints),
        prompts=_latest((text for text in said if text != goal), room.prompts),
        files=_files(previous.files, entries, variables or {}, cwd, room.files),
        failures=_failures(previous.failures, entries, room.failures),
    )


def _prompt(entry: Entry) -> str | None:
    """Return what the user wrote, with a mark for everything that was attached."""
    if not isinstance(entry, UserMessage) or entry.author != "user":
        return None
    return text_of(entry.content).strip() or None


def _said(entry: Entry) -> Iterator[str]:
    """Yield what the user said: a message, or the answers to questions."""
    if prompt := _prompt(entry):
        yield prompt
    if isinstance(entry, CallResult) and entry.call.questions and entry.call.answers:
        asked = zip(entry.call.questions.questions, entry.call.answers, strict=False)
        for question, answer in asked:
            words = ", ".join((*answer.selected, *([answer.other] if answer.other else [])))
            if words:
                yield f"(asked: {question.question}) {words}"


def _demands(entry: Entry) -> Iterator[str]:
    """Yield what the user demanded, and why they said no to a call, where they said why."""
    if prompt := _prompt(entry):
        yield from constraints(prompt)
    if not isinstance(entry, CallResult):
        return
    for answer in entry.call.answers or ():
        yield from constraints(answer.other or "")
    decision, approval = entry.call.decision, entry.call.approval
    if decision and decision.decided_by == "user" and decision.behaviour == "deny":
        what = approval.title if approval else call_line(entry.call)
        if ": " in decision.reason:
            yield _one_line(f"{what}: {decision.reason}", CALL_BYTES * 2)


def _latest(said: Iterable[str], tokens: int) -> tuple[str, ...]:
    """Return what was said last, oldest first, as much as fits; the last is always there."""
    newest_first = dict.fromkeys(reversed(list(said)))
    chosen: list[str] = []
    for text in newest_first:
        tokens -= PROMPT_TOKENS
        if tokens_of_text(text) > tokens:
            if tokens >= LEAST_OF_PROMPT or not chosen:
                chosen.append(cut_middle(text, tokens))
            break
        tokens -= tokens_of_text(text)
        chosen.append(text)
    return tuple(reversed(chosen))


def _files(
    previous: Iterable[SeenFile],
    entries: Iterable[Entry],
    variables: Mapping[str, JsonValue],
    cwd: str | None,
    tokens: int,
) -> tuple[SeenFile, ...]:
    seen = {file.path: file for file in previous}
    for entry in entries:
        if not isinstance(entry, CallResult):
            continue
        call = entry.call
        path = call.input.get("file_path")
        if call.name == READ_TOOL and call.outcome == "ok" and isinstance(path, str):
            name = _relative(path, cwd)
            before = seen.pop(name, SeenFile(path=name, sha256=None, changed=False))
            sha256 = variables.get(f"{READ_TOOL}:{name}", before.sha256)
            known = sha256 if isinstance(sha256, str) else None
            seen[name] = SeenFile(path=name, sha256=known, changed=before.changed)
        for change in call.changes[:MOST_CHANGES]:
            seen.pop(change.path, None)
            seen[change.path] = SeenFile(path=change.path, sha256=change.after_sha256, changed=True)
    return _worth_most(list(seen.values()), tokens)


def _relative(path: str, cwd: str | None) -> str:
    """Return `path` as tools show it: relative to the working folder where it lies inside."""
    whole = PurePath(path)
    inside = cwd is not None and whole.is_relative_to(cwd) and whole != PurePath(cwd)
    return str(whole.relative_to(cwd)) if inside and cwd else str(whole)


def _worth_most(files: list[SeenFile], tokens: int) -> tuple[SeenFile, ...]:
    """Return as many files as fit, in their order: changed ones before others, then the latest."""
    places = sorted(range(len(files)), key=lambda at: (files[at].changed, at), reverse=True)
    chosen: list[int] = []
    for at in places[:MOST_FILES]:
        tokens -= tokens_of_text(files[at].path) + FILE_TOKENS
        if tokens < 0:
            break
        chosen.append(at)
    return tuple(files[at] for at in sorted(chosen))


def _failures(
    previous: Iterable[FailedAttempt], entries: Iterable[Entry], tokens: int
) -> tuple[FailedAttempt, ...]:
    """Return the calls that failed and did not succeed later, each with each outcome once."""
    calls = [entry.call for entry in entries if isinstance(entry, CallResult)]
    succeeded = {call_line(call): at for at, call in enumerate(calls) if call.outcome == "ok"}
    failed = [(old.call, old.outcome) for old in previous if old.call not in succeeded]
    for at, call in enumerate(calls):
        line = call_line(call)
        if call.outcome == "error" and succeeded.get(line, -1) < at:
            failed.append((line, _why(text_of(call.content))))
    attempts = [_attempt(line, why, tokens) for line, why in failed]
    return _first_and_last(list(dict.fromkeys(attempts)), tokens)


def _attempt(line: str, why: str, tokens: int) -> FailedAttempt:
    """Return a failure that takes at most half of what all of them may."""
    room_for_why = tokens // 2 - tokens_of_text(line) - ITEM_TOKENS
    return FailedAttempt(call=line, outcome=cut_middle(why, room_for_why))


def call_line(call: ToolCall) -> str:
    """Say in one line what a call did: "Running pytest -q"."""
    command = call.input.get("command")
    if isinstance(command, str):
        return _one_line(f"Running {command}", CALL_BYTES)
    if call.invocation in ("", call.name):  # it failed before it began
        return _one_line(f"{call.name} {json.dumps(call.input, default=str)}", CALL_BYTES)
    return _one_line(call.invocation, CALL_BYTES)


def _one_line(text: str, size: int) -> str:
    """Return `text` in one line of at most `size` bytes."""
    line = " ".join(text.split()).encode("utf-8", "replace")
    if len(line) <= size:
        return line.decode()
    return line[: size - 3].decode("utf-8", "ignore") + "..."


_RANKED_REASONS = (
    # the names of tests that failed: pytest, unittest, go, rust, jest, TAP
    r"^(?:FAILED|ERROR) \S|^(?:FAIL|ERROR): |^\s*--- FAIL|^test .* FAILED$|^FAIL\s|^\s*not ok\b"
    r"|^\s*[\u2715\u2717\u00d7\u25cf] ",
    # what was wrong: assertions, the last line of a traceback, compilers, git, npm
    r"^E  |^[\w.]*(?:Error|Exception|Interrupt|Exit)(?:: |$)|\berror(?:\[\w+\]|\s\w+)?: "
    r"|\bpanicked at\b|^(?:fatal|npm (?:ERR|error)|make.*\*\*\*)",
    # what the system says
    r"(?i:command not found|no such file|permission denied|segmentation fault|timed? ?out"
    r"|killed|cannot|does not exist|not found)",
)
_REASONS = tuple(re.compile(pattern) for pattern in _RANKED_REASONS)


def _why(output: str) -> str:
    """Return the lines of an output that say best why a call failed; its last ones, if none do."""
    lines = [line.rstrip()[:WHY_CHARACTERS] for line in output.splitlines() if line.strip()]
    unique = list(dict.fromkeys(lines))
    telling = sorted((_rank(line), at) for at, line in enumerate(unique))
    chosen = sorted(at for rank, at in telling[:WHY_LINES] if rank < len(_REASONS))
    return "\n".join([unique[at] for at in chosen] or unique[-WHY_LINES:])


def _rank(line: str) -> int:
    ranks = (rank for rank, reason in enumerate(_REASONS) if reason.search(line))
    return next(ranks, len(_REASONS))


def _first_and_last(failures: list[FailedAttempt], tokens: int) -> tuple[FailedAttempt, ...]:
    """Return the oldest failures and the newest, a third and two thirds of what fits."""
    most = OLDEST_FAILURES + NEWEST_FAILURES
    kept = list(failures)
    del kept[OLDEST_FAILURES : max(OLDEST_FAILURES, len(kept) - NEWEST_FAILURES)]
    while len(kept) > 1 and sum(map(_failure_tokens, kept)) > tokens:
        del kept[max(1, len(kept) * OLDEST_FAILURES // most)]
    return tuple(kept)


def _failure_tokens(failure: FailedAttempt) -> int:
    return tokens_of_text(failure.call) + tokens_of_text(failure.outcome) + ITEM_TOKENS
