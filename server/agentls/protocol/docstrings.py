"""Field docstrings as descriptions in JSON Schema, read from the source when a schema is made.

pydantic can do this itself (`use_attribute_docstrings`), but parses the source of every model as
soon as it is imported: a fifth of the server's start, for what only schemas show.
"""

from typing import Any

from pydantic import BaseModel


def describe_fields(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Give each property of `schema` its field's docstring; for pydantic's `json_schema_extra`."""
    properties = schema.get("properties", {})
    for name, text in _field_docstrings(model).items():
        alias = model.model_fields[name].alias or name
        if alias in properties:
            properties[alias].setdefault("description", text)


def _field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _own_docstrings(base)
    return {name: text for name, text in found.items() if name in model.model_fields}


def _own_docstrings(model: type[BaseModel]) -> dict[str, str]:
    import ast
    import inspect
    from itertools import pairwise
    from textwrap import dedent

    try:
        source = inspect.getsource(model)
    except OSError:  # made at run time
        return {}
    found: dict[str, str] = {}
    definition = ast.parse(dedent(source)).body[0]
    statements: list[ast.stmt] = getattr(definition, "body", [])
    for field, after in pairwise(statements):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
            case _:
                continue
    return found
