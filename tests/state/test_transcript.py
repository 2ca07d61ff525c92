import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentls.protocol.content import (
    FileChange,
    ImageBlock,
    LivePart,
    RedactedThinkingPart,
    TextBlock,
    TextPart,
    ThinkingPart,
    Todo,
    ToolCallPart,
    Usage,
)
from agentls.protocol.events.conversation import ErrorInfo, SessionMeta
from agentls.protocol.history import Answer, CallResult, Gap, History, Summary, UserMessage
from agentls.protocol.session_state import LiveAnswer, SessionState, TurnResult
from agentls.protocol.tool_calls import Approval, Decision, ToolCall
from agentls.state.transcript import as_markdown
from agentls.state.transcript_text import code, fenced, inline, printable, prose

AT = "2026-11-30T14:56:35.123Z"
META = SessionMeta(
    id="s1", created_at=AT, cwd=".", agentls_version="1", git_branch="main", platform="", shell=""
)


def user(text: str) -> UserMessage:
    return UserMessage(id="u", at=AT, turn_id="t", content=(TextBlock(text=text),))


def answer(*parts: Any, stop_reason: Any = "endTurn") -> Answer:
    return Answer(
        id="a", at=AT, turn_id="t", model="a-model", parts=parts, stop_reason=stop_reason,
        usage=Usage(),
    )  # fmt: skip


def says(text: str) -> Answer:
    return answer(TextPart(id="p", text=text))


def call(**fields: Any) -> ToolCall:
    usual: dict[str, Any] = {
        "id": "c1",
        "message_id": "a",
        "name": "Bash",
        "invocation": "Running pytest -q",
        "input": {"command": "pytest -q"},
        "status": "finished",
        "outcome": "ok",
        "summary": "Ran pytest -q",
        "content": (TextBlock(text="3 passed"),),
    }
    return ToolCall(**{**usual, **fields})


def state(*entries: Any, **fields: Any) -> SessionState:
    return SessionState(meta=META, history=History(entries), **fields)


class Outline(HTMLParser):
    """What a rendered document is made of, and whether its folds are closed."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.depth = 0
        self.tags: list[tuple[str, int]] = []
        self.text: list[str] = []
        self.feed(MarkdownIt("commonmark", {"html": True}).render(markdown))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "details":
            self.depth += 1
        self.tags.append((tag, self.depth))

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self.depth -= 1
            assert self.depth >= 0, "a fold is closed that was not opened"

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_conversation_reads_as_it_went() -> None:
    text = as_markdown(
        state(
            user("Run the tests."),
            answer(ThinkingPart(id="x", text="Which ones?"), ToolCallPart(id="c1", name="Bash")),
            CallResult(call=call()),
            says("All **pass**."),
            title="The tests",
            tag="ci",
        )
    )
    assert text == "\n".join(
        [
            "# The tests",
            "",
            "2026-11-30 14:56 UTC · a-model · branch main · tag ci · 4 messages · session `s1`",
            "",
            "---",
            "",
            "## You · 2026-11-30 14:56",
            "",
            "> Run the tests.",
            "",
            "## Agent · a-model",
            "",
            "<details>",
            "<summary>Thinking</summary>",
            "",
            "> Which ones?",
            "",
            "</details>",
            "",
            "<details>",
            "<summary><b>Bash</b> Ran pytest -q · done</summary>",
            "",
            "- `command`: `pytest -q`",
            "",
            "Output:",
            "",
            "```text",
            "3 passed",
            "```",
            "",
            "</details>",
            "",
            "All **pass**.",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("maxTokens", "longest length"),
        ("contextWindow", "the model's window"),
        ("cancelled", "the user stopped it"),
        ("interrupted", "the server ended"),
        ("refusal", "refused"),
    ],
)
def test_cut_answer_says_that_it_was_cut(reason: str, words: str) -> None:
    text = as_markdown(
        state(user("Go."), answer(TextPart(id="p", text="Half"), stop_reason=reason))
    )
    assert words in text.partition("Half")[2]


def test_answer_that_was_being_written_is_shown_as_cut() -> None:
    parts = (
        LivePart(type="thinking", id="x", text="Hm"),
        LivePart(type="text", id="y", text="The fir"),
    )
    live = LiveAnswer(message_id="a", model="a-model", parts=parts)
    text = as_markdown(state(user("Go."), live=live))
    assert "The fir\n\n*The answer was cut: the server ended in the middle of it.*" in text


def test_denied_call_says_who_denied_it_and_why() -> None:
    decision = Decision(
        behaviour="deny", decided_by="rule", reason="settings.json", rule="Bash(rm:*)"
    )
    text = as_markdown(state(CallResult(call=call(outcome="denied", decision=decision))))
    assert "· denied</summary>" in text
    assert "Denied by a rule (Bash(rm:*)): settings.json" in text


def test_call_that_waits_shows_what_is_asked() -> None:
    approval = Approval(
        call_id="c1", tool_name="Bash", title="Run rm -r build/", detail="", reason="", options=(),
        requested_at=AT,
    )  # fmt: skip
    waiting = call(status="waiting", outcome=None, summary=None, content=(), approval=approval)
    text = as_markdown(state(user("Clean."), says("So."), calls={"c1": waiting}))
    assert "Running pytest -q · waits for approval</summary>" in text
    assert "Asked: Run rm -r build/" in text


def test_changed_files_are_named_with_their_lines() -> None:
    change = FileChange(
        path="src/a.py", kind="modified", before_sha256=None, after_sha256=None,
        added_lines=3, removed_lines=1,
    )  # fmt: skip
    text = as_markdown(state(CallResult(call=call(changes=(change,)))))
    assert "Changed:\n\n- modified `src/a.py` +3 -1" in text


def test_long_output_is_cut_and_says_by_how_much() -> None:
    long = call(content=(TextBlock(text="x" * 1_000),))
    text = as_markdown(state(CallResult(call=long)), tool_output_chars=10)
    assert "xxxxxxxxxx\n```\n\n*990 more characters are not shown.*" in text


def test_pictures_are_named() -> None:
    image = ImageBlock(media_type="image/png", data="A" * 40_000, name="shot.png")
    shown = UserMessage(id="u", at=AT, turn_id=None, content=(TextBlock(text="See:"), image))
    text = as_markdown(state(shown, CallResult(call=call(content=(image,)))))
    assert "> *Image: shot.png, image/png, 29 KB*" in text
    assert "\n*Image: shot.png, image/png, 29 KB*" in text


def test_gap_summary_plan_and_failure_are_visible() -> None:
    failed = TurnResult(
        id="t", status="failed", error=ErrorInfo(kind="Overloaded", message="no room"),
        finished_at=AT, duration_ms=1,
    )  # fmt: skip
    text = as_markdown(
        state(
            Summary(id="b", at=AT, text="It was long.", message_count=12),
            Gap(id="g", at=AT, missing="m_1"),
            answer(RedactedThinkingPart(id="r", data="…")),
            last_turn=failed,
            todos=(
                Todo(content="Read", active_form="Reading", status="completed"),
                Todo(content="Write", active_form="Writing", status="inProgress"),
            ),
        )
    )
    for shown in (
        "a summary takes the place of 12 messages",
        "> It was long.",
        "> **Messages are missing here.** The log was damaged: `m_1`",
        "*Thinking that came encrypted and cannot be shown.*",
        "> **The turn failed: no room**",
        "- [x] Read\n- [ ] Write (in progress)",
    ):
        assert shown in text


def test_terminal_is_given_no_orders() -> None:
    text = as_markdown(
        state(
            user("\x1b[31mred\x07"),
            says("a\x9b2Jb\r\nc"),
            CallResult(call=call(content=(TextBlock(text="\x1b]0;title\x07"),), summary="\x1b[2J")),
            title="\x1b[1m",
        )
    )
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "␛[31mred␇" in text


def test_headings_of_an_answer_stay_below_those_of_the_document() -> None:
    assert prose("# One\n```sh\n# not one\n```\n###### Six") == (
        "### One\n```sh\n# not one\n```\n###### Six"
    )


def test_html_is_shown_and_code_stays_as_it_is() -> None:
    assert prose("a <b> and `<i>` and <!-- x") == "a \\<b> and `<i>` and \\<!-- x"
    assert prose("```html\n<b>\n```") == "```html\n<b>\n```"
    assert prose("1 < 2") == "1 < 2"


def test_code_that_is_left_open_is_closed() -> None:
    assert prose("~~~~\nx\n~~~") == "~~~~\nx\n~~~\n~~~~"
    assert Outline(prose("- a\n  ```\n  b") + "\n\n# End").tags[-1][0] == "h1"


HAZARDS = st.lists(
    st.sampled_from(
        [
            *("`", "``", "```", "~~~", "\n", "\n\n", "  ", "    ", "- ", "> ", "1. ", "# ", "\\"),
            *("</details>", "<details>", "<!--", "-->", "<pre>", "<![CDATA[", "<?", "<script>"),
            *("</summary>", "\t", "\r", "<a href='", "&lt;", "---", "===", "[x](", "|", "*", "<"),
            *("]]>", "a b", "</pre>", "\x1b"),
        ]
    ),
    max_size=25,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(HAZARDS)
def test_nothing_that_is_said_breaks_the_document(text: str) -> None:
    """Whatever is in it, folds are closed where they should be and the next heading is one."""
    held = call(input={"command": text, "x": {text: text}}, content=(TextBlock(text=text),))
    summarised = held.model_copy(update={"summary": text, "left_out": text})
    document = as_markdown(
        state(
            user(text),
            answer(ThinkingPart(id="x", text=text), TextPart(id="p", text=text)),
            CallResult(call=held),
            CallResult(call=summarised),
            Summary(id="b", at=AT, text=text, message_count=1),
            Gap(id="g", at=AT, missing=text),
            says(text),
            user("The end."),
            title=text or None,
        )
    )
    outline = Outline(document)
    folds = 3 + bool(text.strip())
    assert [tag for tag, _ in outline.tags].count("details") == folds, document
    assert outline.depth == 0
    headings = [depth for tag, depth in outline.tags if tag == "h2"]
    assert headings.count(0) >= 3
    assert {"script", "pre"} & {tag for tag, _ in outline.tags} <= {"pre"}
    assert "The end." in outline.text


@given(HAZARDS)
def test_fenced_text_is_word_for_word(text: str) -> None:
    [token] = MarkdownIt("commonmark").parse(fenced(text))
    assert (token.type, token.content.rstrip("\n")) == ("fence", printable(text).rstrip("\n"))


@given(HAZARDS)
def test_code_and_inline_stay_in_their_line(text: str) -> None:
    assert "\n" not in code(text) + inline(text)
    assert "<code>" in MarkdownIt("commonmark").render(code(text))


@pytest.mark.parametrize(
    "text",
    [
        "  ```\n~~~",
        "- a\n  ```\nb\n  ```",
        "- ```\n  x\n   ```\n  ```",
        "> ```\n```",
        "1. ```\n   x\n   ```",
        "\t```\n\t```",
        "```\n\t```",
    ],
)
def test_block_further_in_swallows_nothing_behind_it(text: str) -> None:
    assert Outline(prose(text) + "\n\n# End").tags[-1] == ("h1", 0)


def test_block_in_a_list_stays_in_its_list() -> None:
    assert prose("- a\n  ```\n  <b>\n  ```\n- c") == "- a\n  ```\n  \\<b>\n  ```\n- c"
