"""Sessions on disk: logs, chains, lists."""
