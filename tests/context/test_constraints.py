import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.context.constraints import LONGEST, constraints, gathered, lifts, meaning
from agentls.state.measure import tokens_of_text
from tests.support.compactable import words

FOUND = [
    "Never touch src/legacy.py!",
    "Don't add dependencies",
    "Don\u2019t rename `Store.emit`",
    "do not use `foo.bar` in src/main.py, e.g. not in its tests",
    "The public API must stay as it is.",
    "You must not commit.",
    "Always run the tests with -x",
    "Change only what is in server/",
    "Fix it without touching the schema.",
    "Avoid global state.",
    "Please keep Python 3.11 working.",
    "Refactor it, but keep the names",
    "Leave config.toml alone.",
    "No new dependencies.",
    "Write it with no recursion.",
    "Use pathlib instead of os.path.",
    "The file may have at most 400 lines.",
    "Coverage is to be at least 90 %.",
    "Make sure the log stays readable.",
    "Can you do it without changing v1.2?",
    "\u00c4ndere nie die Tests.",
    "Bitte nicht committen.",
    "Nutze nur die Standardbibliothek.",
    "Keine neuen Abh\u00e4ngigkeiten!",
    "Lass README.md bitte in Ruhe.",
    "Ne modifie pas src/a.py.",
    "N'ajoute jamais de d\u00e9pendances.",
    "Utilise toujours pathlib.",
    "Il faut garder les tests.",
    "Nunca cambies src/a.py.",
    "No toques los tests.",
    "Usa solo la biblioteca est\u00e1ndar.",
    "Hazlo sin cambiar la API.",
    "You can now touch src/legacy.py.",
    "Forget the rule about tabs.",
]
IGNORED = [
    "Fix the parser in src/main.py.",
    "I don't know what goes wrong here.",
    "It always crashes on load.",
    "This only happens on CI.",
    "The test never passes on Windows.",
    "I can't reproduce it.",
    "Why does it only fail with 3.12?",
    "No, the other one.",
    "I keep getting this error.",
    "No idea.",
    "Das geht nicht.",
    "Ich wei\u00df nicht, warum.",
    "Can you explain src/main.py?",
    "",
]


@pytest.mark.parametrize("sentence", FOUND)
def test_demand_is_found_word_for_word(sentence: str) -> None:
    assert constraints(f"Look at the parser. {sentence}\n\nThen tell me about it.") == (sentence,)


@pytest.mark.parametrize("sentence", IGNORED)
def test_sentence_that_demands_nothing_is_left_out(sentence: str) -> None:
    assert constraints(f"Hello. {sentence}") == ()


def test_dots_in_paths_code_and_abbreviations_end_no_sentence() -> None:
    text = "Fix a.py. Never edit src/b.py, e.g. `x. y()` or v1.2, z. B. the head. Thanks."
    assert constraints(text) == ("Never edit src/b.py, e.g. `x. y()` or v1.2, z. B. the head.",)


def test_sentence_over_two_lines_is_one() -> None:
    assert constraints("Please never\n  change the names.\nThanks") == (
        "Please never change the names.",
    )


def test_list_lines_are_taken_one_by_one() -> None:
    text = "Some wishes\n- make it fast\n- no mocks\n* [ ] tabs only\n2) never\n   recurse"
    assert constraints(text) == ("no mocks", "tabs only", "never recurse")


def test_list_behind_a_demand_comes_with_it() -> None:
    assert constraints("Never change these:\n- src/a.py\n- src/b.py\n\nBye.") == (
        "Never change these:\n- src/a.py\n- src/b.py",
    )


@pytest.mark.parametrize("heading", ["## Constraints", "Rules:", "My rules for this repo:"])
def test_every_line_under_a_heading_of_rules_counts(heading: str) -> None:
    assert constraints(f"Hi\n\n{heading}\n\n- tabs\n- Python 3.11\n\nBye") == (
        "tabs",
        "Python 3.11",
    )


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nyou must not\n```",
        "~~~py\nnever()\n# do not\n~~~~",
        "```\nnever closed: you must",
        "2026-11-30 12:00:00 must not be empty",
        "12:00:01 never",
        "ERROR must not be empty",
        "ValueError: name must not be empty",
        'Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: must',
        "E   assert never",
        "src/a.py:3:1: error: must not",
        "    at must (never.js:3)",
        "error[E0308]: must be i32",
        "{ never: 1,",
        "// never",
        "$ never",
    ],
)
def test_what_was_pasted_is_nobodys_wish(pasted: str) -> None:
    assert constraints(f"See this:\n\n{pasted}") == ()


@pytest.mark.parametrize(
    "line",
    [
        "Error messages must name the file.",
        "Class names must be short.",
        "Return early, never nest.",
        "<rule>Never commit.</rule>",
        "> Never commit.",
        "Warning: never run this as root.",
    ],
)
def test_prose_that_begins_like_code_is_prose(line: str) -> None:
    assert constraints(line) == (line.removeprefix("> "),)


def test_wall_of_text_is_no_sentence() -> None:
    assert constraints("never " * LONGEST) == ()


@given(words | st.text(max_size=500))
def test_what_is_found_stands_in_the_text(text: str) -> None:
    found = constraints(text)
    assert len(set(found)) == len(found)
    for sentence in found:
        assert 0 < len(sentence) <= LONGEST
        for line in sentence.split("\n"):
            word = line.removeprefix("- ")
            assert "".join(word.split()) in "".join(text.replace(">", "").split()) or ">" in word


@given(st.lists(st.text("abc xyz/.`", max_size=60), max_size=4), st.integers(0, 4))
def test_demand_is_found_wherever_it_stands(others: list[str], place: int) -> None:
    planted = "Never change src/planted.py."
    others.insert(place, planted)
    assert planted in constraints("\n\n".join(other.replace("`", "") for other in others))


def test_same_demand_in_other_words_means_the_same_and_its_opposite_does_not() -> None:
    assert meaning("Please never touch src/a.py!") == meaning("do not ever touch src/a.py")
    assert meaning("Use a instead of b.") != meaning("Use b instead of a.")
    assert meaning("Use tabs.") != meaning("Do not use tabs.")
    assert meaning("at most 3") != meaning("at most 4")


def test_lifting_is_told_from_asking() -> None:
    assert lifts("You may now edit the tests.")
    assert not lifts("Can you edit the tests?")
    assert not lifts("You cannot edit the tests.")


def test_repeat_stays_where_it_was_said_first() -> None:
    assert gathered(["never a", "never b", "never  a"], 500) == ("never a", "never b")


def test_repeat_after_something_was_lifted_is_said_again_in_its_place() -> None:
    said = ["never a", "you may change a", "never a", "you may change a", "never a"]
    assert gathered(said, 500) == ("never a", "you may change a", "never a")
    assert gathered(said[:-1], 500)[-1] == "you may change a"


def test_demand_lifted_and_made_again_keeps_its_order() -> None:
    lifted = gathered(["never a", "you may change a"], 500)
    assert gathered([*lifted, "never a"], 500) == ("never a", "you may change a", "never a")


def test_where_there_is_no_room_the_middle_goes_and_the_oldest_stay() -> None:
    said = [f"Never change file_{number}.py." for number in range(100)]
    kept = gathered(said, 200)
    assert kept[0] == said[0]
    assert kept[-1] == said[-1]
    held = sum(sentence == old for sentence, old in zip(kept, said, strict=False))
    assert len(kept) / 2 < held < len(kept)


def test_where_there_is_no_room_repeats_in_other_words_go_first() -> None:
    said = [
        "Never ever touch src/a.py.",
        "please do not touch src/a.py",
        *(f"Never touch {number}." for number in range(20)),
    ]
    assert said[1] in gathered(said, 1_000)
    assert said[1] not in gathered(said, 150)


@given(
    st.lists(words | st.sampled_from(["never a", "you may a", "must b"]), max_size=30),
    st.integers(100, 800),
)
def test_gathered_constraints_are_bounded_and_stay_as_they_are(said: list[str], room: int) -> None:
    kept = gathered(said, room)
    assert sum(tokens_of_text(sentence) for sentence in kept) <= room
    assert gathered(kept, room) == kept
    if said and tokens_of_text(said[0]) + 3 <= room:
        assert kept[0] == said[0]
