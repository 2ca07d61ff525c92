"""What the Neovim client believes of the protocol, compared with the protocol itself."""

import re
from pathlib import Path
from typing import get_args

import pytest

from agentls.protocol import methods
from agentls.protocol.at_work import TaskOutputResult
from agentls.protocol.content import FileChange, Todo, Usage
from agentls.protocol.events.app import Notice
from agentls.protocol.events.conversation import ErrorInfo
from agentls.protocol.events.envelope import Envelope, SessionEvents
from agentls.protocol.events.kinds import EphemeralEvent
from agentls.protocol.events.retries import CacheMissed, RetryWait
from agentls.protocol.events.settings import Gates
from agentls.protocol.requests import (
    PROTOCOL_VERSION,
    Attachment,
    SessionDeltaParams,
    SessionSummary,
)
from agentls.protocol.session_state import (
    Activity,
    ContextUse,
    ModelChoice,
    QueuedPrompt,
    SessionSlices,
    SessionSnapshot,
    UsageTotals,
)
from agentls.protocol.tasks import Task
from agentls.protocol.tool_calls import (
    Approval,
    ApprovalOption,
    Decision,
    Mode,
    Question,
    QuestionAnswer,
    QuestionOption,
    Questions,
    ToolCall,
)
from agentls.protocol.wire_model import WireModel

LUA = Path(__file__).parents[3] / "client-nvim/lua/agentls"
PROTOCOL = (LUA / "protocol.lua").read_text()
REDUCERS = (LUA / "conversation_reducers.lua").read_text()
NOTES = (LUA / "conversation_notes.lua").read_text()

MODELS: dict[str, type[WireModel]] = {
    "Envelope": Envelope,
    "Delta": SessionDeltaParams,
    "ApprovalOption": ApprovalOption,
    "Approval": Approval,
    "Decision": Decision,
    "FileChange": FileChange,
    "ToolCall": ToolCall,
    "Todo": Todo,
    "ErrorInfo": ErrorInfo,
    "Activity": Activity,
    "Slices": SessionSlices,
    "Snapshot": SessionSnapshot,
    "SessionSummary": SessionSummary,
    "Notice": Notice,
    "QuestionOption": QuestionOption,
    "Question": Question,
    "Questions": Questions,
    "QuestionAnswer": QuestionAnswer,
    "QueuedPrompt": QueuedPrompt,
    "RetryWait": RetryWait,
    "Usage": Usage,
    "UsageTotals": UsageTotals,
    "ContextUse": ContextUse,
    "Gates": Gates,
    "ModelChoice": ModelChoice,
    "Task": Task,
    "TaskOutput": TaskOutputResult,
    "Attachment": Attachment,
    "CacheMissed": CacheMissed,
}
EVENTS = {event.model_fields["type"].default: event for event in get_args(SessionEvents)}


def test_every_method_is_one_of_the_registry_under_its_own_name() -> None:
    known = {
        message.name.removeprefix("agent/"): message.name
        for message in (*methods.REQUESTS, *methods.NOTIFICATIONS)
    }
    named = dict(re.findall(r'^M\.([A-Z_]+) = "(agent/.*)"$', PROTOCOL, re.MULTILINE))
    assert len(named) >= 10
    for constant, method in named.items():
        assert getattr(methods, constant).name == method
        assert method in known.values()


def test_version_and_modes_are_those_of_the_protocol() -> None:
    assert f"M.VERSION = {PROTOCOL_VERSION}\n" in PROTOCOL
    modes = re.search(r"^M\.MODES = \{(.*)\}$", PROTOCOL, re.MULTILINE)
    assert modes
    assert tuple(re.findall(r'"(\w+)"', modes[1])) == get_args(Mode)


@pytest.mark.parametrize("name", MODELS)
def test_every_field_that_is_read_is_one_that_is_sent(name: str) -> None:
    sent = {field.alias for field in MODELS[name].model_fields.values()}
    assert fields_of(name) <= sent


def test_every_event_that_is_drawn_is_one_of_the_union() -> None:
    drawn = re.findall(r"^function REDUCERS\.(\w+)", REDUCERS, re.MULTILINE)
    noted = re.findall(r"^  (\w+) = function", NOTES, re.MULTILINE)
    assert len(drawn) >= 20
    assert len(noted) >= 3
    assert {*drawn, *noted} <= set(EVENTS)


def test_passing_events_are_those_that_are_never_kept() -> None:
    passing = re.search(r"^M.PASSING = \{(.*?)^\}", PROTOCOL, re.MULTILINE | re.DOTALL)
    assert passing
    named = set(re.findall(r"(\w+) = true", passing[1]))
    assert named == {type_ for type_, event in EVENTS.items() if issubclass(event, EphemeralEvent)}


def fields_of(name: str) -> set[str]:
    shape = re.search(rf"^---@class agentls\.{name}\b.*\n((?:---@field .*\n)+)", PROTOCOL, re.M)
    assert shape, f"protocol.lua has no class {name}"
    return set(re.findall(r"---@field (\w+)", shape[1]))
