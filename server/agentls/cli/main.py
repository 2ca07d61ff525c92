"""The command `agentls` and its flags; what a command needs is imported when it runs."""

import argparse
import gc
import io
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agentls.cli.sessions_flags import Commands, add_sessions
from agentls.errors import AgentError
from agentls.stdio import tell
from agentls.version import VERSION

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where it was closed from the start
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if options.verbose else logging.WARNING,
        format="agentls: %(levelname)s %(name)s: %(message)s",
    )
    try:
        return _carry_out(options)
    except AgentError as error:
        tell(str(error))
        return EXIT_USAGE
    except BrokenPipeError:
        # Nobody reads any more; what is still in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_FAILED
    except OSError as error:
        tell(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _carry_out(options: argparse.Namespace) -> int:
    code = options.command(options)
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout.flush()
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agentls", description="A coding agent that any editor can host."
    )
    parser.add_argument("--version", action="version", version=f"agentls {VERSION}")
    parser.add_argument("--verbose", action="store_true", help="log everything to stderr")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_lsp(commands)
    _add_run(commands)
    add_sessions(commands)
    _add_doctor(commands)
    _add_generate(commands)
    return parser


def _add_lsp(commands: Commands) -> None:
    parser = commands.add_parser("lsp", help="serve an editor over stdio")
    parser.add_argument("--stdio", action="store_true", help="the default; editors say it anyway")
    _add_model(parser)
    parser.set_defaults(command=_lsp)


def _add_run(commands: Commands) -> None:
    parser = commands.add_parser(
        "run",
        help="run a prompt without an editor",
        epilog="exit codes: 0 done, 1 failed, 2 usage, 75 worth a retry, 130 and 143 on signals",
    )
    parser.add_argument("-p", "--prompt", metavar="TEXT", help="the prompt; stdin is appended")
    parser.add_argument(
        "--attach", nargs="+", action="extend", default=[], metavar="FILE",
        help="pictures and PDFs that go with the prompt",
    )  # fmt: skip
    parser.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    parser.add_argument("--input-format", choices=("text", "stream-json"), default="text")
    _add_model(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--resume", metavar="ID", help="go on with a session")
    which.add_argument(
        "--continue", action="store_true", dest="continue_latest", help="go on with the latest"
    )
    parser.add_argument("--no-session", action="store_true", help="keep nothing on disk")
    parser.add_argument("--permission-mode", choices=MODES)
    for flag, what in (("--allowed-tools", "allow"), ("--disallowed-tools", "deny")):
        parser.add_argument(
            flag, nargs="+", action="extend", default=[], metavar="RULE",
            help=f"rules that {what}, such as 'Bash(git diff:*)'",
        )  # fmt: skip
    parser.add_argument(
        "--permission-prompt",
        choices=("deny", "fail"),
        default="deny",
        help="what an approval that nobody can give does: the call is denied, or the run fails too",
    )
    parser.add_argument("--max-turns", type=_positive, metavar="N", help="answers of the model")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="FOLDER")
    parser.add_argument("--system-prompt", metavar="TEXT", help="instead of the built-in one")
    parser.add_argument("--append-system-prompt", metavar="TEXT", help="after it")
    parser.set_defaults(command=_run)


def _add_doctor(commands: Commands) -> None:
    parser = commands.add_parser("doctor", help="say what works here and what is missing")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="FOLDER")
    parser.set_defaults(command=_doctor)


def _add_generate(commands: Commands) -> None:
    parser = commands.add_parser("generate", help="write the files made from the protocol")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    parser.add_argument("--root", type=Path, default=Path(), metavar="FOLDER")
    parser.set_defaults(command=_generate)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="a model id, `offline` for none behind it, or `scripted:FILE` to play a scenario",
    )


def _lsp(options: argparse.Namespace) -> int:
    from agentls.lsp.wire import take_over_stdio

    pipes = take_over_stdio()
    # Importing makes hundreds of thousands of objects that all stay: looking for garbage among them
    # again and again would cost a tenth of the start.
    usual = gc.get_threshold()
    gc.set_threshold(10_000, 20, 20)
    from agentls.cli.serve import serve_editor

    gc.set_threshold(*usual)
    return serve_editor(pipes, model=options.model)


def _run(options: argparse.Namespace) -> int:
    from agentls.cli.script import run_script

    return run_script(options)


def _doctor(options: argparse.Namespace) -> int:
    from agentls.cli.doctor import doctor

    return doctor(options.cwd)


def _generate(options: argparse.Namespace) -> int:
    from agentls.cli.generate import generate_files

    return generate_files(options.root, check_only=options.check)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)
