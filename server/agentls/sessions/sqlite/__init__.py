"""Sessions in one SQLite database."""
