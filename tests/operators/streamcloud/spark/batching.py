"""Compositions of batches: every grouping of chunks that a folder of files can lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from random import Random

from tests.operators.streamcloud.spark.chunking import Piece

Batches = list[list[Piece]]
Batching = Callable[[Sequence[Sequence[Piece]], Random], Batches]


def all_at_once(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Put all chunks into one batch."""
    return [list(chain.from_iterable(streams))]


def one_by_one(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Make a batch of each chunk, the streams in turn."""
    return [[piece] for piece in _in_turn(streams)]


def stream_by_stream(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Bring a whole stream before the next one begins, each in a separate batch."""
    return [list(pieces) for pieces in random.sample(list(streams), len(streams))]


def in_turn(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Bring the chunks in due order, a few at once."""
    return _parted(_in_turn(streams), random)


def shuffled(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Bring the chunks in any order: gaps fill later."""
    pieces = list(chain.from_iterable(streams))
    return _parted(random.sample(pieces, len(pieces)), random)


def backwards(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Bring the last chunk of each stream first: all others are held until the end."""
    return _parted(_in_turn(streams)[::-1], random)


def one_silent(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Let a stream be silent until all others have ended."""
    silent = random.randrange(len(streams))
    others = [pieces for number, pieces in enumerate(streams) if number != silent]
    return _parted(_in_turn(others), random) + _parted(list(streams[silent]), random)


def with_doubles(streams: Sequence[Sequence[Piece]], random: Random) -> Batches:
    """Bring some chunks a second time, in the same batch or in a later one."""
    batches = in_turn(streams, random)
    for number, batch in enumerate(list(batches)):
        for piece in random.sample(batch, min(2, len(batch))):
            batches[random.randint(number, len(batches) - 1)].append(piece)
    return batches


BATCHINGS: dict[str, Batching] = {
    each.__name__.replace("_", " "): each
    for each in (
        all_at_once,
        one_by_one,
        stream_by_stream,
        in_turn,
        shuffled,
        backwards,
        one_silent,
        with_doubles,
    )
}


def _in_turn(streams: Sequence[Sequence[Piece]]) -> list[Piece]:
    rounds = zip_longest(*streams)
    return [piece for each in rounds for piece in each if piece is not None]


def _parted(pieces: Sequence[Piece], random: Random) -> Batches:
    batches, at = [], 0
    while at < len(pieces):
        count = random.randint(1, 5)
        batches.append(list(pieces[at : at + count]))
        at += count
    return batches
