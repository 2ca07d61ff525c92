"""Models: one port, and what answers behind it."""
