"""The tools as the model sees them."""

from functools import cache

import orjson

from agentls.llm.model import ToolSpec
from agentls.state.measure import tokens_of_text
from agentls.tools.registry import ToolRegistry


@cache
def tool_specs(registry: ToolRegistry) -> tuple[ToolSpec, ...]:
    """Return the tools as the model sees them; making a schema takes longer than using it."""
    return tuple(
        ToolSpec(tool.name, tool.description, tool.input_schema())
        for tool in registry.tools.values()
    )


@cache
def tokens_of_tools(registry: ToolRegistry) -> int:
    """Return about how many tokens the tools take in each request."""
    return sum(
        tokens_of_text(spec.name + spec.description + orjson.dumps(spec.input_schema).decode())
        for spec in tool_specs(registry)
    )
