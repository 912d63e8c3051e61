"""The forms of Spark's carrier on a simulated Spark (`pretending`), from chunks to rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from operators.streamcloud.algebra import Query
from operators.streamcloud.carriers.spark import steps
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.carriers.spark.steps import LevelStep, Shared, SourceStep, Store
from operators.streamcloud.coding import Coding, texts_of
from operators.streamcloud.plan import Plan
from operators.streamcloud.reference import Row as Tuple
from operators.streamcloud.sources import OutputSink
from tests.operators.streamcloud.carrying import all_rows
from tests.operators.streamcloud.spark.batching import Batches
from tests.operators.streamcloud.spark.chunking import Piece
from tests.operators.streamcloud.spark.pretending import (
    Chain,
    Pretended,
    Wired,
    check_promises,
)

Rows = dict[str, list[Tuple]]
Streams = Mapping[str, Sequence[Sequence[Tuple]]]
BOUNDED, STREAM = "bounded", "stream"


def coding_of(query: Query, streams: Streams) -> Coding:
    """Return the coding of all texts in streams and in a query."""
    values = (value for found in streams.values() for s in found for row in s for value in row)
    return Coding([*texts_of(query), *(value for value in values if isinstance(value, str))])


def chain_of(plan: Plan, coding: Coding, store: Store | None = None) -> Chain:
    """Return the steps of a plan; without a store, the steps of the bounded form."""
    shared, levels = Shared.of(plan, coding), Levels(plan)
    numbers = range(1, levels.count + 1)
    return Chain(
        SourceStep(shared),
        [(levels.total(level), LevelStep(shared, level, store)) for level in numbers],
    )


def written(folder: Path, batches: Batches) -> list[list[Path]]:
    """Write the chunks of batches, with their repetitions, and return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        [piece.write(folder, f"{number}-{at}-{piece.name}") for at, piece in enumerate(batch)]
        for number, batch in enumerate(batches)
    ]


def pretended(
    form: str, plan: Plan, coding: Coding, folder: Path, random: Random, **more: object
) -> Pretended:
    """Return a simulated Spark, ready to run a form."""
    store = None if form == BOUNDED else StateFiles(folder / "states")
    return Pretended(chain_of(plan, coding, store), random, [steps], **more)


def ran(form: str, spark: Pretended, files: Sequence[Sequence[Path]]) -> list[Wired]:
    """Run a form over files, by batch, and return the rows for outputs."""
    if form == BOUNDED:
        return spark.bounded([path for batch in files for path in batch])
    return spark.stream(files)


def put_out(plan: Plan, coding: Coding, rows: Sequence[Wired], random: Random) -> Rows:
    """Return the outputs' results for rows in any order; all must be closed."""
    sinks = [OutputSink(plan, sink) for sink in plan.sinks]
    for each in random.sample(list(rows), len(rows)):
        sinks[each.place - len(plan.stages)].take([each.row])
    assert all(sink.closed for sink in sinks)
    assert not any(sink.merger.waiting for sink in sinks)
    return all_rows(plan.query, {sink.output.name: sink.columns(coding) for sink in sinks})


def played(
    form: str,
    plan: Plan,
    streams: Streams,
    batches: Batches,
    folder: Path,
    random: Random,
    check: Callable[[Plan, Sequence[Wired]], None] = check_promises,
) -> Rows:
    """Return the rows of each output of a plan over chunks that arrive in these batches."""
    coding = coding_of(plan.query, streams)
    spark = pretended(form, plan, coding, folder, random)
    rows = ran(form, spark, written(folder / "chunks", batches))
    check(plan, spark.sent)
    return put_out(plan, coding, rows, random)


def pieces_in(batches: Batches) -> list[Piece]:
    """Return all chunks of batches."""
    return [piece for batch in batches for piece in batch]
