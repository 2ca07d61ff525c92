import pytest

from agentls.version import VERSION
from tests.support.scripts import Script

COMMANDS = ("lsp", "run", "sessions", "doctor", "generate")


def test_version_is_told(script: Script) -> None:
    done = script.command("--version")
    assert (done.code, done.stdout, done.stderr) == (0, f"agentls {VERSION}\n", "")


def test_without_a_command_the_commands_are_named(script: Script) -> None:
    done = script.command()
    assert (done.code, done.stdout) == (2, "")
    assert "COMMAND" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_command_names_the_known_ones(script: Script) -> None:
    done = script.command("rum")
    assert (done.code, done.stdout) == (2, "")
    assert all(name in done.stderr for name in ("'rum'", *COMMANDS))


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), ("sessions", "show")])
def test_help_of_every_command(script: Script, command: tuple[str, ...]) -> None:
    done = script.command(*command, "--help")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.startswith(" ".join(["usage: agentls", *command]))


def test_help_of_run_names_flags_and_exit_codes(script: Script) -> None:
    told = script.command("run", "--help").stdout
    for text in ("--prompt", "--resume", "--permission-prompt", "75 worth a retry", "143"):
        assert text in told


def test_reader_that_leaves_is_no_traceback(script: Script) -> None:
    done = script.command("doctor", prefix=("sh", "-c", '"$@" | true', "sh"))
    assert done.stderr == ""


def test_stdout_that_knows_few_characters_gets_what_it_can(script: Script) -> None:
    folder = script.folder / "grün😀"
    folder.mkdir()
    env = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    done = script.command("sessions", "list", "--cwd", str(folder), env=env)
    assert (done.code, done.stderr) == (0, "")
    assert "gr" in done.stdout
