import os
from pathlib import Path

from agentls.tools.paths import absolute, exists, printable, read_variable, shown


def test_relative_path_starts_at_the_working_folder(tmp_path: Path) -> None:
    assert absolute("src/a.py", tmp_path) == tmp_path / "src/a.py"
    assert absolute("./a.py", tmp_path) == tmp_path / "a.py"
    assert absolute("/etc/hosts", tmp_path) == Path("/etc/hosts")


def test_tilde_is_the_home_folder_and_an_unknown_user_is_a_name(tmp_path: Path) -> None:
    assert absolute("~/x", tmp_path) == Path.home() / "x"
    assert absolute("~no-such-user/x", tmp_path) == tmp_path / "~no-such-user/x"


def test_dots_after_a_link_lead_where_the_system_goes(tmp_path: Path) -> None:
    deep = tmp_path / "deep" / "inside"
    deep.mkdir(parents=True)
    (tmp_path / "link").symlink_to(deep)
    assert absolute("link/../x", tmp_path) == tmp_path.resolve() / "deep" / "x"
    assert absolute("link/x", tmp_path) == tmp_path / "link" / "x"


def test_path_is_shown_relative_inside_the_folder_and_whole_outside(tmp_path: Path) -> None:
    assert shown(tmp_path / "a" / "b", tmp_path) == "a/b"
    assert shown(tmp_path, tmp_path) == str(tmp_path)
    assert shown(Path("/etc/hosts"), tmp_path) == "/etc/hosts"


def test_name_that_is_not_unicode_is_shown_all_the_same() -> None:
    path = Path(os.fsdecode(b"/a/\xff.txt"))
    assert printable(path) == "/a/\ufffd.txt"
    assert read_variable(shown(path, Path("/a"))) == "Read:\ufffd.txt"


def test_what_cannot_be_a_path_does_not_exist(tmp_path: Path) -> None:
    assert not exists(tmp_path / "a\0b")
    assert not exists(tmp_path / ("x" * 5000))
    assert exists(tmp_path)
