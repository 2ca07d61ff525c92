from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentls.errors import (
    ModelError,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    StreamBroken,
    TryAgainLater,
)
from agentls.llm.server_errors import (
    LONGEST_QUOTE,
    Refusal,
    Server,
    asked_wait,
    one_line,
    retry_after_seconds,
)

SERVER = Server("http://models", "ANTHROPIC_API_KEY", ("sk-0123456789", "test"))


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"type": "invalid_request_error", "message": "prompt is too long: 2 > 1"}},
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "no room"}},
        {"error": "the input length exceeds the context length"},
        {"object": "error", "message": "This model's maximum context length is 4096 tokens."},
    ],
)
def test_prompt_too_long_in_the_words_of_many_servers(body: object) -> None:
    assert type(SERVER.refusal(Refusal(400, body))) is PromptTooLong


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no such tool"}}, ": no such tool"),
        ({"error": "no such tool"}, ": no such tool"),
        ({"message": "no such tool"}, ": no such tool"),
        ("no such\ntool", ": no such tool"),
        ({"error": {"message": 7}}, ""),
        ({}, ""),
        (None, ""),
        ([1], ""),
    ],
)
def test_words_of_the_server_are_found(body: object, said: str) -> None:
    error = SERVER.refusal(Refusal(400, body))

    assert type(error) is RequestRefused
    assert str(error) == f"http://models refused the request with status 400{said}"


def test_type_decides_before_the_status() -> None:
    body = {"error": {"type": "overloaded_error", "message": "busy"}}

    assert isinstance(SERVER.refusal(Refusal(200, body)), TryAgainLater)


def test_unknown_error_in_mid_answer_breaks_the_stream() -> None:
    assert type(SERVER.refusal(Refusal(200, {"error": {}}, streaming=True))) is StreamBroken


def test_short_key_is_blotted_out_as_a_word_only() -> None:
    assert SERVER.without_secrets("testing test, sk-0123456789x") == (
        "testing [credential], [credential]x"
    )


@given(
    st.integers(100, 599),
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.dictionaries(st.sampled_from(["error", "type", "message"]), inner),
    ),
    st.booleans(),
)
def test_any_refusal_is_an_error_of_one_line(status: int, body: object, streaming: bool) -> None:
    error = SERVER.refusal(Refusal(status, body, streaming=streaming))

    assert isinstance(error, ModelError)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        (" two\n\n words ", "two words"),
        ("<!DOCTYPE html><title>\nBad\nGateway</title><p>x", "Bad Gateway"),
        ("<html><body><h1>Not</h1>\n<p>found</p></body></html>", "Not found"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("x" * 1000, "x" * LONGEST_QUOTE + "…"),
    ],
)
def test_text_is_cut_to_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7),
        ("0.5", 0.5),
        ("-3", 0),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("Mon, 30 Nov 2026 15:00:30 GMT", 30),
        ("Mon, 30 Nov 2026 14:00:00 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    now = datetime(2026, 11, 30, 15, 0, tzinfo=UTC)

    assert retry_after_seconds(header, now=now) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "7", "retry-after-ms": "6800"}, 6.8),
        ({"retry-after": "7", "retry-after-ms": "soon"}, 7),
        ({"retry-after-ms": "0"}, 0),
        (
            {
                "retry-after": "Tue, 01 Jan 2030 00:01:00 GMT",
                "date": "Tue, 01 Jan 2030 00:00:00 GMT",
            },
            60,
        ),
    ],
)
def test_wait_is_read_from_whatever_headers_tell_it(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert asked_wait(headers) == seconds


def test_date_without_the_servers_clock_is_read_by_ours() -> None:
    headers = {"retry-after": "Tue, 01 Jan 2030 00:01:00 GMT", "date": "today"}

    assert (asked_wait(headers) or 0) >= 0


@pytest.mark.parametrize("details", [None, "x", [1], {}, {"error_code": 7}])
def test_details_that_say_nothing_change_nothing(details: object) -> None:
    body = {"error": {"type": "rate_limit_error", "message": "Slow down", "details": details}}

    assert type(SERVER.refusal(Refusal(429, body))) is RateLimited


@pytest.mark.parametrize("status", [408, 500, 502, 503, 524])
def test_page_of_a_gateway_is_a_server_that_failed(status: int) -> None:
    assert type(SERVER.refusal(Refusal(status, "<html><title>Bad</title>"))) is ServerFailed
