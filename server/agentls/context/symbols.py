"""Finds where a symbol is defined in a file: in Python exactly, elsewhere by how it looks. Pure."""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from agentls.context.blocks_of_code import end_of_block

MOST_DEFINITIONS = 5
"""Of one name, as of overloads."""
LARGEST_SOURCE = 1024 * 1024
"""Characters; of a longer text only so many are looked at."""
LARGEST_PARSED = 400_000
"""Characters of Python that are parsed; nothing else runs meanwhile. A longer text goes by look."""
LONGEST_LINE = 500
"""Characters of a line in which a definition is looked for."""
_PYTHON = (".py", ".pyi")
_FILENAME = "<a mentioned file>"


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a symbol is defined."""

    first_line: int
    """From 1; decorators included."""
    last_line: int


def definitions(text: str, suffix: str, symbol: str) -> tuple[Definition, ...]:
    """Return where `symbol` is defined, in order; `suffix` is the file's, as `.py`.

    `Class.method` is a method of that class. A name alone is also found inside of classes, where
    it is not at the top level.
    """
    # A lone carriage return is a line's end to Python, and to nobody else here.
    text = text[:LARGEST_SOURCE].replace("\r\n", "\n").replace("\r", " ")
    is_parsed = suffix in _PYTHON and len(text) <= LARGEST_PARSED
    found = _in_python(text, symbol) if is_parsed else None
    if found is None:
        found = _by_look(text.split("\n"), suffix, symbol)
    return tuple(found[:MOST_DEFINITIONS])


def _in_python(text: str, symbol: str) -> list[Definition] | None:
    """Return the definitions; None where the text is no Python."""
    # What is odd about a string in that file is nobody's concern here.
    warnings.filterwarnings("ignore", module=re.escape(_FILENAME))
    try:
        tree = ast.parse(text.removeprefix("\ufeff"), _FILENAME)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    whole: list[Definition] = []
    ends: list[Definition] = []
    for name, definition in _named(tree):
        if name == symbol:
            whole.append(definition)
        elif name.endswith(f".{symbol}"):
            ends.append(definition)
    return sorted(whole or ends, key=lambda definition: definition.first_line)


def _named(tree: ast.Module) -> Iterator[tuple[str, Definition]]:
    """Yield classes, functions and what is assigned outside of functions, with dotted names."""
    waiting: list[tuple[str, bool, ast.AST]] = [("", False, tree)]
    while waiting:
        scope, in_function, node = waiting.pop()
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                yield scope + node.name, Definition(first, node.end_lineno or node.lineno)
                scope = f"{scope}{node.name}."
                in_function = in_function or not isinstance(node, ast.ClassDef)
            case ast.stmt() if names := _assigned(node):
                if not in_function:
                    place = Definition(node.lineno, node.end_lineno or node.lineno)
                    yield from ((scope + name, place) for name in names)
                continue
            case ast.expr():
                continue
            case _:
                pass
        waiting += ((scope, in_function, child) for child in ast.iter_child_nodes(node))


def _assigned(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns to; `type X = ...` is one since Python 3.12."""
    match node:
        case ast.Assign():
            targets = node.targets
        case ast.AnnAssign():
            targets = [node.target]
        case _ if type(node).__name__ == "TypeAlias":
            targets = [getattr(node, "name", None)]
        case _:
            return []
    return [name.id for target in targets for name in _names_in(target)]


def _names_in(target: ast.expr | None) -> list[ast.Name]:
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return [part for part in parts if isinstance(part, ast.Name)]


def _by_look(lines: list[str], suffix: str, symbol: str) -> list[Definition]:
    *scopes, name = symbol.split(".")
    whole = Definition(1, len(lines))
    places = [whole]
    for scope in scopes:
        places = [inner for place in places for inner in _within(lines, place, suffix, scope)]
    found = [inner for place in places for inner in _within(lines, place, suffix, name)]
    if not found and scopes:
        found = _outside(lines, whole, suffix, scopes[-1], name)
    return found


def _outside(
    lines: list[str], place: Definition, suffix: str, scope: str, name: str
) -> list[Definition]:
    """Return definitions that name what they belong to: in Go, C++, Lua, old JavaScript."""
    owner = re.escape(scope)
    receiver = re.compile(rf"^\s*func\s*\([^)]*\b{owner}\b[^)]*\)\s*{re.escape(name)}{_END}")
    found = _matching(lines, place, suffix, name, receiver)
    written = rf"{owner}(?:<[^<>]*>)?(?:\.prototype\.|\.|::?){re.escape(name)}"
    return found or _within(lines, place, suffix, name, written)


def _within(
    lines: list[str], place: Definition, suffix: str, name: str, written: str | None = None
) -> list[Definition]:
    """Return the definitions of `name` in a part of a file; without a keyword if need be.

    `written` is a pattern for the name where it is written longer.
    """
    written = written or re.escape(name)
    with_keyword = re.compile(rf"{_KEYWORD}{written}{_END}")
    found = _matching(lines, place, suffix, name, with_keyword)
    if found:
        return found
    called = re.compile(rf"{_TYPES}(?<![\w$]){written}\s*(?:<[^<>]*>)?\s*(?=\()")
    found = _matching(lines, place, suffix, name, called, needs_block=True)
    if found:
        return found
    assigned = re.compile(
        rf"{_TYPES}(?:[\w$]+\.)*(?<![\w$]){written}\s*[?!]?(?::=?(?!:)|=)(?![=>])"
    )
    return _matching(lines, place, suffix, name, assigned)


_KEYWORDS = (
    r"function\*?|def|defp|defmodule|fn|func|fun|sub|proc|class|struct|enum|union|trait|interface|"
    r"protocol|object|record|module|namespace|mod|type|typedef|newtype|data|const|static|let|var|"
    r"val|local|impl|extension|macro|macro_rules!|#define"
)
_MODIFIERS = (
    r"export|default|declare|public|private|protected|internal|static|final|abstract|async|pub|"
    r"unsafe|extern|sealed|open|override|inline|virtual|readonly|partial|inner|suspend|operator|"
    r"constexpr|native|synchronized|global|lateinit|companion|case"
)
_KEYWORD = (
    rf"^\s*(?:(?:{_MODIFIERS}|{_KEYWORDS})(?:\([^)]*\))?\s+|@[\w.]+(?:\([^)]*\))?\s+"
    r'|"[^"]*"\s+|(?:template|impl)\s*<[^{}]*?>\s*|\[\[?[^\]]*\]\]?\s*|#\[[^\]]*\]\s*)*?'
    rf"(?:{_KEYWORDS})(?:<[^{{}}]*?>)?\s+"
    r"(?:\([^)]*\)\s*)?(?:mut\s+|self\.|[\w$]+(?:<[^>]*>)?\s+for\s+|[\w$]+[.:]+)?"
)
"""What stands before a name that is being defined: modifiers, the keyword, a receiver."""
_END = r"(?![\w$]|\.\w|::)"
_TYPES = r"^\s*(?!(?:return|await|throw|new|else|yield|case|if|while|for)\b)[\w\s*&:<>,\[\]?~@]*"


def _matching(
    lines: list[str],
    place: Definition,
    suffix: str,
    name: str,
    pattern: re.Pattern[str],
    *,
    needs_block: bool = False,
) -> list[Definition]:
    found: list[Definition] = []
    number = place.first_line
    while number <= place.last_line and len(found) < MOST_DEFINITIONS:
        line = lines[number - 1][:LONGEST_LINE]
        match = pattern.match(line) if name in line else None
        last = None
        if match:
            last = end_of_block(lines, number, match.end(), suffix, needs_block=needs_block)
        if last is None:
            number += 1
            continue
        last = min(last, place.last_line)
        found.append(Definition(number, last))
        number = last + 1
    return found
