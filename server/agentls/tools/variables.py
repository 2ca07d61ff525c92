"""A session's variables as tools see them: Python values under `Tool:key`, kept as JSON.

Beside JSON's own kinds, dates, times, decimals and bytes survive. They are kept as
`{"$type": "decimal", "value": "1.10"}`; an object with a `$type` of its own is wrapped likewise.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

if TYPE_CHECKING:
    from jsonpath_rfc9535 import JSONPathQuery

TYPE = "$type"

_WRITERS: tuple[tuple[type, str, Callable[[Any], str | float]], ...] = (
    (datetime, "datetime", datetime.isoformat),  # before date, which it also is
    (date, "date", date.isoformat),
    (time, "time", time.isoformat),
    (timedelta, "duration", lambda value: f"{value // timedelta(microseconds=1)}"),
    (Decimal, "decimal", str),
    (bytes, "bytes", lambda value: base64.b64encode(value).decode()),
)
_READERS: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "duration": lambda value: timedelta(microseconds=int(value)),
    "decimal": Decimal,
    "bytes": base64.b64decode,
}


def to_json(value: Any) -> JsonValue:
    """Return a value as it is kept. Raises TypeError for what cannot be."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [to_json(item) for item in cast(list[Any], value)]
        case dict():
            plain = {_key(key): to_json(item) for key, item in cast(dict[Any, Any], value).items()}
            return {TYPE: "object", "value": plain} if TYPE in plain else plain
        case _:
            for kind, name, write in _WRITERS:
                if isinstance(value, kind):
                    return {TYPE: name, "value": write(value)}
    raise TypeError(f"a variable cannot hold a {type(value).__name__}")


def from_json(value: JsonValue) -> Any:
    """Return what `to_json` was given; a tuple comes back as a list."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(TYPE)
    if kind == "object" and isinstance(value.get("value"), dict):
        return {key: from_json(item) for key, item in cast(Any, value["value"]).items()}
    if isinstance(kind, str) and kind in _READERS:
        return _READERS[kind](value.get("value"))
    return {key: from_json(item) for key, item in value.items()}


class Variables(Mapping[str, Any]):
    """The variables of a session, each brought back when it is looked at."""

    def __init__(self, kept: Mapping[str, JsonValue]) -> None:
        self._kept = kept

    def __getitem__(self, key: str) -> Any:
        return from_json(self._kept[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def named(tool: str, variables: Mapping[str, Any]) -> dict[str, JsonValue]:
    """Return what a tool sets, under its own name. Raises ValueError for another tool's key."""
    kept: dict[str, JsonValue] = {}
    for key, value in variables.items():
        owner, colon, _ = key.partition(":")
        if colon and owner != tool:
            raise ValueError(f"{tool} may not set {key!r}: a tool sets its own variables alone")
        kept[key if colon else f"{tool}:{key}"] = to_json(value)
    return kept


def outputs(paths: Mapping[str, str], data: Any) -> dict[str, Any]:
    """Return the variables that a tool declares by JSONPath (RFC 9535), as its data has them.

    A path that selects one place gives its value, None where there is nothing; one that may select
    several gives a list.
    """
    found: dict[str, Any] = {}
    for key, path in paths.items():
        query = compile_path(path)
        values = query.find(data).values()
        singular = query.singular_query()
        found[key] = (values[0] if values else None) if singular else list(values)
    return found


@cache
def compile_path(path: str) -> "JSONPathQuery":
    """Return a JSONPath, compiled. Raises ValueError that names it."""
    # Few tools declare outputs, so that most processes need it never.
    from jsonpath_rfc9535 import JSONPathError, compile

    try:
        return compile(path)
    except JSONPathError as error:
        raise ValueError(f"{path!r} is not a JSONPath: {error}") from error


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a variable's keys are text, not {type(key).__name__}")
    return key
