from agentls.config.secrets import Credentials, credentials_from_environment


def test_credentials_come_from_the_environment_and_an_empty_one_is_none() -> None:
    credentials = credentials_from_environment(
        {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "", "OTHER": "x"}
    )

    assert credentials == Credentials(api_key="k")
    assert credentials.usable


def test_a_local_server_needs_no_key() -> None:
    assert credentials_from_environment({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}).usable
    assert not credentials_from_environment({}).usable


def test_credentials_do_not_show_in_what_is_printed() -> None:
    credentials = Credentials(api_key="hidden-key", auth_token="hidden-token")

    assert "hidden" not in repr(credentials)
    assert "hidden" not in str(credentials)
