"""The Task tool: a part of the job is given to another agent, which reports when it is done."""

from typing import ClassVar

from pydantic import Field

from agentls.errors import WrongPhase
from agentls.tools.tool import Tool, ToolContext, ToolInput, ToolResult


class AgentInput(ToolInput):
    """What Task takes."""

    description: str = Field(min_length=1)
    """The job in three to five words, for the person who watches."""
    prompt: str = Field(min_length=1)
    """The whole job. The agent knows nothing of this conversation: name files, say what is wanted
    and what is to be reported."""
    run_in_background: bool = False
    """Do not wait for the report; you are told when the agent is done."""


class Agent(Tool[AgentInput]):
    """Sets another agent to work."""

    name: ClassVar[str] = "Task"
    description: ClassVar[str] = (
        "Gives a job to another agent, which works on it in a conversation of its own and reports "
        "once. It has your tools but this one, the same permissions, and nobody to ask: what "
        "needs an approval is denied to it. Use it for broad searches and for jobs whose details "
        "you need not see; for two or three files, read them yourself. With run_in_background it "
        "becomes a task, which TaskOutput reads and TaskStop ends."
    )
    input_type = AgentInput
    verbs: ClassVar[tuple[str, str]] = ("Have an agent work:", "An agent is at work:")
    timeout: ClassVar[float | None] = None

    async def execute(self, arguments: AgentInput, context: ToolContext) -> ToolResult:
        """Set an agent to work; cancelled, it stops where it has not been sent away."""
        agents = context.agents
        if agents is None:
            return ToolResult.error("No other agent can be set to work here; do it yourself.")
        about = arguments.description
        if arguments.run_in_background:
            try:
                task = await agents.start(
                    arguments.prompt, description=about, call_id=context.call_id
                )
            except WrongPhase as error:
                return ToolResult.error(f"The agent could not be set to work: {error}.")
            return ToolResult.ok(
                f"The agent works in the background as task {task.id}. You are told when it is "
                "done; TaskOutput reads what it has done so far.",
                f"Set an agent to work: {about}",
            )
        report = await agents.run(arguments.prompt, description=about, call_id=context.call_id)
        if report.failed:
            text = f"The agent did not get the job done: {report.text}"
            return ToolResult.error(text, f"Agent failed: {about}", changes=report.changes)
        return ToolResult.ok(report.text, f"Agent done: {about}", changes=report.changes)

    def subject(self, arguments: AgentInput) -> str:
        """Name the job."""
        return arguments.description
