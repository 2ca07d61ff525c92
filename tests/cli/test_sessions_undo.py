"""What `agentls sessions` asks for and tells of rewinds and searches."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentls.agent.library import Library
from agentls.agent.session import Session
from agentls.cli.main import main
from agentls.protocol.kept_sessions import RewoundFile, SearchHit, SessionRewindResult

FILE = Path(__file__).parents[1] / "sessions" / "interop" / "claude_code" / "plain.jsonl"
SESSION = "5b0c7a52-3d1e-4a8e-9f42-6c1d20b7e9a1"
FIRST, SECOND = (f"0000000{number}-0000-4000-8000-000000000000" for number in "1a")


def file(path: str, action: Any, conflict: str | None = None) -> RewoundFile:
    return RewoundFile(path=path, action=action, conflict=conflict, in_editor=False)


def result(*files: RewoundFile, applied: bool = True) -> SessionRewindResult:
    return SessionRewindResult(
        applied=applied, head=None, prompt="Say what\nit was.", messages=2, files=files
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with one session."""
    for name in ("CONFIG", "DATA"):
        monkeypatch.setenv(f"AGENTLS_{name}_DIR", str(tmp_path / name))
    work = tmp_path / "work"
    work.mkdir()
    assert main(["sessions", "import", str(FILE), "--cwd", str(work)]) == 0
    return work


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What sessions are asked to undo; they answer with one file done and one left alone."""
    asked: list[Any] = []

    async def rewind(self: Session, to: str, what: str, **options: Any) -> SessionRewindResult:
        asked.append((self.id, to, what, options))
        files = [file("a.py", "restore")]
        if not options["force"]:
            files.append(file("b.py", "delete", "changed since by somebody else"))
        return result(*files, applied=not options["dry_run"])

    async def redo(self: Session, **options: Any) -> SessionRewindResult:
        asked.append((self.id, options))
        return result(file("a.py", "create"))

    monkeypatch.setattr(Session, "rewind", rewind)
    monkeypatch.setattr(Session, "redo", redo)
    return asked


def run(folder: Path, *arguments: str) -> int:
    return main(["sessions", *arguments, "--cwd", str(folder)])


def test_rewind_goes_to_the_latest_prompt_and_tells_file_by_file(
    folder: Path, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(folder, "rewind", "latest") == 1
    assert asked == [(SESSION, SECOND, "both", {"dry_run": False, "force": frozenset()})]
    assert capsys.readouterr().out.splitlines() == [
        "restore a.py",
        "leave alone b.py: changed since by somebody else",
        "done: 2 messages, 1 file",
        "the prompt was: Say what it was.",
    ]


def test_rewind_takes_a_prompt_a_scope_and_what_to_force(
    folder: Path, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--to", "00000001", "--files", "--dry-run", "--force", "b.py", "--force", "c.py")
    assert run(folder, "rewind", SESSION, *arguments) == 0
    assert asked == [
        (SESSION, FIRST, "files", {"dry_run": True, "force": frozenset({"b.py", "c.py"})})
    ]
    assert "nothing was changed: 2 messages, 1 file\n" in capsys.readouterr().out


def test_redo_undoes_the_last_rewind(
    folder: Path, asked: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "redo", SESSION) == 0
    assert asked == [(SESSION, {"dry_run": False, "force": frozenset()})]
    assert "create again a.py\ndone: 2 messages, 1 file\n" in capsys.readouterr().out


def test_scopes_exclude_each_other(folder: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(folder, "rewind", SESSION, "--files", "--conversation")


def test_search_shows_where_the_words_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hit = SearchHit(
        session_id=SESSION, message_id=FIRST, kind="prompt", at="", snippet="Fix the\n«parser»\x1b"
    )

    async def search(self: Library, query: str, *, limit: int, **_: Any) -> tuple[SearchHit, ...]:
        return (hit,)[: limit if query == "parser" else 0]

    monkeypatch.setattr(Library, "search", search)
    capsys.readouterr()
    assert run(folder, "search", "parser") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{SESSION} ·  · prompt · {FIRST}", "    Fix the «parser»␛",
    ]  # fmt: skip
    assert run(folder, "search", "parser", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["messageId"] == FIRST
    assert run(folder, "search", "lexer") == 1
    assert "nothing was found for 'lexer'" in capsys.readouterr().err
