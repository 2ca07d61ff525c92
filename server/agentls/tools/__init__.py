"""The agent's hands: each tool a class, with the field's own names and parameters."""
