"""The face for scripts: a prompt in, text or JSON lines out."""
