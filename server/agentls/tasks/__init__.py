"""What runs beside the conversation: shell commands, their output and their end."""
