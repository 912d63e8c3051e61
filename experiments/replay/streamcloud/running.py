"""Runs a query's plan over files, and writes what comes out: a file an output."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from datasets.formats.rejected import Rejected, write_rejected
from experiments.replay.command import Replayed
from experiments.replay.files import appearing
from experiments.replay.streamcloud.planning import plan_of
from experiments.replay.streamcloud.reading import read_inputs
from experiments.replay.streamcloud.request import Request
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.deployer import deploy
from operators.streamcloud.rows import BLOB
from operators.streamcloud.run import run_plan
from operators.streamcloud.schema import DOUBLE, INT64, TEXT, Schema

_ARROW = {INT64: pa.int64(), DOUBLE: pa.float64(), TEXT: pa.string()}


def replay(request: Request) -> Replayed:
    """Run a request and return how many tuples went in, came out, and were set aside.

    Raises
    ------
    UsageError
        When a file is no good, or an expression fails: operator, tuple and cause.
    RunFailed
        When a thread failed otherwise.
    """
    recorded = read_inputs(request)
    streams, coding = encode_inputs(request.plan.query, recorded.inputs)
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
        cores=deploy(plan, request.places).cores() if request.places else None,
        keep=lambda ran: _write(request, ran.outputs, recorded.rejected),
    )
    rows = sum(len(columns["ts"]) for columns in ran.outputs.values())
    return Replayed(recorded.tuples, rows, len(recorded.rejected))


def _write(
    request: Request, outputs: dict[str, dict[str, np.ndarray]], rejected: list[Rejected]
) -> None:
    """Write all outputs, or none."""
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
            pq.write_table(table, path, compression="snappy")


def _table(schema: Schema, columns: dict[str, np.ndarray]) -> pa.Table:
    fields = [pa.field(name, _ARROW[kind], nullable=False) for name, kind in schema.columns]
    arrays = [pa.array(columns[field.name], field.type) for field in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
