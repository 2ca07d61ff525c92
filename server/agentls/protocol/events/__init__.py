"""The closed unions of things that happen, one module per domain."""
