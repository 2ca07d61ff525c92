"""What the offline model can do: each kind of step with its words and its tool calls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentls.llm.transcript import Outcome

LINES_SHOWN = 20
"""Lines of a tool's result that a report repeats."""
LETTERS_SHOWN = 60
"""Letters of a text or a command that a title repeats."""

Call = tuple[str, dict[str, Any]]
"""A tool's name and its input."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a prompt asks for."""

    title: str
    """What is to be done: "Run `pytest`"."""
    active_title: str
    """What is being done: "Running `pytest`"."""
    phases: tuple[tuple[Call, ...], ...]
    """Calls: those of a phase go together, and the next phase follows where all of them worked."""
    results: tuple[str, ...] = field(default=(), compare=False)
    """What the results of the last phase are called in the report, where they are shown there."""
    last_lines: bool = field(default=False, compare=False)
    """A long result is shown from its end."""
    reads_only: bool = False
    """It changes nothing, so its neighbours may run beside it, and go on where it fails."""

    def report(self, outcomes: Sequence[Outcome]) -> str:
        """Say that it is done, given the outcomes of its last phase."""
        if not self.results:
            return f"{self.title}: done."
        return "\n\n".join(
            f"{name}:\n\n{_shown(outcome.text, last=self.last_lines)}"
            for name, outcome in zip(self.results, outcomes, strict=True)
        )


PLAN_THE_STEPS = Step("Plan the steps", "Planning the steps", phases=())
"""No step of its own: it asks for a plan of the others."""


def find(text: str, where: str | None) -> Step:
    """Search for a text; `where` is a folder, a file or a pattern of file names."""
    # The tool takes a regular expression.
    pattern = re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", text)
    arguments = {"pattern": pattern, "output_mode": "content"}
    if where:
        arguments["glob" if re.search(r"[*?\[{]", where) else "path"] = where
    what = f'"{short(text)}"' + (f" in {where}" if where else "")
    return _reading(f"Find {what}", f"Finding {what}", ("Grep", arguments))


def read_files(*paths: str) -> Step:
    """Read files, all at once."""
    return Step(
        title=f"Read {', '.join(paths)}",
        active_title=f"Reading {', '.join(paths)}",
        phases=(tuple(("Read", {"file_path": path}) for path in paths),),
        results=tuple(f"Read {path}" for path in paths),
        reads_only=True,
    )


def list_folder(path: str) -> Step:
    """List a folder."""
    return _reading(f"List {path}", f"Listing {path}", ("LS", {"path": path}))


def replace(old: str, new: str, path: str, *, everywhere: bool = False) -> Step:
    """Replace a text in a file, which is read first."""
    edit: dict[str, Any] = {"file_path": path, "old_string": old, "new_string": new}
    if everywhere:
        edit["replace_all"] = True
    what = f'{"all " if everywhere else ""}"{short(old)}" with "{short(new)}" in {path}'
    return Step(
        title=f"Replace {what}",
        active_title=f"Replacing {what}",
        phases=((("Read", {"file_path": path}),), (("Edit", edit),)),
    )


def create(path: str, text: str) -> Step:
    """Write a file."""
    return Step(
        title=f"Create {path}",
        active_title=f"Creating {path}",
        phases=((("Write", {"file_path": path, "content": text}),),),
    )


def run(command: str) -> Step:
    """Run a command."""
    title = f"Run `{short(command)}`"
    return Step(
        title=title,
        active_title=f"Running `{short(command)}`",
        phases=((("Bash", {"command": command}),),),
        results=(title,),
        last_lines=True,
    )


def plan(*items: str) -> Step:
    """Write down a plan, without carrying it out."""
    call = plan_call([(item, item, "pending") for item in items])
    return Step("Write down the plan", "Writing down the plan", phases=((call,),))


def plan_call(lines: Sequence[tuple[str, str, str]]) -> Call:
    """Return the call that writes a plan of lines: to do, being done, status."""
    todos = [
        {"content": content, "activeForm": active_form, "status": status}
        for content, active_form, status in lines
    ]
    return ("TodoWrite", {"todos": todos})


def short(text: str) -> str:
    """Return `text` as a few words of one line."""
    line = " ".join(text.split())
    return line if len(line) <= LETTERS_SHOWN else line[: LETTERS_SHOWN - 1] + "…"


def _reading(title: str, active_title: str, call: Call) -> Step:
    return Step(title, active_title, phases=((call,),), results=(title,), reads_only=True)


def _shown(text: str, *, last: bool) -> str:
    """Return the first lines of a result, or the last, as a fenced block."""
    lines = text.strip("\n").split("\n")
    left_out = len(lines) - LINES_SHOWN
    if left_out > 0:
        more = f"({left_out} more lines)"
        lines = [more, *lines[-LINES_SHOWN:]] if last else [*lines[:LINES_SHOWN], more]
    body = "\n".join(lines)
    fence = "```"
    while fence in body:
        fence += "`"
    return f"{fence}\n{body}\n{fence}"
