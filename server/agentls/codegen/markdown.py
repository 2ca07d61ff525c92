"""Print the protocol as a reference page."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agentls.codegen.schema import PREFIX, JsonSchema
from agentls.protocol.events import envelope, kinds
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS, SESSION_EVENT, Notification, Request

Types = Mapping[str, JsonSchema]

EVENT_CLASSES: tuple[type[kinds.Event], ...] = get_args(envelope.SessionEvents)

KINDS: dict[str, type[kinds.Event]] = {
    "Message events": kinds.MessageEvent,
    "Attached events": kinds.AttachedEvent,
    "Session events": kinds.SessionEvent,
    "Records": kinds.RecordEvent,
    "Ephemeral events": kinds.EphemeralEvent,
}

INTRODUCTION = """\
<!-- GENERATED from server/agentls/protocol by `agentls generate`. Do not edit. -->

# Protocol reference

Every `agent/*` message, with its types. How a client uses them is told in the
[guide](README.md); the same in JSON Schema is in [schema.json](schema.json), in OpenRPC in
[openrpc.json](openrpc.json). A field marked *optional* may be left out; all others are always
there, `null` where empty.
"""

NOTIFICATIONS_NOTE = """\
What the server tells a client that asked for it in [ClientOptions](#clientoptions). Nothing is
answered.
"""

EVENTS_NOTE = """\
What `agent/session/event` carries, and what a session's log holds. Where an event belongs decides
when it is kept and when it counts. *Since* is the first version of the protocol that knows it; a
reader passes over types it does not know.
"""


def render(types: Types) -> str:
    """Return reference.md."""
    page = _Page(types)
    events = {event.__name__ for event in EVENT_CLASSES}
    handshake = ["ClientOptions", "ServerOptions"]
    told = {*page.method_types, *events, *handshake}
    parts = [
        INTRODUCTION,
        page.contents(handshake, [name for name in types if name not in told]),
        "## Handshake\n",
        *(page.type_section(name) for name in handshake),
        "## Requests\n\nWhat a client asks; the server answers each.\n",
        *(page.request_section(request) for request in REQUESTS),
        f"## Notifications\n\n{NOTIFICATIONS_NOTE}",
        *(page.notification_section(notification) for notification in NOTIFICATIONS),
        f"## Events\n\n{EVENTS_NOTE}",
        *(page.kind_section(title, kind) for title, kind in KINDS.items()),
        "## Types\n",
        *(page.type_section(name) for name in types if name not in told),
    ]
    return "\n".join(parts)


class _Page:
    """The sections of the page; each knows where a type is told."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self.method_types: dict[str, str] = {}
        """The types that are told with a method, and that method's name."""
        for method in (*REQUESTS, *NOTIFICATIONS):
            for type_ in _types_of(method):
                if type_.__name__.endswith(("Params", "Result")):
                    self.method_types[type_.__name__] = method.name

    def contents(self, handshake: Iterable[str], others: Iterable[str]) -> str:
        """Return the table of contents."""
        lines = [
            f"- [Handshake](#handshake): {self._links(handshake)}",
            "- [Requests](#requests)",
            *(f"  - {_heading_link(request.name)}" for request in REQUESTS),
            "- [Notifications](#notifications)",
            *(f"  - {_heading_link(notification.name)}" for notification in NOTIFICATIONS),
            "- [Events](#events)",
        ]
        for title, kind in KINDS.items():
            names = [event.__name__ for event in EVENT_CLASSES if issubclass(event, kind)]
            lines.append(f"  - {_heading_link(title)}: {self._links(names)}")
        lines.append(f"- [Types](#types): {self._links(others)}")
        return "\n".join(lines) + "\n"

    def request_section(self, request: Request[Any, Any]) -> str:
        """Return what there is to say of a request."""
        return "\n".join(
            [
                self._method_head(request, "From client to server, answered."),
                self._part("Params", request.params.__name__),
                self._part("Result", request.result.__name__),
                f"[Example](examples/{example_name(request.name)})\n",
            ]
        )

    def notification_section(self, notification: Notification[Any]) -> str:
        """Return what there is to say of a notification."""
        example = f"[Example](examples/{example_name(notification.name)})\n"
        if notification is SESSION_EVENT:
            example = "An example stands with each [event](#events).\n"
        return "\n".join(
            [
                self._method_head(notification, "From server to client, not answered."),
                self._part("Params", notification.params.__name__),
                example,
            ]
        )

    def kind_section(self, title: str, kind: type[kinds.Event]) -> str:
        """Return the events of one kind."""
        sections = [self._event(event) for event in EVENT_CLASSES if issubclass(event, kind)]
        return "\n".join([f"### {title}\n\n{kind.__doc__}\n", *sections])

    def type_section(self, name: str) -> str:
        """Return what there is to say of a type that belongs to no method alone."""
        return f"### {name}\n\n{self._body(self._types[name])}"

    def _method_head(self, method: Request[Any, Any] | Notification[Any], direction: str) -> str:
        description = self._types[method.params.__name__]["description"]
        return f"### {method.name}\n\n{description}\n\n{direction}\n"

    def _part(self, title: str, name: str) -> str:
        if name not in self.method_types:
            return f"**{title}**: {self._link(name)}\n"
        schema = self._types[name]
        lead = f"**{title}** (`{name}`)"
        if title == "Result":
            lead += f": {schema['description']}"
        if not schema["properties"]:
            return f"{lead}\n\nNo fields: `{{}}`.\n"
        return f"{lead}\n\n{self._fields(schema)}"

    def _event(self, event: type[kinds.Event]) -> str:
        name = event.__name__
        type_ = event.model_fields["type"].default
        example = f"[example](examples/{example_name(SESSION_EVENT.name, type_)})"
        head = f"#### {name}\n\n`{type_}`, since {event.since}, {example}\n"
        return f"{head}\n{self._body(self._types[name])}"

    def _body(self, schema: JsonSchema) -> str:
        parts = [f"{schema['description']}\n"] if "description" in schema else []
        if schema.get("properties"):
            parts.append(self._fields(schema))
        elif "enum" in schema or "oneOf" in schema:
            parts.append(f"One of {self._type(schema, ', ')}.\n")
        elif "type" in schema:
            parts.append(f"In JSON: {self._type(schema)}.\n")
        return "\n".join(parts)

    def _fields(self, schema: JsonSchema) -> str:
        required = set(schema.get("required", ()))
        lines = ["| Field | Type | Meaning |", "|---|---|---|"]
        for name, field in schema["properties"].items():
            meaning = [] if name in required else ["*optional*"]
            if "default" in field:
                meaning = [f"*optional*, `{json.dumps(field['default'])}` where left out"]
            if "description" in field:
                meaning.append(field["description"].replace("\n", " "))
            cells = [f"`{name}`", self._type(field), ". ".join(meaning)]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(lines) + "\n"

    def _type(self, schema: JsonSchema, between: str = " | ") -> str:
        """Return a type as Markdown, each name a link."""
        if "$ref" in schema:
            return self._link(schema["$ref"].removeprefix(PREFIX))
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return between.join(f"`{json.dumps(value)}`" for value in schema["enum"])
        if choices := schema.get("oneOf") or schema.get("anyOf"):
            return between.join(self._type(choice) for choice in choices)
        match schema["type"]:
            case "array":
                return f"list of {self._type(schema['items'])}"
            case "object":
                return f"object of string to {self._type(schema['additionalProperties'])}"
            case primitive:
                return f"{primitive}{_limits(schema)}"

    def _links(self, names: Iterable[str]) -> str:
        return ", ".join(self._link(name) for name in names)

    def _link(self, name: str) -> str:
        return f"[{name}](#{_anchor(self.method_types.get(name, name))})"


def example_name(method: str, event_type: str | None = None) -> str:
    """Return the name of the file that shows a method, or an event that travels in it."""
    parts = [*method.split("/"), *([event_type] if event_type else [])]
    return ".".join(parts) + ".json"


def _types_of(method: Request[Any, Any] | Notification[Any]) -> tuple[type[Any], ...]:
    match method:
        case Request():
            return (method.params, method.result)
        case Notification():
            return (method.params,)


def _limits(schema: JsonSchema) -> str:
    """Return what else a value must fulfil, in parentheses."""
    limits = [
        words.format(schema[key])
        for key, words in (
            ("minimum", "at least {}"),
            ("maximum", "at most {}"),
            ("minLength", "no shorter than {}"),
            ("maxLength", "no longer than {}"),
            ("pattern", "`{}`"),
        )
        if key in schema
    ]
    return f" ({', '.join(limits)})" if limits else ""


def _heading_link(heading: str) -> str:
    return f"[{heading}](#{_anchor(heading)})"


def _anchor(heading: str) -> str:
    """Return the anchor that a Markdown viewer gives a heading."""
    kept = "".join(char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return kept.replace(" ", "-")
