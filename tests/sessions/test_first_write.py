"""A process that ends in its very first write to a log leaves nothing that stands in the way."""

from pathlib import Path

import pytest

from agentls.errors import UnknownSession
from agentls.sessions.folder import FolderStore
from agentls.sessions.loading import load
from agentls.sessions.records import header_line
from tests.support.lives import lived

HEADER = header_line("s1")


@pytest.mark.parametrize("cut", [b"", HEADER[:20], HEADER + b'{"seq":1,"sess'])
async def test_a_log_whose_first_write_was_cut_off_is_none_yet_and_can_be_begun(
    tmp_path: Path, cut: bytes
) -> None:
    store = FolderStore(tmp_path / ".agentls")
    store.prepare()
    (store.sessions / "s1.jsonl").write_bytes(cut)
    with pytest.raises(UnknownSession, match="nothing was kept of session s1"):
        load(store, "s1")
    log = store.create("s1")
    life = lived([("prompt", 1), ("answer", 2)])
    for envelope in life.log:
        log.append(envelope)
    await log.flush()
    await log.aclose()
    assert load(store, "s1").state.history == life.state.history
