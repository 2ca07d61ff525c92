"""One connected client: who it is, what it wants to be sent, how it looks at the agent."""

from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types
from pydantic import ValidationError

from agentls.config.settings import Settings
from agentls.protocol.requests import ClientOptions, ViewSetParams, ViewState

LASTING = ("expanded_view", "verbose", "brief")
"""The fields of a view that outlive the connection, in the user's settings."""

_SILENT = ClientOptions(events=False, deltas=False, state=False, can_approve=False)
"""What a plain LSP client is sent of ours: nothing."""


@dataclass(slots=True)
class Client:
    """The other end of a connection."""

    id: str
    name: str
    options: ClientOptions
    view: ViewState

    def change_view(self, params: ViewSetParams) -> dict[str, Any]:
        """Take over what `params` sets; return what of it is lasting, under the settings' names."""
        chosen = {name: getattr(params, name) for name in params.model_fields_set}
        changed = {
            name: value
            for name, value in chosen.items()
            if name == "selected_call" or value is not None
        }
        self.view = self.view.model_copy(update=changed)
        alias = {name: field.alias or name for name, field in ViewState.model_fields.items()}
        return {f"view.{alias[name]}": changed[name] for name in LASTING if name in changed}


def options_of(params: types.InitializeParams) -> ClientOptions:
    """Return what a client says of itself; one that says nothing is a plain LSP client.

    Raises `ValueError` for options that are there but not understood.
    """
    given = params.initialization_options
    ours = cast(dict[str, Any], given).get("agentls") if isinstance(given, dict) else None
    if ours is None:
        return _SILENT
    try:
        return ClientOptions.model_validate(ours)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ValueError(
            f"initializationOptions.agentls{'.' if where else ''}{where}: {first['msg']}"
        ) from error


def view_from(settings: Settings) -> ViewState:
    """Return the view a client starts with: what is lasting comes from the user's settings."""
    return ViewState.model_validate(settings.view.model_dump(exclude_none=True))


def name_of(params: types.InitializeParams, options: ClientOptions) -> str:
    """Return how the user knows this client."""
    return options.client_name or (params.client_info and params.client_info.name) or "LSP client"
