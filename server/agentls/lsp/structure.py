"""Between plain JSON and typed values: pydantic for `agent/*`, cattrs for LSP's own methods."""

import enum
import re
import types as python_types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeVar

import attrs
import cattrs
import orjson
import pydantic
from lsprotocol import types
from pydantic import BaseModel
from pygls.exceptions import JsonRpcInvalidParams

from agentls.protocol.requests import AppDidChangeParams, StateDidChangeParams

M = TypeVar("M", bound=BaseModel)

_MAX_PROBLEMS = 10

# In these an absent slice has not changed, so that what was not set is left out. Everything inside
# a slice is whole, which `exclude_unset` would not do.
_PARTIAL = (StateDidChangeParams, AppDidChangeParams)


def to_model(model: type[M], raw: Any) -> M:
    """Return `raw` as `model`; None is an object without fields. Raises JsonRpcInvalidParams."""
    try:
        return model.model_validate({} if raw is None else raw)
    except pydantic.ValidationError as error:
        problems = [
            (".".join(map(str, problem["loc"])), problem["msg"])
            for problem in error.errors(include_url=False, include_context=False)
        ]
        raise _invalid_params(problems) from None


def to_lsp(converter: cattrs.Converter, expected: Any, raw: Any) -> Any:
    """Return `raw` as a type of lsprotocol. Raises JsonRpcInvalidParams.

    None is an object without fields: some clients leave out `params` where LSP wants an empty one.
    """
    if expected is python_types.NoneType:
        return None
    try:
        return converter.structure({} if raw is None else raw, expected)
    except Exception as error:
        raise _invalid_params(_problems_of(error, expected)) from None


def to_json(converter: cattrs.Converter, value: Any) -> Any:
    """Return `value` as orjson takes it. Raises TypeError, ValueError.

    Our models are written at once, not by way of dicts, which takes two thirds of the time and
    keeps a large snapshot from being in memory twice.
    """
    if isinstance(value, BaseModel):
        written = value.__pydantic_serializer__.to_json(
            value, by_alias=True, include=_included(value)
        )
        return orjson.Fragment(written)
    return to_plain(converter, value)


def to_plain(converter: cattrs.Converter, value: Any) -> Any:
    """Return `value` as JSON knows it, one level deep. Raises TypeError.

    An empty optional field is left out of LSP's own types and null in ours.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, include=_included(value))
    if hasattr(value, "__attrs_attrs__"):
        return converter.unstructure(value)
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(f"{type(value).__name__} has no place in JSON")


@lru_cache(maxsize=256)
def params_type(method: str) -> Any:
    """Return the type of the params of one of LSP's methods, None for any other method."""
    known = types.METHOD_TO_TYPES.get(method)
    return attrs.fields_dict(known[0])["params"].type if known else None


@lru_cache(maxsize=256)
def result_type(method: str) -> Any:
    """Return the type of the result of one of LSP's requests, None for any other method."""
    known = types.METHOD_TO_TYPES.get(method)
    return attrs.fields_dict(known[1])["result"].type if known and known[1] else None


def _included(value: BaseModel) -> set[str] | None:
    return value.model_fields_set if isinstance(value, _PARTIAL) else None


def _invalid_params(problems: Iterable[tuple[str, str]]) -> JsonRpcInvalidParams:
    listed = [
        {"field": field or "params", "problem": problem}
        for field, problem in list(problems)[:_MAX_PROBLEMS]
    ]
    text = "; ".join(f"{problem['field']}: {problem['problem']}" for problem in listed)
    return JsonRpcInvalidParams(
        f"Invalid params: {text}.", data={"kind": "InvalidParams", "problems": listed}
    )


def _problems_of(error: Exception, expected: Any) -> Iterable[tuple[str, str]]:
    if not isinstance(error, cattrs.BaseValidationError):
        return [("", _explain(error, expected))]
    described = cattrs.transform_error(error, path="", format_exception=_explain)
    split = (entry.rpartition(" @ ") for entry in described)
    return [(_camel(path.removeprefix(".")), problem) for problem, _, path in split]


def _explain(error: BaseException, expected: Any) -> str:
    if isinstance(error, KeyError):
        return "required"
    if isinstance(expected, type) and issubclass(expected, enum.Enum):
        return "expected one of " + ", ".join(repr(member.value) for member in expected)
    shown = expected.__name__ if isinstance(expected, type) else str(expected)
    return "expected " + re.sub(r"\b(typing|lsprotocol\.types|collections\.abc)\.", "", shown)


def _camel(path: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), path)
