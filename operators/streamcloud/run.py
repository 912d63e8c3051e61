"""Run a query over arrays, on instances: the entry point of the library.

::

    from operators.streamcloud.run import run_streamcloud

    found = run_streamcloud(
        "busy.yaml",
        {"calls": {"ts": times, "caller": callers, "duration": seconds, "district": districts}},
        strategy="subquery-cluster",
        instances=2,
    )
    found["busy"]["mean"]

With transparent mergers the output does not depend on strategy, instances, backend, blob size or
threads: it is the output of one instance of the query.
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
from operators.streamcloud.carriers.spark.forms import BOUNDED, MASTER, OnSpark
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

THREADS, PROCESSES, SPARK = "threads", "processes", "spark"
# Backends for which this process makes the parts of a plan; Spark makes them itself.
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
    """The outcome of a run.

    Attributes
    ----------
    outputs : dict of str to dict of str to array
        By output and column.
    work : dict of (str, int) to Work
        By stage and instance; empty on Spark, where workers keep it to themselves.
    tuples : int
        Sent so far, of all streams; fewer than there are if the run was stopped.
    closed : bool
        Whether the streams were run to the end.
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
    master: str | None = None,
    form: str | None = None,
    trigger: int | None = None,
    work: str | Path | None = None,
    archive: str | Path | None = None,
) -> Outputs:
    """Run a query over arrays and return the outputs.

    Parameters
    ----------
    query : Query, path or mapping
        As Python objects, a YAML file, or the content of such a file.
    inputs : mapping of str to Columns, path, or a sequence of them
        By input, one stream or several: arrays by the outside names of the columns, or a
        Parquet file. A stream is in the order of time.
    strategy : str
        query-cluster, operator-cluster or subquery-cluster.
    instances : int or mapping of str to int
        Of each stage; a mapping by stage name if they differ. 1 by default.
    processors : int, optional
        Alternative to `instances`: so many are shared out over the stages by the cost of a tuple in
        each, which a short run over the first tuples measures (`operators.streamcloud.costs`).
    descriptor : path, optional
        A file with processors of this machine, "cpu 0" a line, to which the threads of instances
        are bound. Without `instances` and `processors`, as many are shared out as the file names.
    merger : str
        transparent, or best-effort, which gives out tuples on arrival and may lose late ones.
    backend : str
        threads, processes, spark, or serial: all on the calling thread.
    nodes : int, optional
        The number of processes; at most as many as the plan has processors. 2 by default.
    blob : int
        Tuples that a stream sends at once.
    stop_after : int, optional
        Tuples of all streams, counted from the beginning: the run stops behind the blob that
        reaches this number, and writes the state.
    state : path, optional
        The folder of the state; a run that finds one there continues from it, also with other
        numbers of instances. Each run returns the rows of that run alone; concatenated in order,
        the runs' outputs are the whole output.
    master : str, optional
        Of Spark: local[N], spark://host:port and others (`running.spark_session`); by default all
        cores of this machine.
    form : str, optional
        Of Spark: bounded, one batch job, the default; stream, in micro-batches; or state-store, a
        stream whose state Spark keeps.
    trigger : int, optional
        Of a stream, the approximate number of tuples of a batch.
    work : path, optional
        Of Spark, a folder that driver and executors see. An interrupted stream continues from the
        state there. By default a temporary folder of this machine.
    archive : path, optional
        Of Spark, code and kernels for executors that lack them (`running.pack`).

    Returns
    -------
    dict of str to dict of str to array
        By output the columns, ts first: int64, float64, or texts as objects. Rows are in total
        order under the transparent merger.

    Raises
    ------
    UsageError
        When an argument is invalid, an input does not match the query, or an expression fails:
        operator, tuple and cause.
    run_threads.RunFailed
        When a thread or a process failed otherwise, or the run made no progress.

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
    if backend not in (*BACKENDS, SPARK):
        raise UsageError(
            f'{known.name}: no backend "{backend}" ({listed([*BACKENDS, SPARK])})'
            f"{did_you_mean(str(backend), [*BACKENDS, SPARK])}"
        )
    if nodes is not None and backend != PROCESSES:
        raise UsageError(f"{known.name}: nodes are processes: with them give backend={PROCESSES}")
    spark = _on_spark(known.name, backend, master, form, trigger, work, archive)
    if spark is not None and (state is not None or stop_after is not None):
        raise UsageError(f"{known.name}: Spark keeps states itself: in place of a state give work=")
    blob = _between(f"{known.name}: blob", blob, 1, MOST_BLOB)
    if stop_after is not None:
        stop_after = _between(f"{known.name}: stop_after", stop_after, 0, np.iinfo(np.int64).max)
        if state is None:
            raise UsageError(f"{known.name}: to stop, give the folder for its state, too: state=")
    places = () if descriptor is None else _places(known.name, descriptor, backend)
    if processors is None and instances is None and places:
        processors = len(places)
    if processors is not None and instances is not None:
        raise UsageError(f"{known.name}: give instances or processors, not both")
    if not isinstance(inputs, Mapping):
        raise UsageError(
            f"{known.name}: inputs are streams by name, received {type(inputs).__name__}"
        )
    given = {name: _streams(name, each) for name, each in inputs.items()}
    streams, coding = encode_inputs(known, given)
    counts = {name: len(found) for name, found in streams.items()}
    plan = compile_query(known, strategy, 1 if instances is None else instances, merger, counts)
    if processors is not None:
        plan = on_processors(plan, processors, streams, coding, blob)[0]
    cores = deploy(plan, places).cores() if places else None
    folder = None if state is None else Path(state)
    ran = run_plan(
        plan, streams, coding, backend, blob, stop_after, folder, nodes, cores, spark=spark
    )
    return ran.outputs


def _on_spark(
    name: str,
    backend: str,
    master: str | None,
    form: str | None,
    trigger: int | None,
    work: str | Path | None,
    archive: str | Path | None,
) -> OnSpark | None:
    """Return the options for Spark; None on other backends."""
    if backend != SPARK:
        if (master, form, trigger, work, archive) != (None,) * 5:
            raise UsageError(
                f"{name}: master, form, trigger, work and archive are those of Spark: with them"
                f" give backend={SPARK}"
            )
        return None
    if trigger is not None:
        trigger = _between(f"{name}: trigger", trigger, 1, np.iinfo(np.int64).max)
    folder, code = (None if each is None else Path(each) for each in (work, archive))
    how = OnSpark(master or MASTER, form or BOUNDED, trigger, folder, archive=code)
    how.check(name)
    return how


def _places(name: str, descriptor: str | Path, backend: str) -> tuple[Place, ...]:
    if backend != THREADS:
        raise UsageError(
            f"{name}: a descriptor binds threads to processors: take backend={THREADS}, or take it"
            " away"
        )
    return read_descriptor(descriptor, pinning.cores())


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
    spark: OnSpark | None = None,
) -> Ran:
    """Run a plan over streams of words, as `encode_inputs` makes them.

    Parameters are those of ``run_streamcloud``, checked, and the ``cores`` of `Parts`; errors are
    the same. ``keep`` receives the outcome before the state is replaced: if it fails, a run from
    the old state puts out the same again. ``spark`` has the options for that backend.
    """
    if backend == SPARK:
        # Imported late: it loads the reader and writer of chunks.
        from operators.streamcloud.carriers.spark.running import run_streams

        done = run_streams(plan, streams, coding, spark or OnSpark())
        ran = Ran(done.outputs, {}, done.tuples, done.closed)
        if keep is not None:
            keep(ran)
        return ran
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
    # Imported late: callers with arrays need not load it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix != ".parquet":
        raise UsageError(
            f"{name}: {path} is no Parquet file; millrace replay streamcloud reads others"
        )
    try:
        with open(path, "rb") as file:
            table = pq.read_table(file)
    except (OSError, pa.ArrowException) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(f"{name}: {path} cannot be read: {first}") from error
    for column in table.column_names:
        if table.column(column).null_count:
            raise UsageError(f"{name}: {path}, column {column}: a value is missing")
    return {column: table.column(column).to_numpy() for column in table.column_names}
