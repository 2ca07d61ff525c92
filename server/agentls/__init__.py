"""agentls, the agent language server: a coding agent that any editor can host."""
