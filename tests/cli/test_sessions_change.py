import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.scenarios import calls, says
from tests.support.scripts import Finished, Script

FILES = Path(__file__).parents[1] / "sessions" / "interop" / "claude_code"
PLAIN = "5b0c7a52-3d1e-4a8e-9f42-6c1d20b7e9a1"


def sessions(script: Script, *arguments: str, **options: Any) -> Finished:
    return script.command("sessions", *arguments, "--cwd", str(script.folder), **options)


def listed(script: Script, *arguments: str) -> list[dict[str, Any]]:
    return json.loads(sessions(script, "list", "--json", *arguments).stdout)


@pytest.fixture
def imported(script: Script) -> str:
    """The id of an imported session."""
    done = sessions(script, "import", str(FILES / "plain.jsonl"))
    assert done.code == 0, done.stderr
    return PLAIN


def test_import_says_what_it_carried_and_what_not(script: Script) -> None:
    done = sessions(script, "import", str(FILES / "plain.jsonl"))
    first, second, *rest = done.stdout.splitlines()
    assert (done.code, first) == (0, f"session {PLAIN}")
    assert second.endswith("2 prompts, 3 answers, 2 tool calls")
    assert "  1 records of type progress (line 8)" in rest


def test_import_as_json_is_for_scripts(script: Script) -> None:
    done = sessions(script, "import", str(FILES / "plain.jsonl"), "--id", "mine", "--json")
    told = json.loads(done.stdout)
    assert (told["sessionId"], told["messages"]) == ("mine", 7)
    assert {"what": "records of type progress", "count": 1, "firstLine": 8} in told["leftOut"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.jsonl",), "not a file"),
        ((str(FILES / "plain.jsonl"), "--id", "../x"), "not a session id"),
        ((str(FILES / "subagents/subagents/agent-ab12cd.meta.json"),), "no prompt"),
    ],
)
def test_import_of_what_is_none_is_a_usage_error(
    script: Script, arguments: tuple[str, ...], words: str
) -> None:
    done = sessions(script, "import", *arguments)
    assert (done.code, done.stdout, words in done.told) == (2, "", True)
    assert not (script.folder / ".agentls").exists()


def test_import_of_the_same_file_again_is_a_usage_error(script: Script, imported: str) -> None:
    done = sessions(script, "import", str(FILES / "plain.jsonl"))
    assert (done.code, imported in done.told) == (2, True)


def test_imported_session_is_gone_on_with(script: Script, imported: str) -> None:
    model = script.plays(says("Gladly."))
    done = script.run("-p", "Go on.", "--resume", imported, "--model", model)
    assert (done.code, done.stdout) == (0, "Gladly.\n")
    shown = sessions(script, "show", imported).stdout
    assert shown.index("It is **fixed**.") < shown.index("Go on.") < shown.index("Gladly.")


def test_export_for_people_folds_the_calls(script: Script, imported: str) -> None:
    done = sessions(script, "export", imported[:8])
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith("# The parser\n")
    assert "<summary>Bash pytest -q · failed</summary>" in done.stdout


def test_export_as_json_is_imported_again(script: Script, imported: str) -> None:
    file = script.folder / "session.json"
    done = sessions(script, "export", imported, "--format", "json", "--output", str(file))
    assert (done.code, done.stdout, file.stat().st_mode & 0o777) == (0, "", 0o600)
    again = sessions(script, "import", str(file), "--id", "again")
    assert again.code == 0, again.stderr
    for arguments in (("--json",), ()):
        first = sessions(script, "show", imported, *arguments).stdout
        assert sessions(script, "show", "again", *arguments).stdout == first.replace(
            imported, "again"
        )


def test_export_to_where_nothing_can_be_written_leaves_nothing(
    script: Script, imported: str
) -> None:
    done = sessions(script, "export", imported, "--output", str(script.folder / "no" / "x.md"))
    assert (done.code, done.stdout) == (1, "")
    assert "No such file" in done.told
    (script.folder / "there").mkdir()
    done = sessions(script, "export", imported, "--output", str(script.folder / "there"))
    assert (done.code, [*script.folder.glob("there*")]) == (1, [script.folder / "there"])


def test_title_and_tag_are_given_and_taken_away(script: Script, imported: str) -> None:
    assert sessions(script, "rename", "latest", "Another  name").code == 0
    assert sessions(script, "tag", imported, "work").code == 0
    assert [(row["title"], row["tag"]) for row in listed(script)] == [("Another name", "work")]
    assert listed(script, "--tag", "bugs") == []
    assert sessions(script, "tag", imported).code == 0
    assert [row["tag"] for row in listed(script)] == [None]


@pytest.mark.parametrize(
    "arguments", [("rename", PLAIN, " "), ("rename", PLAIN, "x" * 201), ("tag", PLAIN, "x" * 61)]
)
def test_name_of_no_or_of_great_length_is_a_usage_error(
    script: Script, imported: str, arguments: tuple[str, ...]
) -> None:
    done = sessions(script, *arguments)
    assert (done.code, done.stdout, "characters" in done.told) == (2, "", True)


def test_trash_keeps_a_session_until_it_is_purged(script: Script, imported: str) -> None:
    assert sessions(script, "purge", imported).code == 2
    assert sessions(script, "trash", imported[:6]).code == 0
    assert (listed(script), [row["id"] for row in listed(script, "--trashed")]) == ([], [imported])
    assert sessions(script, "restore", imported[:6]).code == 0
    assert [row["title"] for row in listed(script)] == ["The parser"]
    assert sessions(script, "trash", imported).code == 0
    assert sessions(script, "purge", imported).code == 0
    assert (listed(script), listed(script, "--trashed")) == ([], [])
    assert imported in sessions(script, "restore", imported).told


def test_fork_begins_with_a_copy_up_to_a_message(script: Script, imported: str) -> None:
    done = sessions(script, "fork", imported, "--at", "00000001")
    assert done.code == 0, done.stderr
    [copy] = [row for row in listed(script) if row["id"] != imported]
    assert copy["forkedFrom"] == imported
    assert copy["id"] in done.stdout
    shown = sessions(script, "show", copy["id"]).stdout
    assert "Fix the parser" in shown
    assert "Say what it was" not in shown


def test_fork_at_a_message_that_is_not_there_is_a_usage_error(
    script: Script, imported: str
) -> None:
    done = sessions(script, "fork", imported, "--at", "nowhere")
    assert (done.code, done.stdout, len(listed(script))) == (2, "", 1)


@pytest.mark.parametrize(
    "action", ["show", "export", "rename", "tag", "fork", "trash", "restore", "purge", "rewind"]
)
def test_unknown_session_is_a_usage_error_everywhere(script: Script, action: str) -> None:
    more = ["Title"] if action == "rename" else []
    done = sessions(script, action, "nothing", *more)
    assert (done.code, done.stdout) == (2, "")
    assert "there is no session 'nothing'" in done.told
    assert not [*script.folder.iterdir()]


def test_rewind_takes_files_back_and_redo_brings_them_again(script: Script) -> None:
    kept = script.folder / "a.txt"
    kept.write_text("old\n")
    write = calls("Write", file_path="b.txt", content="new\n")
    shell = calls("Bash", command="echo more >> a.txt")
    model = script.plays(write, shell, says("Done."))
    mode = ("--permission-mode", "bypassPermissions")
    assert script.run("-p", "Go.", "--model", model, *mode).code == 0
    previewed = sessions(script, "rewind", "latest", "--dry-run")
    assert (previewed.code, kept.read_text()) == (0, "old\nmore\n")
    assert sorted(previewed.stdout.splitlines()[:2]) == ["delete b.txt", "restore a.txt"]
    done = sessions(script, "rewind", "latest")
    assert (done.code, "the prompt was: Go." in done.stdout) == (0, True), done.stderr
    assert (kept.read_text(), (script.folder / "b.txt").exists()) == ("old\n", False)
    assert "Go." not in sessions(script, "show", "latest").stdout.split("\n", 2)[2]
    assert sessions(script, "redo", "latest").code == 0
    assert (kept.read_text(), (script.folder / "b.txt").read_text()) == ("old\nmore\n", "new\n")
    assert "Done." in sessions(script, "show", "latest").stdout


def test_rewind_leaves_a_file_alone_that_somebody_changed_since(script: Script) -> None:
    model = script.plays(calls("Write", file_path="b.txt", content="new\n"), says("Done."))
    mode = ("--permission-mode", "acceptEdits")
    assert script.run("-p", "Go.", "--model", model, *mode).code == 0
    made = script.folder / "b.txt"
    made.write_text("mine\n")
    done = sessions(script, "rewind", "latest")
    assert (done.code, made.read_text()) == (1, "mine\n")
    assert done.stdout.startswith("leave alone b.txt: ")


def test_redo_of_nothing_is_a_usage_error(script: Script, imported: str) -> None:
    done = sessions(script, "redo", imported)
    assert (done.code, done.stdout, "no rewind" in done.stderr) == (2, "", True)


def test_search_finds_what_was_said_and_reindex_makes_it_findable_again(
    script: Script, imported: str
) -> None:
    found = sessions(script, "search", "typo")
    assert (found.code, imported in found.stdout, "«typo»" in found.stdout) == (0, True, True)
    for file in (script.folder / ".agentls" / "sessions").glob("index.*"):
        file.write_bytes(b"damaged")
    assert sessions(script, "reindex").code == 0
    assert "«typo»" in sessions(script, "search", "typo").stdout
    assert sessions(script, "search", "nothing-of-the-kind").code == 1
