"""A query over arrays, on instances: the way in for libraries.

::

    from operators.streamcloud.run import run_streamcloud

    found = run_streamcloud(
        "busy.yaml",
        {"calls": {"ts": times, "caller": callers, "duration": seconds, "district": districts}},
        strategy="subquery-cluster",
        instances=2,
    )
    found["busy"]["mean"]

With transparent mergers nothing in what comes out depends on strategy, instances, backend, the size
of a blob, or the threads: it is what one instance of the query puts out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from operators.contract import UsageError, whole
from operators.running import pinning
from operators.streamcloud import states
from operators.streamcloud.algebra import Query
from operators.streamcloud.carriers import processes, serial, threads
from operators.streamcloud.coding import Coding, Columns, encode_inputs
from operators.streamcloud.compiler import Instances, compile_query
from operators.streamcloud.costs import on_processors
from operators.streamcloud.deployer import Place, deploy, read_descriptor
from operators.streamcloud.instance import Work
from operators.streamcloud.parts import Parts
from operators.streamcloud.plan import SUBQUERY_CLUSTER, TRANSPARENT, Plan
from operators.streamcloud.rows import BLOB, MOST_BLOB
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.yaml_form import read_query

THREADS, PROCESSES = "threads", "processes"
BACKENDS: dict[str, Callable[..., None]] = {
    THREADS: threads.run,
    PROCESSES: processes.run,
    "serial": serial.run,
}

# One stream, several, or the file of one.
Given = Columns | str | Path | Sequence[Columns | str | Path]
Outputs = dict[str, dict[str, np.ndarray]]


@dataclass(frozen=True)
class Ran:
    """What a run of a plan put out, and what it took.

    Attributes
    ----------
    outputs : dict of str to dict of str to array
        By output and column.
    work : dict of (str, int) to Work
        By stage and instance.
    tuples : int
        Of all streams, sent so far; less than there are where it was stopped.
    closed : bool
        Whether it has come to its end.
    """

    outputs: Outputs
    work: dict[tuple[str, int], Work]
    tuples: int
    closed: bool


def run_streamcloud(
    query: Query | str | Path | Mapping[str, Any],
    inputs: Mapping[str, Given],
    *,
    strategy: str = SUBQUERY_CLUSTER,
    instances: Instances | None = None,
    processors: int | None = None,
    descriptor: str | Path | None = None,
    merger: str = TRANSPARENT,
    backend: str = THREADS,
    nodes: int | None = None,
    blob: int = BLOB,
    stop_after: int | None = None,
    state: str | Path | None = None,
) -> Outputs:
    """Run a query over arrays and return what it puts out.

    Parameters
    ----------
    query : Query, path or mapping
        As Python objects, a YAML file, or what such a file holds.
    inputs : mapping of str to Columns, path, or a sequence of them
        By input its stream, or its streams: arrays by the names of the columns outside, or a
        Parquet file. A stream is in the order of time.
    strategy : str
        query-cluster, operator-cluster or subquery-cluster.
    instances : int or mapping of str to int
        Of each stage; by its name, where they differ. 1 by default.
    processors : int, optional
        In place of `instances`: so many are shared out over the stages by what a tuple costs in
        each, which a short run over the first tuples measures (`operators.streamcloud.costs`).
    descriptor : path, optional
        A file with processors of this machine, "cpu 0" a line, to which the threads of instances
        are bound. Without `instances` and `processors` so many are shared out as it names.
    merger : str
        transparent, or best-effort, which takes what comes and may lose what comes late.
    backend : str
        threads, processes, or serial: all on the calling thread.
    nodes : int, optional
        Of processes, how many; at most as many as the plan has processors. 2 by default.
    blob : int
        Tuples that a stream sends at once.
    stop_after : int, optional
        Of all streams together, counted from their beginning: the run stops behind the blob that
        has so many tuples, and leaves its state.
    state : path, optional
        The folder for that; a run that finds one there goes on from it. What is returned is what
        came out in this run, so that the runs' outputs, one behind the other, are the whole.

    Returns
    -------
    dict of str to dict of str to array
        By output its columns, ts first: int64, float64, or texts as objects. Rows are in total
        order under the transparent merger.

    Raises
    ------
    UsageError
        When an argument is no good, an input is not what the query says, or an expression fails:
        operator, tuple and cause.
    crew.RunFailed
        When a thread or a process failed otherwise, or nothing moved.

    Examples
    --------
    >>> from operators.streamcloud.algebra import Input, Map
    >>> calls = Input("calls", {"duration": "int64"})
    >>> query = Query("short", Map("minutes", calls, {"minutes": "duration // 60"}))
    >>> stream = {"ts": [0, 5], "duration": [59, 130]}
    >>> found = run_streamcloud(query, {"calls": stream}, instances=2, backend="serial")
    >>> found["minutes"]["minutes"].tolist()
    [0, 2]
    """
    known = query if isinstance(query, Query) else read_query(query)
    if backend not in BACKENDS:
        raise UsageError(
            f'{known.name}: no backend "{backend}" ({listed(BACKENDS)})'
            f"{did_you_mean(str(backend), BACKENDS)}"
        )
    if nodes is not None and backend != PROCESSES:
        raise UsageError(f"{known.name}: nodes are processes: with them give backend={PROCESSES}")
    blob = _between(f"{known.name}: blob", blob, 1, MOST_BLOB)
    if stop_after is not None:
        stop_after = _between(f"{known.name}: stop_after", stop_after, 0, np.iinfo(np.int64).max)
        if state is None:
            raise UsageError(f"{known.name}: to stop, give the folder for its state, too: state=")
    places = () if descriptor is None else _places(known.name, descriptor, backend)
    if processors is None and instances is None and places:
        processors = len(places)
    if processors is not None:
        _check_shared_out(known.name, instances, state)
    given = {name: _streams(name, each) for name, each in inputs.items()}
    streams, coding = encode_inputs(known, given)
    counts = {name: len(found) for name, found in streams.items()}
    plan = compile_query(known, strategy, 1 if instances is None else instances, merger, counts)
    if processors is not None:
        plan = on_processors(plan, processors, streams, coding, blob)[0]
    cores = deploy(plan, places).cores() if places else None
    folder = None if state is None else Path(state)
    return run_plan(plan, streams, coding, backend, blob, stop_after, folder, nodes, cores).outputs


def _places(name: str, descriptor: str | Path, backend: str) -> tuple[Place, ...]:
    if backend != THREADS:
        raise UsageError(
            f"{name}: a descriptor binds threads to processors: take backend={THREADS}, or take it"
            " away"
        )
    return read_descriptor(descriptor, pinning.cores())


def _check_shared_out(name: str, instances: Instances | None, state: str | Path | None) -> None:
    """Refuse what does not go with instances that a measurement says."""
    if instances is not None:
        raise UsageError(f"{name}: give instances or processors, not both")
    if state is not None:
        raise UsageError(
            f"{name}: a state belongs to one plan, and measured costs may give another the next"
            " time: give instances"
        )


def run_plan(
    plan: Plan,
    streams: Mapping[str, Sequence[np.ndarray]],
    coding: Coding,
    backend: str = THREADS,
    blob: int = BLOB,
    stop_after: int | None = None,
    state: Path | None = None,
    nodes: int | None = None,
    cores: Mapping[tuple[str, int], int] | None = None,
    keep: Callable[[Ran], None] | None = None,
) -> Ran:
    """Run a plan over streams of words, as `encode_inputs` makes them.

    Parameters are those of ``run_streamcloud``, checked, and the ``cores`` of `Parts`; so are the
    errors. ``keep`` is given what came out before the state moves on: where it fails, a run from
    the state of before puts the same out again.
    """
    parts = Parts(plan, streams, coding, blob, stop_after, cores)
    identity = None if state is None else states.identity_of(plan, streams)
    if state is not None and states.is_there(state):
        states.read(state, identity, parts)
    BACKENDS[backend](parts, **({} if nodes is None else {"nodes": nodes}))
    ran = Ran(parts.outputs(), parts.work(), parts.source.tuples, parts.closed)
    if keep is not None:
        keep(ran)
    if stop_after is not None and state is not None:
        states.write(state, identity, parts)
    return ran


def _between(where: str, given: Any, least: int, most: int) -> int:
    found = whole(where, given)
    if not least <= found <= most:
        raise UsageError(f"{where} must be between {least} and {most}, received {found}")
    return found


def _streams(name: str, given: Given) -> list[Columns]:
    """Return the streams of an input, one or several."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    return [_columns(name, each) for each in (given if several else [given])]


def _columns(name: str, given: Columns | str | Path) -> Columns:
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, str | Path):
        raise UsageError(
            f"{name}: give arrays by column, or a Parquet file; received {type(given).__name__}"
        )
    return _read_parquet(name, Path(given))


def _read_parquet(name: str, path: Path) -> Columns:
    # Who brings arrays need not wait for it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix != ".parquet":
        raise UsageError(
            f"{name}: {path} is no Parquet file; millrace replay streamcloud reads others"
        )
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(f"{name}: {path} cannot be read: {first}") from error
    for column in table.column_names:
        if table.column(column).null_count:
            raise UsageError(f"{name}: {path}, column {column}: a value is missing")
    return {column: table.column(column).to_numpy() for column in table.column_names}
