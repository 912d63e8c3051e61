"""Runs a query's plan over files, and writes one file per output."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.rejected import Rejected, write_rejected
from experiments.replay import stages
from experiments.replay.command import Replayed
from experiments.replay.streamcloud.planning import plan_of
from experiments.replay.streamcloud.reading import read_inputs
from experiments.replay.streamcloud.request import Request
from operators.contract import UsageError
from operators.running.outputs import appearing
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.deployer import deploy
from operators.streamcloud.rows import BLOB
from operators.streamcloud.run import run_plan
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, Schema

_ARROW = {INT64: pa.int64(), DOUBLE: pa.float64(), TEXT: pa.string()}


def replay(request: Request) -> Replayed:
    """Run a request and return the numbers of tuples read, rows written and rows set aside.

    Raises
    ------
    UsageError
        When a file is unusable, or an expression fails: operator, tuple and cause.
    RunFailed
        When a thread failed otherwise.
    """
    if request.chunks is not None:
        return _replay_chunks(request)
    clock = stages.current()
    clock.enter(stages.READ)
    recorded = read_inputs(request)
    clock.enter(stages.ORDER)
    streams, coding = encode_inputs(request.plan.query, recorded.inputs)
    clock.enter(stages.RUN)
    plan = plan_of(request, streams, coding)
    ran = run_plan(
        plan,
        streams,
        coding,
        request.backend,
        request.blob or BLOB,
        request.stop_after,
        request.state,
        request.nodes,
        spark=request.spark,
        cores=deploy(plan, request.places).cores() if request.places else None,
        keep=lambda ran: _write(request, ran.outputs, recorded.rejected),
    )
    return Replayed(recorded.tuples, _rows(ran.outputs), len(recorded.rejected))


def _replay_chunks(request: Request) -> Replayed:
    """Run a request over a folder of chunks."""
    # Loads Spark.
    from operators.streamcloud.carriers.spark.chunks import read_coding
    from operators.streamcloud.carriers.spark.running import run_chunks

    stages.current().enter(stages.RUN)
    coding = read_coding(request.chunks, request.plan.query)
    ran = run_chunks(request.plan, request.chunks, coding, request.spark)
    if not ran.closed:
        stays = "with this --work" if request.spark.work else "and give a --work that stays"
        raise UsageError(
            f"{request.chunks}: {ran.tuples} tuples so far, and not all streams are closed: nothing"
            f" is written; --follow the chunks, or run again {stays} when more of them are there"
        )
    _write(request, ran.outputs, [])
    return Replayed(ran.tuples, _rows(ran.outputs), 0)


def _rows(outputs: dict[str, dict[str, np.ndarray]]) -> int:
    return sum(len(columns["ts"]) for columns in outputs.values())


def _write(
    request: Request, outputs: dict[str, dict[str, np.ndarray]], rejected: list[Rejected]
) -> None:
    """Write all outputs, or none."""
    with stages.writing():
        _write_all(request, outputs, rejected)


def _write_all(
    request: Request, outputs: dict[str, dict[str, np.ndarray]], rejected: list[Rejected]
) -> None:
    schemas = {output.name: output.schema for output in request.plan.query.outputs}
    with ExitStack() as files:
        partial = {
            name: files.enter_context(appearing(path)) for name, path in request.outputs.items()
        }
        if request.rejected is not None:
            aside = files.enter_context(appearing(request.rejected))
            write_rejected(aside, rejected, list(map(str, request.inputs)), line_end="\r\n")
        for name, path in partial.items():
            table = _table(schemas[name], outputs[name])
            with open(path, "wb") as file:
                pq.write_table(table, file, compression="snappy")


def _table(schema: Schema, columns: dict[str, np.ndarray]) -> pa.Table:
    fields = [pa.field(name, _ARROW[kind], nullable=False) for name, kind in schema.columns]
    arrays = [pa.array(columns[field.name], field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
