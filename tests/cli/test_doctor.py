from importlib import metadata

import pytest

from agentls.cli import doctor
from tests.support.scripts import PLAIN_USER, Finished, Script, as_root, open_to_all


def examined(script: Script, **options) -> Finished:
    return script.command("doctor", "--cwd", str(script.folder), **options)


def test_healthy_place_has_nothing_bad(script: Script) -> None:
    done = examined(script, env={"ANTHROPIC_API_KEY": "sk-secret-123"})
    assert (done.code, done.stderr) == (0, "")
    marks = {line.split()[0] for line in done.stdout.splitlines()}
    assert marks <= {"ok", "note"}
    for text in (f"workspace {script.folder} can be written", "0 saved sessions", "anthropic"):
        assert text in done.stdout
    assert "sk-secret-123" not in done.stdout
    assert not [*script.folder.iterdir()]


def test_missing_key_is_noted_with_the_ways_out(script: Script) -> None:
    done = examined(script)
    assert done.code == 0
    for text in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "--model offline"):
        assert text in done.stdout


def test_address_that_is_none_is_bad(script: Script) -> None:
    done = examined(script, env={"ANTHROPIC_BASE_URL": "nowhere"})
    assert (done.code, "bad   ANTHROPIC_BASE_URL is 'nowhere'" in done.stdout) == (1, True)


def test_login_in_an_address_is_not_shown(script: Script) -> None:
    done = examined(script, env={"ANTHROPIC_BASE_URL": "http://me:sk-secret-123@localhost:9"})
    assert (done.code, "at http://localhost:9 " in done.stdout) == (0, True)
    assert "sk-secret-123" not in done.stdout


def test_damaged_settings_are_bad_and_named(script: Script) -> None:
    (script.config / "settings.json").write_text('{\n  "model": \n}')
    done = examined(script)
    assert done.code == 1
    [bad] = [line for line in done.stdout.splitlines() if line.startswith("bad")]
    assert f"{script.config / 'settings.json'}, line " in bad


@as_root
def test_folder_that_cannot_be_written_is_a_note(script: Script) -> None:
    open_to_all(script)
    script.folder.chmod(0o555)
    done = examined(script, prefix=PLAIN_USER)
    assert done.code == 0
    assert f"note  {script.folder} cannot be written" in done.stdout


@as_root
def test_sessions_that_cannot_be_kept_anywhere_are_bad(script: Script) -> None:
    open_to_all(script)
    for folder in (script.folder, script.data):
        folder.chmod(0o555)
    done = examined(script, prefix=PLAIN_USER)
    assert (done.code, "AGENTLS_DATA_DIR" in done.stdout) == (1, True)


def test_folder_that_is_not_there_is_bad(script: Script) -> None:
    script.folder.rmdir()
    done = examined(script)
    assert (done.code, f"bad   the workspace {script.folder} is not there" in done.stdout) == (
        1, True,
    )  # fmt: skip


def test_library_that_is_missing_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    def version(name: str) -> str:
        if name == "orjson":
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(doctor.metadata, "version", version)
    bad = [finding.text for finding in doctor.examine(tmp_path) if finding.mark == "bad"]
    assert bad == ["orjson is not installed; install agentls anew"]
