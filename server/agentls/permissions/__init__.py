"""Allow, deny or ask: a pure function of mode, rules and call."""
