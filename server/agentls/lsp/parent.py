"""Notices when the process that started the server is gone."""

import asyncio
import contextlib
import logging
import os

_POLL_SECONDS = 2.0

log = logging.getLogger(__name__)


async def parent_gone(process_id: int) -> None:
    """Return when the process is gone.

    One that cannot be seen from the start is never gone: the client has just spoken, so its number
    is from another world, such as outside the container. The end of its stream will tell then.
    """
    if not _alive(process_id):
        log.info("The client's process %d cannot be seen from here.", process_id)
        await asyncio.get_running_loop().create_future()
    try:
        descriptor = os.pidfd_open(process_id)
    except (AttributeError, OSError):
        await _poll(process_id)
    else:
        await _wait_for(descriptor)


async def _wait_for(descriptor: int) -> None:
    """Wait on a descriptor that becomes readable when its process ends; close it."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _poll(process_id: int) -> None:
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        if not _alive(process_id):
            return


def _alive(process_id: int) -> bool:
    if process_id <= 0:
        return False
    with contextlib.suppress(PermissionError):
        try:
            os.kill(process_id, 0)
        except (ProcessLookupError, OverflowError):
            return False
    return True
