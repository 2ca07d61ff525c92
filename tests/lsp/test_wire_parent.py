import asyncio
import os

import pytest

from agentls.lsp.parent import parent_gone


async def sleeper() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sleep", "600")


async def test_returns_when_the_process_ends() -> None:
    process = await sleeper()
    watching = asyncio.create_task(parent_gone(process.pid))
    await asyncio.sleep(0.05)
    assert not watching.done()
    process.kill()
    async with asyncio.timeout(10):
        await watching
    await process.wait()


async def test_returns_where_the_system_has_no_process_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int) -> int:
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    monkeypatch.setattr("agentls.lsp.parent._POLL_SECONDS", 0.01)
    process = await sleeper()
    watching = asyncio.create_task(parent_gone(process.pid))
    await asyncio.sleep(0.05)
    assert not watching.done()
    process.kill()
    await process.wait()
    async with asyncio.timeout(10):
        await watching


@pytest.mark.parametrize("process_id", [0, -1, 2**22 + 5, 2**70])
async def test_a_process_that_cannot_be_seen_is_never_gone(process_id: int) -> None:
    watching = asyncio.create_task(parent_gone(process_id))
    await asyncio.sleep(0.05)
    assert not watching.done()
    watching.cancel()


async def test_a_watch_that_is_cancelled_leaves_no_descriptor_open() -> None:
    process = await sleeper()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    watching = asyncio.create_task(parent_gone(process.pid))
    await asyncio.sleep(0.05)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    process.kill()
    await process.wait()
