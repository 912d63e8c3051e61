"""The options of a query's replay, checked before any file is opened."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.replay.files import checked_input, checked_output
from experiments.replay.streamcloud import INSTANCES, PROCESSES, SPARK, THREADS
from operators.contract import UsageError, whole
from operators.running import pinning
from operators.streamcloud.algebra import Node, Output, Query
from operators.streamcloud.carriers.placing import check_nodes
from operators.streamcloud.carriers.spark.forms import BOUNDED, MASTER, OnSpark
from operators.streamcloud.compiler import Instances, compile_query
from operators.streamcloud.deployer import Place, deploy, read_descriptor
from operators.streamcloud.plan import Plan
from operators.streamcloud.queries import QUERIES, query_of
from operators.streamcloud.rows import MOST_BLOB
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.yaml_form import read_query


@dataclass(frozen=True)
class Request:
    """A checked replay of a query.

    Attributes
    ----------
    plan : Plan
        With one instance of each stage if `processors` are shared out.
    processors : int or None
        Number of processors to share out by measured costs.
    places : tuple of Place
        The processors of a descriptor.
    files : dict of str to tuple of Path
        The streams by input of the query; empty if the plan is explained without them.
    chunks : Path or None
        Instead of files, the folder with the chunks of all inputs.
    backend : str
    spark : OnSpark or None
        How Spark runs the plan; None on other backends.
    nodes : int or None
        Number of node processes; None for the default.
    blob : int or None
        Tuples that are sent at once; None for the default.
    state : Path or None
        The folder of the state to continue from and to leave behind.
    stop_after : int or None
        Number of tuples after which to stop.
    time_unit : str or None
        s, ms or us for calendar times; None if times are integers in the files' unit.
    outputs : dict of str to Path
        The files by output of the query; empty if the plan is explained.
    rejected : Path or None
        Where unusable rows are set aside; None makes the first of them an error.
    """

    plan: Plan
    processors: int | None
    places: tuple[Place, ...]
    files: dict[str, tuple[Path, ...]]
    chunks: Path | None
    backend: str
    spark: OnSpark | None
    nodes: int | None
    blob: int | None
    state: Path | None
    stop_after: int | None
    time_unit: str | None
    outputs: dict[str, Path]
    rejected: Path | None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files, in the order in which the query numbers its streams."""
        return tuple(path for paths in self.files.values() for path in paths)

    @property
    def output(self) -> str:
        """The output files, as a message lists them."""
        return listed(self.outputs.values())


def make_request(query_name: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        When something is unknown, missing, superfluous or out of its limits.
    """
    query = _query(query_name)
    places = _places(query, options)
    processors = options.processors
    if places and options.instances is None and processors is None:
        processors = len(places)
    named = _named_all("--input", query.inputs, options.input or [])
    spark = _spark(options)
    chunks = _chunks(query, named, options)
    streams = {name: len(paths) for name, paths in named.items() if paths}
    if chunks is not None:
        streams = _streams(chunks, query)
    plan = compile_query(
        query,
        options.strategy,
        1 if processors is not None else _instances(options.instances or [str(INSTANCES)]),
        options.merger,
        streams,
    )
    if processors is None and places:
        deploy(plan, places)
    files = {}
    if chunks is None and (processors is not None or not options.explain):
        files = _files(query, named, processors)
    inputs = [path for paths in files.values() for path in paths]
    outputs: dict[str, Path] = {}
    if not options.explain:
        outputs = _outputs(query, options.output or [], inputs, options.overwrite)
    rejected = None
    if options.rejected is not None:
        rejected = checked_output(
            "--rejected", Path(options.rejected), (".csv",), inputs, options.overwrite
        )
    _check_run(options)
    if options.nodes is not None and processors is None:
        check_nodes(plan, options.nodes)
    return Request(
        plan=plan,
        processors=processors,
        places=places,
        files=files,
        chunks=chunks,
        backend=options.backend,
        spark=spark,
        nodes=options.nodes,
        blob=options.blob,
        state=None if options.state is None else Path(options.state),
        stop_after=options.stop_after,
        time_unit=options.time_unit,
        outputs=outputs,
        rejected=rejected,
    )


def _places(query: Query, options: argparse.Namespace) -> tuple[Place, ...]:
    """Return the processors of the descriptor; a plan that is only explained may name others."""
    if options.descriptor is None:
        return ()
    if options.explain:
        return read_descriptor(options.descriptor)
    places = read_descriptor(options.descriptor, pinning.cores())
    if places[0].cpu is None:
        raise UsageError(
            f"{options.descriptor}: line {places[0].line}: {places[0]} is an address, and a replay"
            f' runs {query.name} on this machine: name processors such as "cpu 0", or --explain'
        )
    if options.backend != THREADS:
        raise UsageError(
            f"--descriptor binds threads to processors: take --backend {THREADS}, or take it away"
        )
    return places


def _check_run(options: argparse.Namespace) -> None:
    """Check the options of the run."""
    if options.nodes is not None and options.backend != PROCESSES:
        raise UsageError(f"--nodes {options.nodes} are processes: give --backend {PROCESSES}, too")
    if options.blob is not None and not 1 <= options.blob <= MOST_BLOB:
        raise UsageError(f"--blob must be between 1 and {MOST_BLOB}, received {options.blob}")
    if options.stop_after is not None:
        if options.stop_after < 0:
            raise UsageError(f"--stop-after must be at least 0, received {options.stop_after}")
        if options.state is None:
            raise UsageError("--stop-after leaves a state: give the folder for it, too: --state")


def _spark(options: argparse.Namespace) -> OnSpark | None:
    """Return how Spark runs the plan; None on other backends."""
    given = {
        "--master": options.master,
        "--spark-form": options.spark_form,
        "--trigger": options.trigger,
        "--follow": options.follow or None,
        "--work": options.work,
        "--archive": options.archive,
    }
    if options.backend != SPARK:
        for name, each in given.items():
            if each is not None:
                raise UsageError(f"{name} is one of Spark: give --backend {SPARK}, too")
        return None
    if options.state is not None or options.stop_after is not None:
        raise UsageError(
            "--state and --stop-after stop other backends; a stream on Spark goes on from what it"
            " finds in --work"
        )
    if options.blob is not None:
        raise UsageError("--blob: Spark is sent chunks; --trigger says how large a batch is")
    found = OnSpark(
        options.master or MASTER,
        options.spark_form or BOUNDED,
        options.trigger,
        options.work,
        options.follow,
        options.archive,
    )
    found.check("--backend spark")
    return found


def _chunks(
    query: Query, named: Mapping[str, Sequence[str]], options: argparse.Namespace
) -> Path | None:
    """Return the folder of chunks given instead of files."""
    given = [Path(path) for paths in named.values() for path in paths]
    if options.backend != SPARK or not any(path.is_dir() for path in given):
        if options.follow:
            raise UsageError("--follow waits for chunks: give the folder they come to as --input")
        return None
    if {path.resolve() for path in given} != {given[0].resolve()} or len(given) != len(named):
        shown = " ".join(f"{name}={given[0]}" for name in named)
        raise UsageError(f"the chunks of all inputs lie in one folder: give --input {shown}")
    for name, each in (
        ("--rejected", options.rejected),
        ("--time-unit", options.time_unit),
        ("--processors", options.processors),
    ):
        if each is not None:
            raise UsageError(
                f"{name} looks at rows of files before they are sent, and chunks are taken as they"
                " lie: take it away"
            )
    return given[0]


def _streams(chunks: Path, query: Query) -> dict[str, int]:
    # Loads Arrow; mistakes in the options are reported before that.
    from operators.streamcloud.carriers.spark.chunks import read_streams

    return read_streams(chunks, query)


def _query(name: str) -> Query:
    if name in QUERIES:
        return query_of(name)
    if not name.lower().endswith((".yaml", ".yml")):
        raise UsageError(
            f'unknown query "{name}"; give a file that ends in .yaml, or one of {listed(QUERIES)}'
            f"{did_you_mean(name, QUERIES)}"
        )
    return read_query(Path(name))


def _instances(given: Sequence[str]) -> Instances:
    """Return one number for all stages, or one for each."""
    if len(given) == 1 and "=" not in given[0]:
        return whole("--instances", given[0])
    found: dict[str, int] = {}
    for each in given:
        name, equals, count = each.partition("=")
        if not equals or name in found:
            raise UsageError(
                f"--instances {each}: give one number, or each stage once, such as known=4 busy=2"
            )
        found[name] = whole(f"--instances {name}", count)
    return found


def _named(option: str, given: str, known: Sequence[str]) -> tuple[str, str]:
    """Split NAME=FILE."""
    name, equals, path = given.partition("=")
    if not equals and len(known) == 1:
        return known[0], given
    if name not in known or not equals:
        raise UsageError(
            f"{option} {given}: give NAME=FILE, NAME being one of {listed(known)}"
            f"{did_you_mean(name, known)}"
        )
    return name, path


def _named_all(
    option: str, known: Iterable[Node | Output], given: Sequence[str]
) -> dict[str, list[str]]:
    """Return the files of an option by name."""
    found: dict[str, list[str]] = {each.name: [] for each in known}
    for each in given:
        name, path = _named(option, each, list(found))
        found[name].append(path)
    return found


def _files(
    query: Query, named: Mapping[str, Sequence[str]], processors: int | None
) -> dict[str, tuple[Path, ...]]:
    found = {
        name: tuple(checked_input(Path(path)) for path in paths) for name, paths in named.items()
    }
    why = "" if processors is None else f" to share {processors} processors out by measured costs"
    _nothing_missing("--input", query, found, why)
    return found


def _outputs(
    query: Query, given: Sequence[str], inputs: Sequence[Path], overwrite: bool
) -> dict[str, Path]:
    found = {
        name: [checked_output("--output", Path(path), (".parquet",), inputs, overwrite)
               for path in paths]
        for name, paths in _named_all("--output", query.outputs, given).items()
    }  # fmt: skip
    names = list(found)
    _nothing_missing("--output", query, found)
    paths = [path for each in found.values() for path in each]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice or len(paths) > len(names):
        which = twice[0] if twice else next(n for n, each in found.items() if len(each) > 1)
        raise UsageError(
            f"--output {which} is there twice: give a file for each of {listed(names)}"
        )
    return {name: path for name, (path,) in found.items()}


def _nothing_missing(
    option: str, query: Query, found: Mapping[str, Sequence[Path]], why: str = ""
) -> None:
    missing = [name for name, paths in found.items() if not paths]
    if missing:
        shown = " ".join(f"{name}=FILE" for name in missing)
        raise UsageError(f"{query.name} needs {option} {shown}{why}")
