"""Where credentials come from: for now, the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Credentials:
    """What opens a server of the Messages API. Never printed: its fields stay out of `repr`."""

    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    base_url: str | None = None

    @property
    def usable(self) -> bool:
        """Whether a request can be tried: a local server at a base URL needs no key."""
        return bool(self.api_key or self.auth_token or self.base_url)


def credentials_from_environment(environment: Mapping[str, str]) -> Credentials:
    """Read `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN` and `ANTHROPIC_BASE_URL`; empty is unset."""
    return Credentials(
        api_key=environment.get("ANTHROPIC_API_KEY") or None,
        auth_token=environment.get("ANTHROPIC_AUTH_TOKEN") or None,
        base_url=environment.get("ANTHROPIC_BASE_URL") or None,
    )
