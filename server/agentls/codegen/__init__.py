"""Everything that is generated from the protocol registry."""
