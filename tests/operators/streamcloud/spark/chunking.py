"""Streams as chunks: cut anywhere, with empty chunks between, without the product's writer.

A chunk's file could come from a user's program: only the columns and the metadata are specified,
and they are written here independently, by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from operators.streamcloud.algebra import Input, Query
from operators.streamcloud.reference import Row as Tuple
from operators.streamcloud.schema import DOUBLE, INT64, TEXT

KEY = "millrace.chunk"
_TYPES = {INT64: pa.int64(), DOUBLE: pa.float64(), TEXT: pa.string()}


@dataclass(frozen=True)
class Piece:
    """A chunk with stream and sequence number.

    Attributes
    ----------
    node : Input
    stream, number, first : int
    rows : sequence of Tuple
    progress : int or None
        None closes the stream.
    """

    node: Input
    stream: int
    number: int
    first: int
    rows: Sequence[Tuple]
    progress: int | None

    @property
    def name(self) -> str:
        """The file's name, which no reader interprets."""
        return f"{self.node.name}-{self.stream}-{self.number}.parquet"

    @property
    def said(self) -> dict[str, object]:
        """The chunk's metadata."""
        return {
            "input": self.node.name,
            "stream": self.stream,
            "number": self.number,
            "first": self.first,
            "progress": self.progress,
        }

    def table(self) -> pa.Table:
        """Return the chunk as the table to write."""
        columns = {
            name: pa.array([row[place] for row in self.rows], _TYPES[kind])
            for place, (name, kind) in enumerate(self.node.schema.columns)
        }
        return pa.table(columns).replace_schema_metadata({KEY: json.dumps(self.said)})

    def write(self, folder: Path, name: str | None = None) -> Path:
        """Write the chunk, and return the file."""
        path = folder / (name or self.name)
        pq.write_table(self.table(), path)
        return path


def cut(node: Input, number: int, rows: Sequence[Tuple], random: Random, most: int = 5) -> list:
    """Return a stream in pieces of any size, also empty; each promises at most what it can.

    The last piece closes the stream.
    """
    pieces: list[Piece] = []
    at = promised = 0
    while not pieces or pieces[-1].progress is not None:
        taken = rows[at : at + random.choice([0, random.randint(1, most)])]
        first, at = at, at + len(taken)
        progress = None
        if at < len(rows) or random.random() < 0.4:
            least = max([promised, *(row[0] for row in taken)])
            most_there_is = rows[at][0] if at < len(rows) else least + random.randint(0, 3)
            promised = progress = random.choice([least, most_there_is])
        pieces.append(Piece(node, number, len(pieces), first, taken, progress))
    return pieces


def cut_all(
    query: Query,
    streams: Mapping[str, Sequence[Sequence[Tuple]]],
    random: Random,
    most: int = 5,
) -> list[list[Piece]]:
    """Return the pieces of each stream of all inputs."""
    return [
        cut(node, number, rows, random, most)
        for node in query.inputs
        for number, rows in enumerate(streams[node.name])
    ]


def beating(pieces: Sequence[Piece], beats: int) -> list[Piece]:
    """Return the pieces of a stream with `beats` empty chunks before each one.

    The empty chunks repeat the previous promise.
    """
    found: list[Piece] = []
    for piece in pieces:
        said = found[-1].progress if found else 0
        for _ in range(beats):
            found.append(Piece(piece.node, piece.stream, len(found), piece.first, (), said))
        found.append(Piece(piece.node, piece.stream, len(found), piece.first, piece.rows,
                           piece.progress))  # fmt: skip
    return found
