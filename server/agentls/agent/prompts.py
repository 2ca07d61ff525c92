"""What a prompt brings along: the files, lines, symbols and folders that it mentions."""

import logging
import secrets
from dataclasses import dataclass

from agentls.agent import approvals
from agentls.agent.chat import Chat
from agentls.agent.surroundings import Surroundings
from agentls.protocol.content import Content, TextBlock

MENTIONED_TOKENS = 50_000
"""How much may come along with one prompt, and not more than a fifth of the model's window."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PromptTaken:
    """A prompt is in the queue."""

    turn_id: str
    queued: bool
    """Another turn runs first."""


def new_turn_id() -> str:
    """Return an id that no turn has."""
    return f"turn_{secrets.token_hex(8)}"


class Prompts:
    """Reads prompts of one chat as they enter the conversation."""

    def __init__(self, chat: Chat, surroundings: Surroundings) -> None:
        self._chat = chat
        self._surroundings = surroundings

    def may_mention(self, content: tuple[Content, ...]) -> bool:
        """Whether there is anything to be looked for."""
        return any("@" in block.text for block in content if isinstance(block, TextBlock))

    async def expanded(self, content: tuple[Content, ...]) -> tuple[Content, ...]:
        """Return `content` with what it mentions behind it, as that is now."""
        if not self.may_mention(content):
            return content
        # Imported for the first prompt that may mention something: an editor waits for the start.
        from agentls.context.mentions import expand, find_mentions

        text = "\n".join(block.text for block in content if isinstance(block, TextBlock))
        try:
            mentioned = await expand(
                find_mentions(text),
                cwd=self._surroundings.cwd,
                roots=self._surroundings.roots,
                files=self._surroundings.host.files,
                unreadable=approvals.must_not_see(self._chat.state, self._surroundings),
                budget_tokens=self._budget(),
            )
        except Exception:
            # A fault here would keep this prompt, and all behind it, from ever being answered.
            logger.exception("what a prompt mentions could not be brought along")
            return content
        return (*content, *mentioned)

    def _budget(self) -> int:
        window = self._chat.state.usage.window
        return min(MENTIONED_TOKENS, window // 5) if window else MENTIONED_TOKENS
