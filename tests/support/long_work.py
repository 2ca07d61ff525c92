"""What the long work in real editors is made of: questions, plans, commands and a workspace."""

import json
from pathlib import Path
from typing import Any

from PIL import Image

from tests.support.histories import encoded

DATABASE = {
    "question": "Which database should the tests use?",
    "header": "Database",
    "options": [
        {"label": "SQLite", "description": "Nothing to install"},
        {"label": "PostgreSQL", "description": "As it is in production"},
    ],
}
SCOPE = {
    "question": "What is to be tested?",
    "header": "Scope",
    "multiSelect": True,
    "options": [{"label": "Reading"}, {"label": "Writing"}],
}
PLAN = "# Plan\n\n1. Read `notes.txt`\n2. Sort it"
SERVER = "for i in $(seq 1 600); do echo line $i; sleep 0.2; done"
WAITS = "until [ -e go ]; do sleep 0.1; done"
LONG = "The server writes a line five times a second, and nothing else happens here. " * 60


def fill(workspace: Path) -> None:
    """Put a list and a red square into a workspace."""
    (workspace / "notes.txt").write_text("apples\nbread\ncheese\n")
    (workspace / "red.png").write_bytes(encoded(Image.new("RGB", (16, 16), "red"), "PNG"))


def write_user_settings(folder: Path, model: str, **facts: Any) -> None:
    """Write a user's settings: a fast model, and what is known of `model`."""
    folder.mkdir(parents=True)
    settings = {"fastModel": "offline", "models": {model: {"contextWindow": 50_000, **facts}}}
    (folder / "settings.json").write_text(json.dumps(settings))
