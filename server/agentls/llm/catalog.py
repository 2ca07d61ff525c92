"""The models that can be chosen, by name."""

import difflib
from pathlib import Path

from agentls.config.secrets import Credentials
from agentls.errors import NoCredentials, UnknownModel
from agentls.llm.anthropic import AnthropicModel
from agentls.llm.model import Model
from agentls.llm.offline import OfflineModel
from agentls.protocol.requests import ModelInfo

DEFAULT_MODEL = "claude-sonnet-5-5"
OFFLINE = "offline"
SCRIPTED_PREFIX = "scripted:"
CLAUDE_PREFIX = "claude-"

CLAUDE_MODELS = {
    "claude-sonnet-5-5": "Claude Sonnet 5.5",
    "claude-opus-5-5": "Claude Opus 5.5",
    "claude-haiku-5-5": "Claude Haiku 5.5",
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
    one session to the next as long as the catalog lives.
    """

    def __init__(self, credentials: Credentials, *, scenario_folder: Path) -> None:
        self._credentials = credentials
        self._scenario_folder = scenario_folder
        self._offline = OfflineModel()
        self._scripted: dict[Path, Model] = {}
        self._server: AnthropicModel | None = None

    def resolve(self, name: str) -> Model:
        """Return the model of that name.

        Raises UnknownModel, NoCredentials, BadScenario, or ConfigurationError for credentials that
        cannot be sent; each says what to do.
        """
        if name == OFFLINE:
            return self._offline
        if name.startswith(SCRIPTED_PREFIX):
            return self._scenario(name.removeprefix(SCRIPTED_PREFIX))
        if not name.startswith(CLAUDE_PREFIX) and not self._credentials.base_url:
            raise UnknownModel(self._not_known(name))
        if not self._credentials.usable:
            raise NoCredentials(f"There are no credentials for the model {name}. {WAYS_OUT}")
        if self._server is None:
            self._server = AnthropicModel(self._credentials)
        return self._server

    def list(self) -> tuple[ModelInfo, ...]:
        """Return the models worth offering, the default first."""
        return (
            *(
                ModelInfo(
                    id=model_id,
                    display_name=display_name,
                    provider="anthropic",
                    available=self._credentials.usable,
                )
                for model_id, display_name in CLAUDE_MODELS.items()
            ),
            *(
                ModelInfo(
                    id=f"{SCRIPTED_PREFIX}{path}",
                    display_name=f"Scenario {path.name}",
                    provider="agentls",
                    available=True,
                )
                for path in self._scripted
            ),
            ModelInfo(
                id=OFFLINE,
                display_name="Offline (no language model)",
                provider="agentls",
                available=True,
            ),
        )

    async def prepare(self, name: str) -> None:
        """Do what the first request would wait for; nothing where `name` needs it not.

        Raises as `resolve` does.
        """
        model = self.resolve(name)
        if isinstance(model, AnthropicModel):
            await model.prepare()

    async def aclose(self) -> None:
        """Close every connection."""
        if self._server is not None:
            await self._server.aclose()

    def _scenario(self, written: str) -> Model:
        # Imported late: few processes play one, and an editor waits for the start.
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
