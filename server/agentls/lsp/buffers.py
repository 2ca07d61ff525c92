"""The documents that editors hold open, for who must not change a file behind their back."""

import codecs
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from agentls.lsp.rpc import protocol_of

ANSWER_SECONDS = 10.0
"""How long an editor may take to apply an edit."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
"""A line as LSP has it: U+2028 and its like end none."""


class EditorBuffers:
    """The open documents of all connected editors; see the port `OpenBuffers`."""

    def __init__(self, servers: Callable[[], Iterable[LanguageServer]]) -> None:
        self._servers = servers

    def text(self, path: Path) -> bytes | None:
        """Return what an editor shows of the file, as bytes; None where none has it open."""
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
        edit = types.WorkspaceEdit(document_changes=[_whole_edit(document, text)])
        params = types.ApplyWorkspaceEditParams(edit=edit, label="agentls: rewind")
        try:
            answer = await protocol_of(server).ask(
                types.WORKSPACE_APPLY_EDIT, params, within=ANSWER_SECONDS
            )
        except (TimeoutError, ConnectionError, JsonRpcException):
            return False
        return isinstance(answer, types.ApplyWorkspaceEditResult) and answer.applied

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
    if workspace is None or not workspace.apply_edit:
        return False
    return workspace.workspace_edit is not None and bool(workspace.workspace_edit.document_changes)


def _bytes_of(document: TextDocument, path: Path) -> bytes:
    """Return the document as its file would hold it; an editor shows no byte order mark."""
    try:
        on_disk = path.read_bytes()
    except OSError:
        return document.source.encode()
    shown = on_disk.removeprefix(codecs.BOM_UTF8)
    return on_disk if shown == document.source.encode() else document.source.encode()


def _whole_edit(document: TextDocument, text: str) -> types.TextDocumentEdit:
    """Return the edit that makes `text` of the document, leaving lines alone that stay."""
    before, after = _LINE.findall(document.source), _LINE.findall(text)
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
