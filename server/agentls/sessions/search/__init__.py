"""The search index over sessions: what was said and done, found by its words."""
