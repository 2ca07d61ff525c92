from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import BadScenario
from agentls.llm.scenario import ErrorKind, ScriptedAnswer, load_scenario, parse_scenario
from agentls.llm.scripted import ERRORS

DOCS = Path(__file__).parents[2] / "protocol-docs"

SOUND = """{
  "version": 1,
  "answers": [
    {"text": "Hello."},
    {
      "calls": [
        {"name": "Read", "input": {"file_path": "a.py"}},
        BROKEN
      ]
    }
  ]
}
"""


def mistake(source: str) -> str:
    with pytest.raises(BadScenario) as caught:
        parse_scenario(source, "demo.json")
    return str(caught.value)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            '{"name": "Bash", "inptu": {}}',
            "demo.json, line 8, answers[1].calls[1].inptu: there is no field 'inptu' here. "
            "Did you mean 'input'? Allowed are name, input, rawInput.",
        ),
        (
            '{"input": {}}',
            "demo.json, line 8, answers[1].calls[1].name: the field 'name' is missing",
        ),
        (
            '{"name": "Bash",\n"input": []}',
            "demo.json, line 9, answers[1].calls[1].input: Input should be a valid dictionary, "
            "not []",
        ),
        ("7", "demo.json, line 8, answers[1].calls[1]: Input should be"),
    ],
)
def test_mistake_is_named_with_its_place_and_what_is_allowed(broken: str, said: str) -> None:
    assert mistake(SOUND.replace("BROKEN", broken)).startswith(said)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "demo.json, line 1, column 1: not JSON: Expecting value"),
        ('{"version": 1,\n}', "demo.json, line 2, column 1: not JSON:"),
        ("[]", "demo.json, line 1, the whole file: Input should be"),
        ('{"version": 1}', "demo.json, line 1, answers: the field 'answers' is missing"),
        ('{"version": 2, "answers": [{"text": ""}]}', "demo.json, line 1, version: Input should"),
        ('{"version": 1, "answers": []}', "demo.json, line 1, answers: Tuple should have at least"),
        (
            '{"version": 1, "answers": [{}]}',
            "demo.json, line 1, answers[0]: an answer needs one of text, thinking, calls, error",
        ),
        (
            '{"version": 1, "answers": [\n{"text": ""},\n{"error": {"kind": "bad"}}]}',
            "demo.json, line 3, answers[1].error.kind: Input should be 'keyRefused', "
            "'requestRefused'",
        ),
        (
            '{"version": 1, "answers": [{"text": "", "chunk": 0, "delayMs": -1}]}',
            "demo.json, line 1, answers[0].chunk: Input should be greater than or equal to 1, "
            "not 0 (and 1 more)",
        ),
        ("[" * 100_000, "demo.json: nested too deeply"),
        (
            '{"version": 1, "answers": [{"text": "", "repeat": true}, {"text": ""}]}',
            "demo.json, line 1, the whole file: answers[0] has `repeat`, so those after it are",
        ),
        (
            '{"version": 1, "answers": [\n{"text": "", "signature": "s"}]}',
            "demo.json, line 2, answers[0]: a signature needs thinking that it signs",
        ),
    ],
)  # fmt: skip
def test_file_that_is_no_scenario_is_refused(source: str, said: str) -> None:
    assert mistake(source).startswith(said)


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadScenario, match=r"none\.json cannot be read: No such file"):
        load_scenario(tmp_path / "none.json")


def test_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"version": 1, "answers": [{"text": "\xe9"}]}')
    with pytest.raises(BadScenario, match=r"latin\.json is not UTF-8"):
        load_scenario(tmp_path / "latin.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_any_json_is_a_scenario_or_a_mistake_with_a_line(document: Any, indent: bool) -> None:
    wrapped = {"version": 1, "answers": [document], "x": document}
    try:
        source = orjson.dumps(wrapped, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:  # an integer of more than 64 bits
        return

    assert mistake(source).startswith("demo.json, line ")


def test_documented_example_is_a_scenario() -> None:
    guide = (DOCS / "scenarios.md").read_text(encoding="utf-8")
    example = guide.partition("```json\n")[2].partition("```")[0]

    assert len(parse_scenario(example, "the example").answers) == 3


def test_every_kind_of_error_is_documented_and_can_be_raised() -> None:
    guide = (DOCS / "scenarios.md").read_text(encoding="utf-8")

    assert [kind for kind in get_args(ErrorKind) if f"`{kind}`" not in guide] == []
    assert set(ERRORS) == set(get_args(ErrorKind))


def test_every_field_of_an_answer_is_documented() -> None:
    guide = (DOCS / "scenarios.md").read_text(encoding="utf-8")
    fields = [field.alias for field in ScriptedAnswer.model_fields.values()]

    assert [name for name in fields if f"`{name}`" not in guide] == []
