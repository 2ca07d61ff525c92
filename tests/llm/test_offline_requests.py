from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.llm.offline_requests import NotUnderstood, read_steps
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

DOCS = Path(__file__).parents[2] / "protocol-docs"


@pytest.mark.parametrize(
    ("prompt", "steps"),
    [
        ("find TODO", [find("TODO", None)]),
        ("FIND TODO in src", [find("TODO", "src")]),
        ("find TODO in src/**/*.py.", [find("TODO", "src/**/*.py")]),
        ('find "a then b; in c" in src', [find("a then b; in c", "src")]),
        ("find def main in app.py", [find("def main", "app.py")]),
        ("read README.md", [read_files("README.md")]),
        ("Read a.py, b.py and c.py", [read_files("a.py", "b.py", "c.py")]),
        ('read "my notes.txt"', [read_files("my notes.txt")]),
        ('replace "a b" with "" in x.py', [replace("a b", "", "x.py")]),
        ("replace all foo with bar in x.py", [replace("foo", "bar", "x.py", everywhere=True)]),
        (r'replace "say \"hi\"" with "a\nb" in x', [replace('say "hi"', "a\nb", "x")]),
        ('create x.txt with "hello"', [create("x.txt", "hello")]),
        ("create x.py with:\n```python\nprint(1); \n\n```", [create("x.py", "print(1); \n\n")]),
        ("run pytest -q", [run("pytest -q")]),
        ("run `make a; make b`", [run("make a; make b")]),
        ('run echo "a; b"', [run('echo "a; b"')]),
        ("list", [list_folder(".")]),
        ("list .", [list_folder(".")]),
        ("list ../..", [list_folder("../..")]),
        ("plan: one; two; three.", [plan("one", "two", "three")]),
        ("plan", [PLAN_THE_STEPS]),
        ("read a.py; list src", [read_files("a.py"), list_folder("src")]),
        ("read a.py. List src.", [read_files("a.py"), list_folder("src")]),
        ("read a.py, and then list src, then run ls", [
            read_files("a.py"), list_folder("src"), run("ls"),
        ]),
        ("1. read a.py\n2) list src\n- run ls\n", [
            read_files("a.py"), list_folder("src"), run("ls"),
        ]),
        ("Please read a.py\n\nfinally, please run ls", [read_files("a.py"), run("ls")]),
        ("plan, then find x; read y", [PLAN_THE_STEPS, find("x", None), read_files("y")]),
        ("read a.py then plan: b; c", [read_files("a.py"), plan("b", "c")]),
    ],
)  # fmt: skip
def test_requests_are_understood(prompt: str, steps: list[Step]) -> None:
    assert list(read_steps(prompt)) == steps


@pytest.mark.parametrize(
    ("prompt", "quoted"),
    [
        ("", ""),
        ("Hello, who are you?", "Hello, who are you?"),
        ("read", "read"),
        ("find", "find"),
        ("run", "run"),
        ("read a.py and find b", "read a.py and find b"),
        ("list all files", "list all files"),
        ("replace a with b", "replace a with b"),
        ("create x.txt", "create x.txt"),
        ("read a.py; make it faster", "make it faster"),
        ('refactor "a; b" nicely', 'refactor "a; b" nicely'),
    ],
)
def test_what_is_not_understood_is_quoted(prompt: str, quoted: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        read_steps(prompt)

    assert str(caught.value) == quoted


@given(st.text())
def test_any_prompt_is_understood_or_not(prompt: str) -> None:
    with suppress(NotUnderstood):
        assert read_steps(prompt)


@given(st.text(), st.text(), st.text(min_size=1))
def test_quoted_texts_come_through_unchanged(old: str, new: str, path: str) -> None:
    def quote(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    old, new, path = (text.replace("\0", "").replace("\r\n", "\n") for text in (old, new, path))
    prompt = f"replace {quote(old)} with {quote(new)} in {quote(path)}"

    assert read_steps(prompt) == (replace(old, new, path),)


def test_documented_example_is_understood() -> None:
    guide = (DOCS / "offline-model.md").read_text(encoding="utf-8")
    example = "\n".join(line for line in guide.splitlines() if line.startswith("    "))

    assert list(read_steps(example)) == [
        PLAN_THE_STEPS,
        find("TODO", "src/**/*.py"),
        replace("TODO", "DONE", "src/app.py"),
        run("python -m pytest -q"),
    ]
