"""The documents that editors hold open, for who must not change a file behind their back."""

import asyncio
import codecs
from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from agentls.lsp.documents import lines_of
from agentls.lsp.rpc import protocol_of

ANSWER_SECONDS = 10.0
"""How long an editor may take to apply an edit."""
TELL_SECONDS = 2.0
"""How long, when it has applied one, it may take to tell of the change."""
LOOK_SECONDS = 0.01


class EditorBuffers:
    """The open documents of all connected editors; see the port `OpenBuffers`."""

    def __init__(self, servers: Callable[[], Iterable[LanguageServer]]) -> None:
        self._servers = servers

    def text(self, path: Path) -> bytes | None:
        """Return what an editor shows of the file, as it would be saved; None: it is not open."""
        found = self._find(path)
        return _bytes_of(found[1], path) if found else None

    async def replace(self, path: Path, data: bytes) -> bool:
        """Have the editor replace the text, so that it can be undone there.

        False where no editor has it open, or the one that has refuses.
        """
        found = self._find(path)
        if found is None:
            return False
        server, document = found
        try:
            text = data.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError:
            return False
        edit = _edit(server, document, text)
        params = types.ApplyWorkspaceEditParams(edit=edit, label="agentls: rewind")
        try:
            answer = await protocol_of(server).ask(
                types.WORKSPACE_APPLY_EDIT, params, within=ANSWER_SECONDS
            )
        except (TimeoutError, ConnectionError, JsonRpcException):
            return False
        if not isinstance(answer, types.ApplyWorkspaceEditResult) or not answer.applied:
            return False
        await _told(document, text)
        return True

    def _find(self, path: Path) -> tuple[LanguageServer, TextDocument] | None:
        for server in self._servers():
            if not _can_edit(server):
                continue
            for document in tuple(server.workspace.text_documents.values()):
                name = to_fs_path(document.uri)
                if name is not None and Path(name) == path:
                    return server, document
        return None


def _can_edit(server: LanguageServer) -> bool:
    workspace = server.client_capabilities.workspace
    return workspace is not None and bool(workspace.apply_edit)


def _edit(server: LanguageServer, document: TextDocument, text: str) -> types.WorkspaceEdit:
    """Return the edit, bound to the document's version where the editor can do that."""
    workspace = server.client_capabilities.workspace
    changed = _whole_edit(document, text)
    if workspace and workspace.workspace_edit and workspace.workspace_edit.document_changes:
        return types.WorkspaceEdit(document_changes=[changed])
    edits = [edit for edit in changed.edits if isinstance(edit, types.TextEdit)]
    return types.WorkspaceEdit(changes={document.uri: edits})


async def _told(document: TextDocument, text: str) -> None:
    """Wait until the editor has told of the change it made; some answer first."""
    waited = 0.0
    while document.source != text and waited < TELL_SECONDS:
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS


def _bytes_of(document: TextDocument, path: Path) -> bytes:
    """Return the document as its file would hold it; an editor shows no byte order mark."""
    text = document.source.encode()
    try:
        with path.open("rb") as file:
            mark = file.read(len(codecs.BOM_UTF8))
    except OSError:
        return text
    return mark + text if mark == codecs.BOM_UTF8 else text


def _whole_edit(document: TextDocument, text: str) -> types.TextDocumentEdit:
    """Return the edit that makes `text` of the document, leaving lines alone that stay."""
    before, after = lines_of(document.source), lines_of(text)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    end = len(before) - tail
    stop = types.Position(end, 0)
    if end == len(before) and before and not before[-1].endswith(("\n", "\r")):
        stop = document.position_codec.position_to_client_units(
            before, types.Position(end - 1, len(before[-1]))
        )
    return types.TextDocumentEdit(
        text_document=types.OptionalVersionedTextDocumentIdentifier(
            uri=document.uri, version=document.version
        ),
        edits=[
            types.TextEdit(
                range=types.Range(start=types.Position(head, 0), end=stop),
                new_text="".join(after[head : len(after) - tail]),
            )
        ],
    )
