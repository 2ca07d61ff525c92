"""The models that can be chosen, by name."""

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentls.config.secrets import Credentials
from agentls.config.settings import Settings
from agentls.errors import NoCredentials, UnknownModel
from agentls.llm.model import Model
from agentls.llm.model_facts import CLAUDE_PREFIX, OFFLINE, SCRIPTED_PREFIX, facts_of
from agentls.protocol.requests import ModelInfo

if TYPE_CHECKING:
    from agentls.llm.anthropic import AnthropicModel

DEFAULT_MODEL = "claude-sonnet-5-5"

CLAUDE_MODELS = {
    "claude-sonnet-5-5": "Claude Sonnet 5.5",
    "claude-opus-5-5": "Claude Opus 5.5",
    "claude-haiku-5-5": "Claude Haiku 5.5",
    "claude-fable-5-2": "Claude Fable 5.2",
    "claude-fable-5-1": "Claude Fable 5.1",
    "claude-sonnet-5": "Claude Sonnet 5",
    "claude-opus-5": "Claude Opus 5",
}
"""Those worth a place in a list; any other id can be chosen by writing it."""

WAYS_OUT = (
    "Set ANTHROPIC_API_KEY; or set ANTHROPIC_BASE_URL to any server of the Messages API, such as "
    "Ollama, llama.cpp, vLLM, LM Studio or a gateway; or choose the model that needs neither with "
    "`--model offline`."
)


class ModelCatalog:
    """Finds models by name and owns them; one client serves all models of a server.

    `scenario_folder` is where relative paths in `scripted:PATH` begin. A scenario goes on from
    one session to the next as long as the catalog lives. `settings` are those in force when it is
    called; they may know more of a model.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        scenario_folder: Path,
        settings: Callable[[], Settings] = Settings,
    ) -> None:
        self._credentials = credentials
        self._scenario_folder = scenario_folder
        self._settings = settings
        self._scripted: dict[Path, Model] = {}
        self._offline: Model | None = None
        self._server: AnthropicModel | None = None

    def resolve(self, name: str) -> Model:
        """Return the model of that name.

        Raises UnknownModel, NoCredentials, BadScenario, or ConfigurationError for credentials that
        cannot be sent; each says what to do.
        """
        # Each is imported for who has chosen it: an editor waits for the start.
        if name == OFFLINE:
            from agentls.llm.offline import OfflineModel

            self._offline = self._offline or OfflineModel()
            return self._offline
        if name.startswith(SCRIPTED_PREFIX):
            return self._scenario(name.removeprefix(SCRIPTED_PREFIX))
        if not name.startswith(CLAUDE_PREFIX) and not self._credentials.base_url:
            raise UnknownModel(self._not_known(name))
        if not self._credentials.usable:
            raise NoCredentials(f"There are no credentials for the model {name}. {WAYS_OUT}")
        if self._server is None:
            from agentls.llm.anthropic import AnthropicModel

            self._server = AnthropicModel(self._credentials)
        return self._server

    def list(self) -> tuple[ModelInfo, ...]:
        """Return the models worth offering, the default first."""
        usable = self._credentials.usable
        scenarios = ((f"{SCRIPTED_PREFIX}{path}", path.name) for path in self._scripted)
        return (
            *(
                self._info(model, name, "anthropic", usable)
                for model, name in CLAUDE_MODELS.items()
            ),
            *(self._info(model, f"Scenario {name}", "agentls", True) for model, name in scenarios),
            self._info(OFFLINE, "Offline (no language model)", "agentls", True),
        )

    async def prepare(self, name: str) -> None:
        """Do what the first request would wait for; nothing where `name` needs it not.

        Raises as `resolve` does.
        """
        if self.resolve(name) is self._server and self._server is not None:
            await self._server.prepare()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._server is not None:
            await self._server.aclose()

    def _info(self, model: str, name: str, provider: str, available: bool) -> ModelInfo:
        facts = facts_of(model, self._settings())
        return ModelInfo(
            id=model,
            display_name=name,
            provider=provider,
            available=available,
            context_window=facts.window,
            input_usd_per_mtok=facts.prices.input_usd_per_mtok if facts.prices else None,
            output_usd_per_mtok=facts.prices.output_usd_per_mtok if facts.prices else None,
        )

    def _scenario(self, written: str) -> Model:
        from agentls.llm.scripted import ScriptedModel

        path = (self._scenario_folder / Path(written).expanduser()).resolve()
        if path not in self._scripted:
            self._scripted[path] = ScriptedModel.from_file(path)
        return self._scripted[path]

    def _not_known(self, name: str) -> str:
        names = [*CLAUDE_MODELS, OFFLINE, f"{SCRIPTED_PREFIX}PATH"]
        close = difflib.get_close_matches(name.lower(), names, n=2)
        guess = f" Did you mean {' or '.join(close)}?" if close else ""
        return (
            f"There is no model {name!r}.{guess} Known are {', '.join(names)}; with "
            "ANTHROPIC_BASE_URL set, every model of that server."
        )
