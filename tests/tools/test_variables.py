from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.tools.variables import Variables, compile_path, from_json, named, outputs, to_json

zones = st.none() | st.integers(-720, 720).map(lambda m: timezone(timedelta(minutes=m)))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.times()
    | st.datetimes(timezones=zones)
    | st.timedeltas()
)
keys = st.text() | st.sampled_from(["$type", "value"])
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(keys, inner))


@given(values)
def test_a_value_comes_back_from_the_log_as_it_was(value: object) -> None:
    kept = orjson.loads(orjson.dumps(to_json(value)))

    assert from_json(kept) == value


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Decimal("1.10"), {"$type": "decimal", "value": "1.10"}),
        (b"\x00", {"$type": "bytes", "value": "AA=="}),
        (date(2026, 11, 30), {"$type": "date", "value": "2026-11-30"}),
        (time(14, 56), {"$type": "time", "value": "14:56:00"}),
        (datetime(2026, 11, 30, 14), {"$type": "datetime", "value": "2026-11-30T14:00:00"}),
        (timedelta(milliseconds=-1), {"$type": "duration", "value": "-1000"}),
        ({"$type": "date"}, {"$type": "object", "value": {"$type": "date"}}),
    ],
)
def test_a_value_is_kept_as_json_that_tells_its_type(value: object, kept: object) -> None:
    assert to_json(value) == kept


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="a variable cannot hold a set"):
        to_json({"a": [{1, 2}]})
    with pytest.raises(TypeError, match="keys are text, not int"):
        to_json({1: "a"})


def test_an_unknown_type_of_a_newer_agentls_is_passed_through() -> None:
    value = {"$type": "matrix", "value": [[1, 0], [0, 1]]}

    assert from_json(value) == value


def test_a_tool_sets_variables_under_its_own_name_alone() -> None:
    assert named("Notes", {"list": [1], "Notes:count": 1}) == {"Notes:list": [1], "Notes:count": 1}
    with pytest.raises(ValueError, match=r"Notes may not set 'Read:a\.txt'"):
        named("Notes", {"Read:a.txt": "x"})


def test_output_variables_are_taken_from_the_data_by_path() -> None:
    data = {"notes": [{"title": "a"}, {"title": "b"}], "count": 2}

    found = outputs({"count": "$.count", "titles": "$.notes[*].title", "gone": "$.no"}, data)

    assert found == {"count": 2, "titles": ["a", "b"], "gone": None}


def test_a_path_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\$\.\.\.' is not a JSONPath"):
        compile_path("$...")


def test_variables_are_brought_back_when_they_are_looked_at() -> None:
    variables = Variables({"Notes:due": {"$type": "date", "value": "2026-12-24"}})

    assert variables["Notes:due"] == date(2026, 12, 24)
    assert variables.get("Notes:other") is None
    assert dict(variables) == {"Notes:due": date(2026, 12, 24)}
