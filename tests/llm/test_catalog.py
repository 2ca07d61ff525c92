from pathlib import Path

import pytest

from agentls.config.secrets import Credentials
from agentls.config.settings import Settings
from agentls.errors import BadScenario, ConfigurationError, NoCredentials, UnknownModel
from agentls.llm.anthropic import AnthropicModel
from agentls.llm.catalog import DEFAULT_MODEL, ModelCatalog
from agentls.llm.model import ModelRequest
from agentls.llm.offline import OfflineModel
from tests.support.scenarios import collect, says, text_of, write_scenario

KEY = Credentials(api_key="sk-test-0123456789")
SERVER = Credentials(base_url="http://127.0.0.1:9")
NOTHING = Credentials()


def catalog(credentials: Credentials = NOTHING, folder: Path = Path("/nowhere")) -> ModelCatalog:
    return ModelCatalog(credentials, scenario_folder=folder)


def test_offline_model_needs_nothing() -> None:
    assert isinstance(catalog().resolve("offline"), OfflineModel)


def test_models_of_a_server_share_one_client() -> None:
    models = catalog(KEY)

    assert isinstance(models.resolve(DEFAULT_MODEL), AnthropicModel)
    assert models.resolve(DEFAULT_MODEL) is models.resolve("claude-opus-5-5")


def test_new_claude_is_passed_on() -> None:
    assert isinstance(catalog(KEY).resolve("claude-next-9"), AnthropicModel)


def test_server_of_its_own_takes_any_name() -> None:
    assert isinstance(catalog(SERVER).resolve("qwen3:8b"), AnthropicModel)


def test_missing_credentials_name_the_ways_out() -> None:
    with pytest.raises(NoCredentials) as caught:
        catalog().resolve(DEFAULT_MODEL)

    for word in (DEFAULT_MODEL, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "Ollama", "llama.cpp",
                 "vLLM", "LM Studio", "gateway", "--model offline"):  # fmt: skip
        assert word in str(caught.value)


def test_unknown_model_is_told_with_close_names() -> None:
    with pytest.raises(UnknownModel) as caught:
        catalog(KEY).resolve("ofline")

    assert "no model 'ofline'. Did you mean offline?" in str(caught.value)
    assert "ANTHROPIC_BASE_URL" in str(caught.value)


def test_model_of_a_typo_is_unknown_before_a_key_is_asked_for() -> None:
    with pytest.raises(UnknownModel, match="claude-sonnet-5-5"):
        catalog().resolve("sonnet-5-5")


def test_address_that_is_none_is_told() -> None:
    with pytest.raises(ConfigurationError, match="ANTHROPIC_BASE_URL"):
        catalog(Credentials(base_url="localhost")).resolve("qwen3")


async def test_scenario_goes_on_where_it_was(tmp_path: Path) -> None:
    write_scenario(tmp_path / "demo.json", says("One."), says("Two."))
    models = catalog(folder=tmp_path)
    request = ModelRequest("scripted:demo.json", "", ({"role": "user", "content": "hello"},))

    assert text_of(await collect(models.resolve("scripted:demo.json"), request)) == "One."
    same = models.resolve(f"scripted:{tmp_path / 'x' / '..' / 'demo.json'}")
    assert text_of(await collect(same, request)) == "Two."


def test_bad_scenario_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadScenario, match=r"none\.json"):
        catalog(folder=tmp_path).resolve("scripted:none.json")


@pytest.mark.parametrize(("credentials", "available"), [(NOTHING, False), (KEY, True)])
def test_list_begins_with_the_default_and_says_what_can_be_had(
    credentials: Credentials, available: bool
) -> None:
    models = catalog(credentials).list()

    assert (models[0].id, models[0].available) == (DEFAULT_MODEL, available)
    assert (models[-1].id, models[-1].available) == ("offline", True)


def test_scenario_in_use_is_listed(tmp_path: Path) -> None:
    path = write_scenario(tmp_path / "demo.json", says("One."))
    models = catalog(folder=tmp_path)
    models.resolve("scripted:demo.json")

    assert f"scripted:{path}" in [model.id for model in models.list()]


async def test_closing_is_harmless_before_any_request() -> None:
    models = catalog(KEY)
    await models.prepare("offline")
    models.resolve(DEFAULT_MODEL)
    await models.aclose()
    await models.aclose()


async def test_preparing_loads_the_sdk_and_closing_ends_it() -> None:
    models = catalog(SERVER)
    await models.prepare("qwen3")
    await models.aclose()


def test_list_says_what_is_known_of_each_model() -> None:
    known = {model.id: model for model in catalog(KEY).list()}

    haiku = known["claude-haiku-5-5"]
    assert (haiku.context_window, haiku.input_usd_per_mtok, haiku.output_usd_per_mtok) == (
        1_000_000,
        0.1,
        0.5,
    )
    offline = known["offline"]
    assert (offline.context_window, offline.input_usd_per_mtok) == (None, 0)


def test_list_follows_the_settings() -> None:
    in_force = Settings()
    models = ModelCatalog(KEY, scenario_folder=Path("/nowhere"), settings=lambda: in_force)
    assert models.list()[0].context_window == 1_000_000

    about = {"contextWindow": 64_000, "price": {"input": 1.5}}
    in_force = Settings.model_validate({"models": {DEFAULT_MODEL: about}})

    assert models.list()[0].context_window == 64_000
    assert models.list()[0].input_usd_per_mtok == 1.5
