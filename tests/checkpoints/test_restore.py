import stat
from collections.abc import Callable
from dataclasses import replace

import pytest

from agentls.checkpoints.present import Present
from agentls.checkpoints.restore import Plan, Step, plan
from agentls.protocol.content import FileChange

FILE = stat.S_IFREG | 0o644
PROGRAM = stat.S_IFREG | 0o755
LINK = stat.S_IFLNK | 0o777
FOLDER = stat.S_IFDIR | 0o755
A, B, C, D = (letter * 64 for letter in "abcd")


def change(
    path: str,
    before: str | None,
    after: str | None,
    *,
    before_mode: int | None = FILE,
    after_mode: int | None = FILE,
    restorable: bool = True,
    made_folders: int | None = None,
) -> FileChange:
    return FileChange(
        path=path,
        kind="created" if before is None else "modified" if after else "deleted",
        before_sha256=before,
        after_sha256=after,
        added_lines=0,
        removed_lines=0,
        before_mode=before_mode if before else None,
        after_mode=after_mode if after else None,
        restorable=restorable,
        made_folders=made_folders,
    )


def planned(
    *changes: FileChange, kept: Callable[[str], bool] = lambda sha256: True, **presents: Present
) -> Plan:
    """Plan with what is at `/w/<name>`; what is not given is not there."""

    def look(path: str) -> Present:
        return presents.get(path.removeprefix("/w/").replace("/", "__"), Present(path))

    return plan(changes, look, cwd="/w", kept=kept)


def only(whole: Plan) -> Step:
    (step,) = whole.steps
    return step


def there(name: str, sha256: str | None, mode: int = FILE) -> Present:
    return Present(f"/w/{name}", mode=mode, sha256=sha256)


@pytest.mark.parametrize(
    ("made", "now", "action"),
    [
        (change("f", A, B), there("f", B), "restore"),
        (change("f", A, B), there("f", A), "nothing"),
        (change("f", A, None), Present("/w/f"), "create"),
        (change("f", A, None), there("f", A), "nothing"),
        (change("f", None, B), there("f", B), "delete"),
        (change("f", None, B), Present("/w/f"), "nothing"),
        (change("f", A, A, after_mode=PROGRAM), there("f", A, PROGRAM), "mode"),
        (change("f", A, B, before_mode=None, after_mode=None), there("f", B, PROGRAM), "restore"),
        (change("f", A, B, before_mode=None, after_mode=None), there("f", A, PROGRAM), "nothing"),
        (change("f", A, A, before_mode=LINK, after_mode=FILE), there("f", A), "restore"),
    ],
)
def test_what_is_as_it_was_left_is_brought_back(
    made: FileChange, now: Present, action: str
) -> None:
    step = only(planned(made, f=now))
    assert (step.action, step.conflict) == (action, None)


@pytest.mark.parametrize(
    ("made", "now", "action", "conflict"),
    [
        (change("f", A, B), there("f", C), "restore", "was changed by something else since"),
        (change("f", A, B), Present("/w/f"), "create", "was deleted by something else since"),
        (change("f", None, B), there("f", C), "delete", "was changed by something else since"),
        (change("f", A, B), there("f", B, PROGRAM), "restore", "has got other permissions since"),
        (change("f", A, B), there("f", B, LINK), "restore", "is a link now"),
        (change("f", A, B), there("f", None, FOLDER), "restore", "is a folder now"),
        (change("f", A, B), there("f", None, stat.S_IFIFO), "restore", "is a pipe now"),
        (
            change("f", A, None),
            there("f", C),
            "restore",
            "was deleted then, and a file is there now",
        ),
        (
            change("f", A, B),
            replace(there("f", C), in_editor=True),
            "restore",
            "was changed in the editor since",
        ),
        (
            change("f", A, B),
            replace(there("f", B), outside=True),
            "restore",
            "is outside of the workspace",
        ),
        (
            change("f", A, B),
            replace(there("f", B), outside=True, link="/w/d"),
            "restore",
            "is behind a link that leads out of the workspace: /w/d",
        ),
        (
            change("f", A, None),
            Present("/w/f", blocked_by="/w/d"),
            "create",
            "has no folder any more: /w/d is no folder",
        ),
    ],
)
def test_what_somebody_else_has_changed_is_a_conflict(
    made: FileChange, now: Present, action: str, conflict: str
) -> None:
    step = only(planned(made, f=now))
    assert (step.action, step.conflict) == (action, conflict)
    assert step.possible


@pytest.mark.parametrize(
    ("made", "now", "why"),
    [
        (
            change("f", A, B, restorable=False),
            there("f", B),
            "cannot be brought back: what it held before was not kept",
        ),
        (
            change("f", A, B),
            replace(there("f", B), owner=".git"),
            "belongs to git and is left alone",
        ),
        (
            change("f", A, B),
            replace(there("f", B), owner=".agentls"),
            "belongs to agentls and is left alone",
        ),
        (
            change("f", A, B),
            Present("/w/f", problem="cannot be looked at: Permission denied"),
            "cannot be looked at: Permission denied",
        ),
    ],
)
def test_what_cannot_be_done_is_not_done_by_force_either(
    made: FileChange, now: Present, why: str
) -> None:
    step = only(planned(made, f=now))
    assert (step.action, step.conflict, step.possible) == ("nothing", why, False)


def test_content_that_was_pruned_is_said() -> None:
    step = only(planned(change("f", A, B), f=there("f", B), kept=lambda sha256: False))
    assert step.conflict == "cannot be brought back: what it held before is no longer kept"
    step = only(planned(change("f", A, B), f=there("f", A), kept=lambda sha256: False))
    assert step.conflict is None, "it is there already"


def test_first_change_says_where_to_and_the_last_what_is_expected() -> None:
    history = [change("f", A, B), change("f", B, None), change("f", None, C), change("f", C, D)]
    step = only(planned(*history, f=there("f", D)))
    assert (step.action, step.target.sha256, step.conflict) == ("restore", A, None)
    assert (
        only(planned(*history, f=there("f", B))).conflict == "was changed by something else since"
    )


def test_file_that_came_and_went_needs_nothing() -> None:
    step = only(planned(change("f", None, A), change("f", A, None)))
    assert (step.action, step.conflict) == ("nothing", None)


def test_file_reached_by_two_paths_has_one_history() -> None:
    changes = (change("link/f", A, B), change("real/f", B, C), change("link/f", C, D))
    real = Present("/w/real/f", mode=FILE, sha256=D, link="/w/link")
    step = only(planned(*changes, link__f=real, real__f=replace(real, link=None)))
    assert (step.action, step.target.sha256, step.conflict) == ("restore", A, None)


def test_deletions_come_first_and_the_deepest_of_them() -> None:
    whole = planned(
        change("a", A, None),
        change("d/e/f", None, B),
        change("d/g", None, B),
        change("b", A, B),
        b=there("b", B),
        d__e__f=there("d/e/f", B),
        d__g=there("d/g", B),
    )
    assert [(step.name, step.action) for step in whole.steps] == [
        ("d/e/f", "delete"),
        ("d/g", "delete"),
        ("a", "create"),
        ("b", "restore"),
    ]


def test_folder_in_a_files_place_is_no_conflict_when_all_in_it_goes() -> None:
    changes = (change("f", A, None), change("f/new", None, B, made_folders=1))
    folder = replace(there("f", None, FOLDER), holds=("/w/f/new",))
    steps = planned(*changes, f=folder, f__new=there("f/new", B)).steps
    assert [(step.name, step.action, step.conflict) for step in steps] == [
        ("f/new", "delete", None),
        ("f", "create", None),
    ]
    fuller = replace(folder, holds=("/w/f/new", "/w/f/other"))
    whole = planned(*changes, f=fuller, f__new=there("f/new", B))
    assert [step.conflict for step in whole.conflicts] == [
        "was deleted then, and a folder is there now"
    ]


def test_link_in_a_folders_place_is_no_conflict_when_it_goes() -> None:
    changes = (
        change("d/f", A, None),
        change("d", None, B, after_mode=LINK),
    )
    behind = Present(
        "/elsewhere/f", mode=FILE, sha256=C, link="/w/d", outside=True, place_without_link="/w/d/f"
    )
    steps = planned(*changes, d=there("d", B, LINK), d__f=behind).steps
    assert [(step.name, step.action, step.conflict) for step in steps] == [
        ("d", "delete", None),
        ("d/f", "create", None),
    ]
    assert steps[1].present.place == "/w/d/f"


def test_file_in_a_folders_place_is_no_conflict_when_it_goes() -> None:
    changes = (change("d/f", A, None), change("d", None, B))
    blocked = Present("/w/d/f", blocked_by="/w/d")
    steps = planned(*changes, d=there("d", B), d__f=blocked).steps
    assert [(step.action, step.conflict) for step in steps] == [("delete", None), ("create", None)]


def test_file_that_was_never_hashed_may_have_changed() -> None:
    huge = FileChange(
        path="f",
        kind="created",
        before_sha256=None,
        after_sha256=None,
        added_lines=0,
        removed_lines=0,
        after_mode=FILE,
    )
    step = only(planned(huge, f=there("f", C)))
    assert step.action == "delete"
    assert step.conflict == "was too large to be looked at, so it may have changed since"


def test_pipe_that_was_made_goes_without_a_question() -> None:
    pipe = FileChange(
        path="f",
        kind="created",
        before_sha256=None,
        after_sha256=None,
        added_lines=0,
        removed_lines=0,
        after_mode=stat.S_IFIFO | 0o644,
    )
    step = only(planned(pipe, f=there("f", None, stat.S_IFIFO | 0o644)))
    assert (step.action, step.conflict) == ("delete", None)


def test_folders_that_were_made_are_known_to_the_plan() -> None:
    whole = planned(
        change("n/m/a", None, A, made_folders=2),
        change("n/b", None, A, made_folders=0),
        change("c/d", None, A),
        change("e/f", A, B),
    )
    assert whole.made == {"/w/n/m", "/w/n"}
    assert whole.made_unknown == {"/w/c/d"}


def test_path_of_a_forged_log_may_lead_nowhere_unseen() -> None:
    looked = list[str]()

    def look(path: str) -> Present:
        looked.append(path)
        return Present(path, outside=True, mode=FILE, sha256=B)

    whole = plan([change("../../etc/passwd", A, B)], look, cwd="/w/x", kept=lambda sha256: True)
    assert looked == ["/etc/passwd"]
    assert only(whole).conflict == "is outside of the workspace"
