"""What travels and what is kept: frozen models of messages, events, requests; their registry."""
