"""The messages under protocol-docs, and how they are read and written."""

import json
import re
from pathlib import Path
from typing import Any

from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from agentls.protocol.wire_model import WireModel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "protocol-docs"
EXAMPLE_FILES = sorted((DOCS / "examples").glob("*.json"))

REQUESTS_BY_NAME = {request.name: request for request in REQUESTS}
NOTIFICATIONS_BY_NAME = {notification.name: notification for notification in NOTIFICATIONS}


def read_example(path: Path) -> dict[str, Any]:
    return json.loads(path.read_bytes())


def written(model: WireModel, *, partial: bool) -> Any:
    """Return a message as it is sent; `partial`: its own fields only where they were given."""
    included = type(model).model_fields.keys() & model.model_fields_set if partial else None
    return model.model_dump(mode="json", include=included)


def written_again(message: dict[str, Any]) -> dict[str, Any]:
    """Return `message` after it went through the models of its method."""
    name = message["method"]
    if notification := NOTIFICATIONS_BY_NAME.get(name):
        params = notification.params.model_validate(message["params"])
        return {"method": name, "params": written(params, partial=name.endswith("/didChange"))}
    request = REQUESTS_BY_NAME[name]
    params = request.params.model_validate(message["params"])
    result = request.result.model_validate(message["result"])
    return {
        "method": name,
        "params": written(params, partial=True),
        "result": written(result, partial=False),
    }


def guide_messages() -> list[tuple[str, dict[str, Any]]]:
    """Return the messages in the guide, each with the arrow before it."""
    fences = re.findall(r"^```\n(.*?)^```$", (DOCS / "README.md").read_text("utf-8"), re.M | re.S)
    messages = re.findall(r"^([→←]) (.*\n(?: .*\n)*)", "".join(fences), re.M)
    return [(arrow, json.loads(text)) for arrow, text in messages]
