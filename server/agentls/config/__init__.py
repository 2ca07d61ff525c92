"""Settings, credentials and where they come from."""
