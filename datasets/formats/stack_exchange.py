"""Stack Exchange's `Comments.xml`: one `row` element per comment, read as a stream.

The song of a comment is its post. Posts, users and comments are numbered separately on each site,
so all three are prefixed with the site, the name of the file's folder: ``beer:40``. A deleted user
has a display name and no number: such a comment is kept with a null user.

The parser is expat without a tree, since it knows the current line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.formats.layout import Layout
from datasets.formats.rows import Rows
from datasets.formats.sources import Source
from operators.contract import UsageError

CHUNK_BYTES = 1 << 22
ATTRIBUTES = {"time": "CreationDate", "key": "PostId", "text": "Text", "user": "UserId", "id": "Id"}


def read_stack_exchange(layout: Layout, source: Source, handle: BinaryIO) -> Iterator[Rows]:
    """Read the comments of one site."""
    lines: list[int] = []
    found: list[dict[str, str]] = []
    root: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if not root:
            root.append(name)
        if name == "row":
            lines.append(parser.CurrentLineNumber)
            found.append(attributes)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    more = True
    while more:
        chunk = handle.read(CHUNK_BYTES)
        more = bool(chunk)
        try:
            parser.Parse(chunk, not more)
        except expat.ExpatError as error:
            raise UsageError(
                f"{source.label} is not well-formed XML at line {error.lineno}: "
                f"{expat.ErrorString(error.code)}; fetch the file again"
            ) from None
        if root and root[0] != "comments":
            raise UsageError(
                f"{source.label} holds <{root[0]}>, not <comments>: name a Comments.xml"
            )
        if found:
            yield _rows(source.folder, lines, found)
            lines, found = [], []


def _rows(site: str, lines: list[int], found: list[dict[str, str]]) -> Rows:
    columns = {
        role: pa.array([attributes.get(name) for attributes in found], pa.string())
        for role, name in ATTRIBUTES.items()
    }
    for role in ("key", "user", "id"):
        bare = pc.utf8_trim_whitespace(columns[role])
        named = pc.binary_join_element_wise(site, bare, ":")
        columns[role] = pc.if_else(pc.equal(bare, ""), None, named)

    def content(index: int) -> str:
        return ElementTree.tostring(ElementTree.Element("row", found[index]), "unicode")

    return Rows(np.array(lines, dtype=np.int64), columns, content, [])
