"""The loop: a function of state, and what carries it out."""
