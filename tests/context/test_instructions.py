import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.instructions import MOST_IMPORTS, Instructions, load_instructions
from agentls.state.measure import tokens_of_text


class Place:
    """A project and a user's home, apart from each other."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = folder / "home"
        self.config = folder / "config"
        self.root.mkdir()

    def write(self, name: str, data: str | bytes) -> Path:
        """Write a file of the project; `~/` is the home folder."""
        path = self.home / name[2:] if name.startswith("~/") else self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def load(self, *roots: Path, **rest: Any) -> Instructions:
        """Load what is there."""
        environment = {"HOME": str(self.home), "AGENTLS_CONFIG_DIR": str(self.config)}
        return load_instructions(roots or (self.root,), environment, **rest)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_nothing_there_is_nothing_told(place: Place) -> None:
    assert place.load() == Instructions("", (), ())
    place.write("AGENTS.md", " \n\n")
    assert place.load() == Instructions("", (), ())


def test_user_comes_first_then_the_project_each_under_its_path(place: Place) -> None:
    place.config.mkdir()
    (place.config / "AGENTS.md").write_text("one")
    place.write("~/.claude/CLAUDE.md", "two")
    place.write("AGENTS.md", "three\n")
    place.write("CLAUDE.md", "\n\nfour")
    place.write(".claude/CLAUDE.md", "five")
    place.write("CLAUDE.local.md", "six")
    found = place.load()
    assert found.text == (
        f"# {place.config}/AGENTS.md\none\n\n# ~/.claude/CLAUDE.md\ntwo\n\n# AGENTS.md\nthree\n\n"
        "# CLAUDE.md\nfour\n\n# .claude/CLAUDE.md\nfive\n\n# CLAUDE.local.md\nsix"
    )
    assert found.sources[0] == place.config / "AGENTS.md"
    assert found.sources[-1] == place.root / "CLAUDE.local.md"
    assert found.problems == ()


def test_every_root_is_read(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "AGENTS.md").write_text("other's")
    place.write("AGENTS.md", "first's")
    assert place.load(place.root, other).text == (
        f"# AGENTS.md\nfirst's\n\n# {other}/AGENTS.md\nother's"
    )


@pytest.mark.parametrize("how", ["link", "content", "import"])
def test_same_file_under_two_names_counts_once(place: Place, how: str) -> None:
    place.write("AGENTS.md", "Use tabs.\n")
    if how == "link":
        (place.root / "CLAUDE.md").symlink_to("AGENTS.md")
    else:
        place.write("CLAUDE.md", "Use tabs.\r\n" if how == "content" else "@AGENTS.md\n")
    found = place.load()
    assert found.text == "# AGENTS.md\nUse tabs."
    assert found.sources == (place.root / "AGENTS.md",)
    assert found.problems == ()


def test_line_that_is_an_import_is_replaced_by_the_file(place: Place) -> None:
    place.write("AGENTS.md", "Before.\n@docs/style.md\n- @./docs/more.md\nAfter.")
    place.write("docs/style.md", "Use tabs.\n@deeper.md")
    place.write("docs/deeper.md", "Eight wide.")
    place.write("docs/more.md", "More.")
    found = place.load()
    assert found.text == (
        "# AGENTS.md\nBefore.\n[From docs/style.md:]\nUse tabs.\n[From docs/deeper.md:]\n"
        "Eight wide.\n[End of docs/deeper.md]\n[End of docs/style.md]\n[From docs/more.md:]\n"
        "More.\n[End of docs/more.md]\nAfter."
    )
    assert [path.name for path in found.sources] == [
        "AGENTS.md", "style.md", "deeper.md", "more.md",
    ]  # fmt: skip


def test_import_within_a_sentence_follows_its_line(place: Place) -> None:
    place.write("AGENTS.md", 'See @docs/a.md and @"docs/my b.md".\nAfter.')
    place.write("docs/a.md", "A.")
    place.write("docs/my b.md", "B.")
    assert place.load().text == (
        '# AGENTS.md\nSee @docs/a.md and @"docs/my b.md".\n[From docs/a.md:]\nA.\n'
        "[End of docs/a.md]\n[From docs/my b.md:]\nB.\n[End of docs/my b.md]\nAfter."
    )


def test_what_only_looks_like_an_import_stays_and_is_no_problem(place: Place) -> None:
    text = (
        "Ask @somebody or me@docs.md about @types/node and @dataclass.\n`@a.md`\n"
        "```\n@a.md\n```\n@docs\n@a.md:3 @a.md#Part"
    )
    place.write("AGENTS.md", text)
    place.write("a.md", "not imported")
    place.write("docs/x", "")
    found = place.load()
    assert found.text == f"# AGENTS.md\n{text}"
    assert found.problems == ()


def test_comments_are_kept_out_but_for_those_in_code(place: Place) -> None:
    place.write(
        "AGENTS.md", "One.<!-- secret\n@a.md --> Two.\n```\n<!-- kept -->\n```\n<!-- not closed"
    )
    place.write("a.md", "not imported")
    assert place.load().text == ("# AGENTS.md\nOne. Two.\n```\n<!-- kept -->\n```\n<!-- not closed")


def test_cycle_is_cut(place: Place) -> None:
    place.write("AGENTS.md", "A.\n@b.md")
    place.write("b.md", "B.\n@AGENTS.md\n@b.md\n@c.md")
    place.write("c.md", "C.\n@b.md")
    found = place.load()
    assert [found.text.count(each) for each in ("A.\n", "B.\n", "C.\n")] == [1, 1, 1]
    assert found.problems == ()


def test_imports_go_five_files_deep(place: Place) -> None:
    place.write("AGENTS.md", "@1.md")
    for number in range(1, 8):
        place.write(f"{number}.md", f"text {number}\n@{number + 1}.md")
    found = place.load()
    assert "text 5" in found.text
    assert "text 6" not in found.text
    assert found.problems == ("@6.md in 5.md is not imported: imports go 5 files deep at most.",)


def test_missing_import_is_a_problem_and_stays_as_text(place: Place) -> None:
    place.write("AGENTS.md", "Before.\n@no.md\nAfter.")
    found = place.load()
    assert found.text == "# AGENTS.md\nBefore.\n@no.md\nAfter."
    assert found.problems == ("@no.md in AGENTS.md is not imported: there is no such file.",)


def test_project_cannot_read_what_lies_outside_of_it(place: Place, tmp_path: Path) -> None:
    key = place.write("~/.ssh/id", "PRIVATE")
    (place.root / "key.md").symlink_to(key)
    (place.root / "up").symlink_to(tmp_path / "home")
    place.write("AGENTS.md", f"@~/.ssh/id\n@{key}\n@../home/.ssh/id\n@key.md\n@up/.ssh/id\nEnd.")
    (place.root / "CLAUDE.md").symlink_to(key)
    (place.root / ".claude").symlink_to(place.home / ".ssh")
    place.write("~/.ssh/CLAUDE.md", "PRIVATE too")
    found = place.load()
    assert "PRIVATE" not in found.text
    assert found.sources == (place.root / "AGENTS.md",)
    assert len(found.problems) == 7
    assert all("leads out of the project" in problem for problem in found.problems)


def test_users_own_file_imports_from_home_and_may_be_a_link_to_anywhere(
    place: Place, tmp_path: Path
) -> None:
    dotfiles = tmp_path / "dotfiles.md"
    dotfiles.write_text(f"Mine.\n@~/rules.md\n@{dotfiles.parent}/other.md")
    (tmp_path / "other.md").write_text("OTHER")
    place.write("~/rules.md", "Rules.")
    place.write("~/.claude/x", "")
    (place.home / ".claude" / "CLAUDE.md").symlink_to(dotfiles)
    found = place.load()
    assert "Mine.\n[From ~/rules.md:]\nRules." in found.text
    assert "OTHER" not in found.text
    [problem] = found.problems
    assert "leads out of your home folder" in problem


def test_file_that_a_rule_denies_is_not_read(place: Place) -> None:
    secret = place.write("secret.md", "SECRET")
    (place.root / "link.md").symlink_to("secret.md")
    place.write("AGENTS.md", "@secret.md\n@link.md\nEnd.")
    found = place.load(unreadable=lambda path: path == secret)
    assert "SECRET" not in found.text
    assert found.problems == ("secret.md is not read: a permission rule keeps it from the model.",)


def test_files_that_are_no_text_are_problems_and_not_waited_for(place: Place) -> None:
    os.mkfifo(place.root / "CLAUDE.md")
    (place.root / "CLAUDE.local.md").symlink_to("nowhere.md")
    place.write(".claude/CLAUDE.md", b"\0\1")
    place.write("AGENTS.md", "End.\n@pipe.md\n@/dev/zero")
    os.mkfifo(place.root / "pipe.md")
    found = place.load()
    assert found.text == "# AGENTS.md\nEnd.\n@/dev/zero"
    assert found.problems == (
        "pipe.md is not read: it is no regular file.",
        "@/dev/zero in AGENTS.md is not imported: it leads out of the project.",
        "CLAUDE.md is not read: it is no regular file.",
        ".claude/CLAUDE.md is not read: it is no text in UTF-8.",
        "CLAUDE.local.md is not read: No such file or directory.",
    )


def test_byte_order_mark_crlf_and_undecodable_bytes_are_seen_to(place: Place) -> None:
    place.write("AGENTS.md", b"\xef\xbb\xbfone\r\n@a.md\r\ncaf\xe9\r\n")
    place.write("a.md", b"two\r\n")
    assert place.load().text == "# AGENTS.md\none\n[From a.md:]\ntwo\n\n[End of a.md]\ncaf\ufffd"


def test_all_together_take_no_more_than_40000_tokens(place: Place) -> None:
    place.write("AGENTS.md", "One.\n@big.md\nTwo.")
    place.write("big.md", f"{'x' * 69}\n" * 4_000)
    place.write("CLAUDE.md", "Three.")
    found = place.load()
    assert 39_000 < tokens_of_text(found.text) < 40_200
    assert "Three." not in found.text
    assert len(found.problems) == 2
    assert found.problems[0].startswith("big.md is cut off: instructions take 40,000 tokens")
    assert found.problems[1].startswith("AGENTS.md is cut off")


def test_one_endless_line_is_left_out_whole(place: Place) -> None:
    place.write("AGENTS.md", "One.\n" + "x" * 2_000_000)
    found = place.load()
    assert found.text == "# AGENTS.md\nOne."
    assert "longer than 512 KB" in found.problems[0]
    assert "cut off" in found.problems[1]


def test_no_more_than_200_imports_are_looked_at(place: Place) -> None:
    place.write("AGENTS.md", "".join(f"@{number}.md\n" for number in range(MOST_IMPORTS + 9)))
    for number in range(MOST_IMPORTS + 9):
        place.write(f"{number}.md", f"text {number}")
    found = place.load()
    assert found.text.count("\ntext ") == MOST_IMPORTS
    assert found.problems == (f"Of the imports only the first {MOST_IMPORTS} are looked at.",)


@given(
    st.lists(
        st.sampled_from(["@", "a.md", "`", "```", "\n", "<!--", "-->", " ", "x", '"', "../", "~/"]),
        max_size=40,
    ).map("".join)
)
def test_no_text_makes_it_raise_or_leave_the_project(text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        place.write("~/a.md", "PRIVATE")
        (Path(name) / "a.md").write_text("PRIVATE")
        place.write("a.md", text)
        place.write("AGENTS.md", text + "\n@a.md")
        assert "PRIVATE" not in place.load().text
