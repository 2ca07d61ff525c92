r"""Synced documents whose lines are those of LSP: pygls ends one at U+2028 and its like too.

An edit's range would otherwise land in the wrong line of such a text, and the copy here differ from
the editor's from then on. Source: LSP 3.18, "Text Documents": `\n`, `\r\n` and `\r` end a line.
"""

import re
from collections.abc import Sequence

from pygls.workspace import TextDocument, Workspace

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, each with what ends it."""
    return _LINE.findall(text)


class Document(TextDocument):
    """A document, its lines counted as the editor counts them."""

    @property
    def lines(self) -> Sequence[str]:
        """The document's lines, each with what ends it."""
        return tuple(lines_of(self.source))


class Documents(Workspace):
    """The documents that a client has open."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return Document(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=self._sync_kind,
            position_codec=self._position_codec,
        )
