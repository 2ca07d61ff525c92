"""Sessions of other programs, and sessions written down: import and export."""
