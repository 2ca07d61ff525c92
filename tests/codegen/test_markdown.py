import re
from collections import Counter

from agentls.codegen.markdown import EVENT_CLASSES, KINDS, render
from agentls.codegen.schema import definitions
from agentls.protocol.methods import NOTIFICATIONS, REQUESTS
from tests.support.wire_examples import DOCS

TYPES = definitions()
PAGE = render(TYPES)
HEADINGS = re.findall(r"^#+ (.*)$", PAGE, re.M)


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_link_leads_somewhere() -> None:
    anchors = {anchor(heading) for heading in HEADINGS}
    links = re.findall(r"\]\(([^)]*)\)", PAGE)

    assert len(links) > 100
    for link in links:
        if link.startswith("#"):
            assert link[1:] in anchors, link
        else:
            assert (DOCS / link).is_file() or link in {"schema.json", "openrpc.json"}, link


def test_no_two_headings_share_an_anchor() -> None:
    assert [name for name, count in Counter(map(anchor, HEADINGS)).items() if count > 1] == []


def test_everything_is_told_once() -> None:
    methods = [method.name for method in (*REQUESTS, *NOTIFICATIONS)]
    told_with_a_method = set(re.findall(r"\*\*(?:Params|Result)\*\* \(`(\w+)`\)", PAGE))
    events = {event.__name__ for event in EVENT_CLASSES}

    assert set(methods) | events <= set(HEADINGS)
    assert set(TYPES) - told_with_a_method <= set(HEADINGS)
    assert told_with_a_method.isdisjoint(HEADINGS)


def test_events_stand_under_their_kind_with_their_version() -> None:
    for title, kind in KINDS.items():
        section = PAGE.split(f"\n### {title}\n")[1].split("\n### ")[0].split("\n## ")[0]
        below = re.findall(r"^#### (\w+)\n\n`(\w+)`, since (\d+)", section, re.M)
        expected = [event for event in EVENT_CLASSES if issubclass(event, kind)]

        assert kind.__doc__ in section
        assert below == [
            (event.__name__, event.model_fields["type"].default, str(event.since))
            for event in expected
        ]


def test_method_tells_direction_purpose_and_fields() -> None:
    section = PAGE.split("\n### agent/model/set\n")[1].split("\n### ")[0]

    assert "From client to server, answered." in section
    assert "Choose a model, for one session or as the user's default" in section
    assert "| `model` | string \\| null |" in section
    assert (
        '| `scope` | `"session"` \\| `"user"` | *optional*, `"session"` where left out' in section
    )
    assert "| `model` | [ModelChoice](#modelchoice) |" in section
    assert "[Example](examples/agent.model.set.json)" in section
    assert "From server to client, not answered." in PAGE.split("\n### agent/session/delta\n")[1]


def test_every_row_of_a_table_has_three_cells() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]

    assert rows
    for row in rows:
        assert len(re.split(r"(?<!\\)\|", row)) == 5, row


def test_every_field_is_in_a_table() -> None:
    rows = Counter(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))

    assert rows == Counter(
        field for schema in TYPES.values() for field in schema.get("properties", ())
    )


def test_limits_are_told() -> None:
    assert "| `limit` | integer (at least 1, at most 500) |" in PAGE
    assert "| `title` | string (no shorter than 1, no longer than 200) |" in PAGE
