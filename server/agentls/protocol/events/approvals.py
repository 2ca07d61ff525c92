"""What happens to approvals; the state they change is the tool call's."""

from typing import Literal

from agentls.protocol.events.kinds import AttachedEvent
from agentls.protocol.tool_calls import Approval, Decision
from agentls.protocol.wire_model import JsonObject


class ApprovalRequested(AttachedEvent):
    """A call waits for a person."""

    type: Literal["approvalRequested"] = "approvalRequested"
    approval: Approval


class ApprovalAnswered(AttachedEvent):
    """The first answer came; it settles the matter for every editor."""

    type: Literal["approvalAnswered"] = "approvalAnswered"
    call_id: str
    option_id: str
    decision: Decision
    edited_input: JsonObject | None = None
