"""What a session needs for as long as it is open here, whether or not it is at work."""

import asyncio

from agentls.agent.saving import Saving
from agentls.sessions.owner import BEAT_SECONDS
from agentls.sessions.tenure import Tenure


async def keep_up(saving: Saving, tenure: Tenure | None) -> None:
    """Write what waits as soon as it can be, and show that the session's owner lives. Runs on."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_beat(tenure))
        group.create_task(saving.keep_trying())


async def _beat(tenure: Tenure | None) -> None:
    while tenure is not None:
        await asyncio.sleep(BEAT_SECONDS)
        await asyncio.to_thread(tenure.beat)
