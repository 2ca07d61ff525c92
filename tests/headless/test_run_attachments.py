"""Pictures and PDFs that go with a run's prompt, from flags and in stream-json."""

import base64
import json

from tests.headless.test_run_endings import STREAM, check_failed
from tests.support.scenarios import says
from tests.support.scripts import Script

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def kept_prompt(script: Script) -> list[dict]:
    """Return the content of the prompt that the session has kept."""
    (log,) = (script.folder / ".agentls/sessions").glob("*.jsonl")
    events = [json.loads(line).get("event", {}) for line in log.read_text().splitlines()]
    return next(e["content"] for e in events if e.get("type") == "userMessageReceived")


def test_a_file_named_by_a_flag_goes_with_the_prompt(script: Script) -> None:
    (script.folder / "red.png").write_bytes(base64.b64decode(PNG))
    model = script.plays(says("Red."))
    done = script.run("-p", "What is this?", "--attach", "red.png", "--model", model)
    assert (done.code, done.stdout) == (0, "Red.\n")
    assert [block["type"] for block in kept_prompt(script)] == ["text", "image"]


def test_a_picture_in_a_message_goes_with_the_prompt(script: Script) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    content = [{"type": "text", "text": "And this?"}, {"type": "image", "source": source}]
    line = json.dumps({"type": "user", "message": {"role": "user", "content": content}})
    flags = ("--input-format", "stream-json", "--model", script.plays(says("Red.")), *STREAM)
    done = script.run(*flags, stdin=line.encode())
    assert done.code == 0, done.stderr
    assert [block["type"] for block in kept_prompt(script)] == ["text", "image"]


def test_what_cannot_be_attached_is_a_usage_error_that_names_it(script: Script) -> None:
    (script.folder / "notes.txt").write_text("no picture")
    model = script.plays(says("Never."))
    done = script.run("-p", "Hi.", "--attach", "notes.txt", "--model", model, *STREAM)
    check_failed(done, 2, "notes.txt", reason="usage")
