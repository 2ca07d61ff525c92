"""The same turn by `agentls run --output-format stream-json`, where nobody can be asked."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agentls.headless.lines import InitLine, ResultLine
from tests.e2e.click_turn import (
    ANSWERS,
    CALLS,
    COMMAND,
    CORE,
    INPUT_TOKENS,
    LAST_WORDS,
    MORE_ANSWERS,
    MORE_PROMPT,
    OUTPUT_TOKENS,
    PROMPT,
    ClickTree,
    check_results,
)
from tests.support.mocks import HOW_TO_INSTALL, INSTALLED, ROOT, Aimock
from tests.support.servers import AGENTLS, QUIET

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not INSTALLED, reason=HOW_TO_INSTALL),
]

RUN_SECONDS = 120
MODEL = "claude-sonnet-5-5"
ONE_ROUND = ["assistant", "user"]
LINES = [
    *["system", "assistant", "user", "user"],
    *ONE_ROUND * 3,
    *["assistant", "system", "user"],
    *["assistant", "result"],
]
"""The types of the lines, in order."""

Line = dict[str, Any]


def run(tree: ClickTree, server: Aimock, *arguments: str, code: int = 0) -> list[Line]:
    """Run in `tree` and return what was printed: whole lines that the schema knows, and no more."""
    private = {
        "ANTHROPIC_BASE_URL": server.base_url,
        "AGENTLS_CONFIG_DIR": str(tree.folder.parent / "config"),
        "AGENTLS_DATA_DIR": str(tree.folder.parent / "data"),
    }
    done = subprocess.run(
        [str(AGENTLS), "run", "--output-format", "stream-json", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=tree.folder,
        env=os.environ | QUIET | private,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stderr.decode()
    assert done.stdout.endswith(b"\n")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    for line in lines:
        validate(line)
    InitLine.model_validate(lines[0])
    ResultLine.model_validate(lines[-1])
    return lines


@cache
def line_validator() -> jsonschema.Draft202012Validator:
    """Return what checks a line against the schema that is published."""
    schema = json.loads((ROOT / "protocol-docs/schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    one = {"$ref": "#/$defs/StreamJsonLine", "$defs": schema["$defs"]}
    return jsonschema.Draft202012Validator(one)


def validate(line: Any) -> None:
    """Check a line against the schema. Raises jsonschema.ValidationError."""
    line_validator().validate(line)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(
    "wrong", [{}, [], {"type": "system"}, {"type": "result", "subtype": "success"}]
)
def test_the_schema_of_a_line_refuses_what_is_none(wrong: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validate(wrong)


def test_the_turn_as_lines_of_json(tree: ClickTree, aimock_server: Aimock) -> None:
    aimock_server.forget()
    rules = ["--permission-mode", "acceptEdits", "--disallowed-tools", "Bash(rm:*)"]
    lines = run(tree, aimock_server, "-p", PROMPT, *rules)
    assert [line["type"] for line in lines] == LINES
    assert len({line["session_id"] for line in lines}) == 1
    check_first_line(lines[0], tree)
    check_answers([line["message"] for line in lines if line["type"] == "assistant"])
    reason = check_denial(lines)
    check_calls_and_results(
        lines, tree, why_denied=f"The permission rules denied this call: {reason}."
    )
    check_result(lines[-1])
    assert tree.changed() == {CORE: tree.edited_core()}
    assert len(aimock_server.requests()) == len(ANSWERS)

    more = run(tree, aimock_server, "-p", MORE_PROMPT, "--resume", lines[0]["session_id"])
    assert [line["type"] for line in more] == ["system", "assistant", "result"]
    assert more[-1]["result"] == MORE_ANSWERS[0]["text"]
    assert more[-1]["usage"]["input_tokens"] == MORE_ANSWERS[0]["usage"][0]
    assert len(aimock_server.requests()[-1]["messages"]) == 2 + len(ANSWERS) + len(CALLS) + 1


def test_a_server_that_knows_no_answer_is_an_error_with_a_last_line(
    tree: ClickTree, aimock_server: Aimock
) -> None:
    lines = run(tree, aimock_server, "-p", "Something that nobody expects.", code=1)
    assert [line["type"] for line in lines] == ["system", "result"]
    result = lines[-1]
    assert (result["is_error"], result["subtype"]) == (True, "error_during_execution")
    assert aimock_server.url in result["result"]
    assert tree.changed() == {}


def check_first_line(line: Line, tree: ClickTree) -> None:
    assert (line["subtype"], line["model"]) == ("init", MODEL)
    assert (Path(line["cwd"]), line["permissionMode"]) == (tree.folder, "acceptEdits")
    assert set(line["tools"]) >= {call["name"] for call in CALLS}


def check_answers(messages: list[Line]) -> None:
    usage = [(m["usage"]["input_tokens"], m["usage"]["output_tokens"]) for m in messages]
    assert usage == [answer["usage"] for answer in ANSWERS]
    texts = ["".join(b["text"] for b in m["content"] if b["type"] == "text") for m in messages]
    assert texts == [answer.get("text", "") for answer in ANSWERS]
    assert [m["stop_reason"] for m in messages] == [*["tool_use"] * 5, "end_turn"]


def check_denial(lines: list[Line]) -> str:
    """Check the line that tells of the denied command, and return its reason."""
    (denied,) = [line for line in lines if line.get("subtype") == "permission_denied"]
    assert (denied["tool_name"], denied["tool_use_id"]) == ("Bash", "toolu_bash")
    assert "Bash(rm:*)" in denied["reason"]
    assert lines[-1]["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "toolu_bash", "tool_input": {"command": COMMAND}}
    ]
    return denied["reason"].rstrip(".")


def check_calls_and_results(lines: list[Line], tree: ClickTree, *, why_denied: str) -> None:
    blocks = [
        block
        for line in lines
        if line["type"] in ("assistant", "user")
        for block in line["message"]["content"]
    ]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    assert [(c["id"], c["name"], c["input"]) for c in calls] == (
        [(c["id"], c["name"], c["input"]) for c in CALLS]
    )
    results = {b["tool_use_id"]: b for b in blocks if b["type"] == "tool_result"}
    told = [(call["name"], text_of(results[call["id"]])) for call in CALLS]
    check_results(told, tree, why_denied=why_denied)
    assert [results[call["id"]].get("is_error", False) for call in CALLS] == [False] * 5 + [True]


def check_result(line: Line) -> None:
    assert (line["subtype"], line["is_error"]) == ("success", False)
    assert (line["result"], line["terminal_reason"]) == (LAST_WORDS, "completed")
    assert line["num_turns"] == len(ANSWERS)
    assert line["usage"]["input_tokens"] == INPUT_TOKENS
    assert line["usage"]["output_tokens"] == OUTPUT_TOKENS
    assert line["modelUsage"] == {MODEL: line["usage"]}


def text_of(result: Line) -> str:
    """Return the text of a tool's result, whichever of its two shapes it has."""
    content = result["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
