"""The requests that the offline model understands, read from the words of a prompt.

They are described in protocol-docs/offline-model.md.
"""

import re

from agentls.llm.offline_steps import (
    PLAN_THE_STEPS,
    Step,
    create,
    find,
    list_folder,
    plan,
    read_files,
    replace,
    run,
)

UNDERSTOOD = """\
I understand these requests, one a line, or several with `then`, `;` or full stops between them:

- find TEXT [in GLOB or PATH]
- read PATH [, PATH ...]
- replace [all] "OLD" with "NEW" in PATH
- create PATH with "TEXT", or with a fenced block
- run COMMAND, in backticks where it holds `;`, `then` or quotes
- list [PATH]
- plan, or plan: STEP; STEP; STEP"""


class NotUnderstood(Exception):
    """Some of a prompt is none of the requests; the text quotes it."""


def read_steps(prompt: str) -> tuple[Step, ...]:
    """Return the steps that a prompt asks for, at least one. Raises NotUnderstood."""
    quoted = _Quoted()
    text = quoted.take_out(prompt)
    steps = [_step(request, quoted) for line in text.split("\n") for request in _requests(line)]
    if not steps:
        raise NotUnderstood(prompt.strip())
    return tuple(steps)


class _Quoted:
    """Takes quoted text, code and fenced blocks out of a prompt, so that no rule looks into them.

    In their place stand marks: a letter and a number between two NUL characters.
    """

    SPANS = re.compile(
        r"(?P<f>^[ \t]*```[^\n]*\n(?P<block>.*?)^[ \t]*```[ \t]*$)"
        r'|(?P<q>"(?:[^"\\]|\\.)*")'
        r"|(?P<c>`[^`\n]+`)",
        re.DOTALL | re.MULTILINE,
    )
    MARK = re.compile("\0[fqc](\\d+)\0")

    def __init__(self) -> None:
        self._originals: list[str] = []
        self._contents: list[str] = []

    def take_out(self, prompt: str) -> str:
        """Return `prompt` with marks; a block is put on the line that it belongs to."""
        text = self.SPANS.sub(self._mark, prompt.replace("\0", "").replace("\r\n", "\n"))
        return re.sub(r"\s*\n\s*(?=\0f)", " ", text)

    def put_back(self, text: str) -> str:
        """Return `text` as it was in the prompt."""
        return self.MARK.sub(lambda mark: self._originals[int(mark[1])], text)

    def content(self, text: str) -> str:
        """Return what a mark stands for, without its quotes, or `text` where it is none."""
        mark = self.MARK.fullmatch(text.strip())
        return self._contents[int(mark[1])] if mark else self.put_back(text.strip())

    def _mark(self, span: re.Match[str]) -> str:
        kind = next(kind for kind in "fqc" if span[kind] is not None)
        self._originals.append(span[0])
        match kind:
            case "f":
                self._contents.append(span["block"])
            case "q":
                self._contents.append(_unescaped(span[0][1:-1]))
            case _:
                self._contents.append(span[0][1:-1])
        return f"\0{kind}{len(self._originals) - 1}\0"


def _unescaped(text: str) -> str:
    meaning = {"n": "\n", "t": "\t"}
    return re.sub(r'\\(["\\nt])', lambda escape: meaning.get(escape[1], escape[1]), text)


SEPARATORS = re.compile(
    r"""
      \s*;\s*
    | (?<=[^\s.])\.(?=\s|$)                     # a full stop, not the `.` of `list .` or `../..`
    | \s*,?\s*\b(?:and\s+)?then\b(?!\S)\s*,?\s*
    """,
    re.VERBOSE | re.IGNORECASE,
)
PLAN = re.compile(r"\bplan\s*:\s*(?P<items>.*)$", re.IGNORECASE)
POLITE = re.compile(
    r"^\s*(?:(?:[-*]|\d+[.)])\s+)?(?:(?:please|first|next|finally|now|and)\b,?\s*)*", re.IGNORECASE
)


def _requests(line: str) -> list[str]:
    """Split a line into requests; a plan takes the rest of its line."""
    plan = PLAN.search(line)
    rest = line[: plan.start()] if plan else line
    # The number of a numbered line ends in a full stop too, so it goes first.
    pieces = (POLITE.sub("", piece) for piece in SEPARATORS.split(POLITE.sub("", rest)))
    requests = [piece.strip(" \t,") for piece in pieces if piece.strip(" \t,")]
    return [*requests, plan[0]] if plan else requests


def _step(request: str, quoted: _Quoted) -> Step:
    if found := PLAN.match(request):
        items = (quoted.content(item).rstrip(".") for item in found["items"].split(";"))
        if listed := [item for item in items if item]:
            return plan(*listed)
        return PLAN_THE_STEPS
    verb, _, rest = request.partition(" ")
    step = _with_verb(verb.lower(), rest.strip(), quoted)
    if step is None:
        raise NotUnderstood(quoted.put_back(request))
    return step


def _with_verb(verb: str, rest: str, quoted: _Quoted) -> Step | None:
    match verb:
        case "find" if found := re.fullmatch(r"(.+?)(?:\s+in\s+(\S+))?", rest, re.IGNORECASE):
            return find(quoted.content(found[1]), quoted.content(found[2]) if found[2] else None)
        case "read" if rest:
            paths = re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", rest, flags=re.IGNORECASE)
            if any(re.search(r"\s", path) for path in paths):
                return None
            return read_files(*(quoted.content(path) for path in paths if path))
        case "list" if not re.search(r"\s", rest):
            return list_folder(quoted.content(rest) or ".")
        case "replace":
            return _replace(rest, quoted)
        case "create":
            return _create(rest, quoted)
        case "run" if rest:
            return run(quoted.content(rest))
        case "plan" if not rest:
            return PLAN_THE_STEPS
        case _:
            return None


def _replace(rest: str, quoted: _Quoted) -> Step | None:
    found = re.fullmatch(r"(all\s+)?(\S+)\s+with\s+(\S+)\s+in\s+(\S+)", rest, re.IGNORECASE)
    if found is None:
        return None
    everywhere = found[1] is not None
    old, new, path = (quoted.content(found[group]) for group in (2, 3, 4))
    return replace(old, new, path, everywhere=everywhere)


def _create(rest: str, quoted: _Quoted) -> Step | None:
    found = re.fullmatch(r"(\S+)\s+with:?\s+(\0[fqc]\d+\0)", rest, re.IGNORECASE)
    return create(quoted.content(found[1]), quoted.content(found[2])) if found else None
