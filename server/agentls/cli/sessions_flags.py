"""The flags of `agentls sessions`; what an action needs is imported when it runs."""

import argparse
from pathlib import Path
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # pyright: ignore[reportPrivateUsage]

_ID = "its id, or as much of its beginning as no other has, or `latest`"


def add_sessions(commands: Commands) -> None:
    """Add `agentls sessions` and its actions."""
    parser = commands.add_parser("sessions", help="look at saved sessions, and change them")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _add_reading(actions)
    _add_naming(actions)
    _add_moving(actions)
    _add_rewinding(actions)


def _add_reading(actions: Commands) -> None:
    listing = _action(actions, "list", "newest first", _list)
    listing.add_argument("--tag", metavar="TAG", help="only those that bear it")
    listing.add_argument("--trashed", action="store_true", help="those in the trash")
    listing.add_argument("--json", action="store_true")
    showing = _action(actions, "show", "one conversation", _show, session=True)
    showing.add_argument("--json", action="store_true", help="the whole state")
    searching = _action(actions, "search", "find what was said and done", _search)
    searching.add_argument("query", metavar="QUERY", help='words; "a phrase"; a beginn*')
    searching.add_argument("--limit", type=_count, default=20, metavar="N")
    searching.add_argument("--json", action="store_true")
    exporting = _action(actions, "export", "write one down", _export, session=True)
    exporting.add_argument(
        "--format", choices=("markdown", "json"), default="markdown",
        help="for people, or whole, for `import`",
    )  # fmt: skip
    exporting.add_argument("--output", type=Path, metavar="FILE", help="instead of stdout")


def _add_naming(actions: Commands) -> None:
    renaming = _action(actions, "rename", "give one a title", _rename, session=True)
    renaming.add_argument("title", metavar="TITLE")
    tagging = _action(actions, "tag", "give one a tag, or take it away", _tag, session=True)
    tagging.add_argument("tag", metavar="TAG", nargs="?", help="none: it bears no tag any more")


def _add_moving(actions: Commands) -> None:
    forking = _action(actions, "fork", "begin one with a copy of another", _fork, session=True)
    forking.add_argument("--at", metavar="MESSAGE", help="the last message of the copy")
    _action(actions, "trash", "move one to the trash", _trash, session=True)
    _action(actions, "restore", "take one out of the trash", _restore, session=True)
    _action(actions, "purge", "delete one that is in the trash, for good", _purge, session=True)
    importing = _action(
        actions, "import", "take in a session of Claude Code, or an export", _import
    )
    importing.add_argument("file", type=Path, metavar="FILE")
    importing.add_argument("--id", metavar="ID", help="the id it is to have, instead of its own")
    importing.add_argument("--json", action="store_true")
    _action(actions, "reindex", "make the search index anew", _reindex)


def _add_rewinding(actions: Commands) -> None:
    rewinding = _action(
        actions, "rewind", "go back to before a prompt; nothing is deleted", _rewind, session=True
    )
    rewinding.add_argument("--to", metavar="MESSAGE", help="the prompt; else the latest")
    scope = rewinding.add_mutually_exclusive_group()
    for what in ("files", "conversation", "both"):
        scope.add_argument(f"--{what}", dest="scope", action="store_const", const=what)
    rewinding.set_defaults(scope="both")
    redoing = _action(actions, "redo", "undo the last rewind", _redo, session=True)
    for parser in (rewinding, redoing):
        parser.add_argument("--dry-run", action="store_true", help="say what would be done")
        parser.add_argument(
            "--force", action="append", default=[], metavar="PATH",
            help="restore this file although it was changed since",
        )  # fmt: skip


def _action(
    actions: Commands, name: str, help_text: str, command: object, *, session: bool = False
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=help_text)
    if session:
        parser.add_argument("session_id", metavar="ID", help=_ID)
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="FOLDER")
    parser.set_defaults(command=command)
    return parser


def _list(options: argparse.Namespace) -> int:
    from agentls.cli.sessions import list_sessions

    return list_sessions(
        options.cwd, tag=options.tag, trashed=options.trashed, as_json=options.json
    )


def _show(options: argparse.Namespace) -> int:
    from agentls.cli.sessions import show_session

    return show_session(options.cwd, options.session_id, as_json=options.json)


def _export(options: argparse.Namespace) -> int:
    from agentls.cli.sessions import export_session

    return export_session(options.cwd, options.session_id, options.format, options.output)


def _import(options: argparse.Namespace) -> int:
    from agentls.cli.sessions import import_file

    return import_file(options.cwd, options.file, new_id=options.id, as_json=options.json)


def _search(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import search

    return search(options.cwd, options.query, limit=options.limit, as_json=options.json)


def _reindex(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import reindex

    return reindex(options.cwd)


def _rename(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import rename

    return rename(options.cwd, options.session_id, options.title)


def _tag(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import tag

    return tag(options.cwd, options.session_id, options.tag)


def _fork(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import fork

    return fork(options.cwd, options.session_id, options.at)


def _trash(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import trash

    return trash(options.cwd, options.session_id)


def _restore(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import restore

    return restore(options.cwd, options.session_id)


def _purge(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import purge

    return purge(options.cwd, options.session_id)


def _rewind(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import rewind

    return rewind(
        options.cwd, options.session_id, options.to, options.scope,
        dry_run=options.dry_run, force=frozenset(options.force),
    )  # fmt: skip


def _redo(options: argparse.Namespace) -> int:
    from agentls.cli.sessions_change import redo

    return redo(
        options.cwd, options.session_id, dry_run=options.dry_run, force=frozenset(options.force)
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 200:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 200")
    return int(text)
