"""What a replay of a query is asked to do, checked before any file is opened."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.replay.files import checked_input, checked_output
from operators.contract import UsageError, whole
from operators.streamcloud.algebra import Query
from operators.streamcloud.compiler import Instances, compile_query, compile_steps
from operators.streamcloud.explain import explain_steps
from operators.streamcloud.plan import Plan
from operators.streamcloud.queries import QUERIES, query_of
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.yaml_form import read_query


@dataclass(frozen=True)
class Request:
    """A checked replay of a query.

    Attributes
    ----------
    plan : Plan
    files : dict of str to tuple of Path
        By input of the query, its streams.
    backend : str
    blob : int or None
        Tuples that are sent at once; None for the usual number.
    time_unit : str or None
        s, ms or us for calendar times; None where times are integers of the files' own unit.
    outputs : dict of str to Path
        By output of the query.
    rejected : Path or None
        Where rows that cannot be used are set aside; None makes the first of them an error.
    """

    plan: Plan
    files: dict[str, tuple[Path, ...]]
    backend: str
    blob: int | None
    time_unit: str | None
    outputs: dict[str, Path]
    rejected: Path | None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All files, in the order in which the query counts its streams."""
        return tuple(path for node in self.plan.query.inputs for path in self.files[node.name])

    @property
    def output(self) -> str:
        """The files that are written, as a message lists them."""
        return listed(self.outputs.values())


def make_request(query_name: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        When something is unknown, missing, superfluous or out of its limits.
    """
    query = _query(query_name)
    files = _files(query, options.input or [])
    inputs = [path for paths in files.values() for path in paths]
    outputs = _outputs(query, options.output or [], inputs, options.overwrite)
    rejected = None
    if options.rejected is not None:
        rejected = checked_output(
            "--rejected", Path(options.rejected), (".csv",), inputs, options.overwrite
        )
    if options.blob is not None and options.blob < 1:
        raise UsageError(f"--blob must be at least 1, received {options.blob}")
    streams = {name: len(paths) for name, paths in files.items()}
    plan = compile_query(
        query, options.strategy, _instances(options.instances), options.merger, streams
    )
    return Request(
        plan=plan,
        files=files,
        backend=options.backend,
        blob=options.blob,
        time_unit=options.time_unit,
        outputs=outputs,
        rejected=rejected,
    )


def explained(query_name: str, options: argparse.Namespace) -> str:
    """Return the plan behind each pass of the compiler as text; files need not be there.

    Raises
    ------
    UsageError
        As of ``make_request``.
    """
    query = _query(query_name)
    named = [_named("--input", each, [node.name for node in query.inputs])[0]
             for each in options.input or []]  # fmt: skip
    streams = {name: named.count(name) for name in named}
    return explain_steps(
        compile_steps(
            query, options.strategy, _instances(options.instances), options.merger, streams
        )
    )


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


def _named(option: str, given: str, known: Iterable[str]) -> tuple[str, str]:
    """Split NAME=FILE."""
    known = list(known)
    name, equals, path = given.partition("=")
    if not equals and len(known) == 1:
        return known[0], given
    if name not in known or not equals:
        raise UsageError(
            f"{option} {given}: give NAME=FILE, NAME being one of {listed(known)}"
            f"{did_you_mean(name, known)}"
        )
    return name, path


def _files(query: Query, given: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    names = [node.name for node in query.inputs]
    found: dict[str, list[Path]] = {name: [] for name in names}
    for each in given:
        name, path = _named("--input", each, names)
        found[name].append(checked_input(Path(path)))
    _nothing_missing("--input", query, found)
    return {name: tuple(paths) for name, paths in found.items()}


def _outputs(
    query: Query, given: Sequence[str], inputs: Sequence[Path], overwrite: bool
) -> dict[str, Path]:
    names = [output.name for output in query.outputs]
    found: dict[str, list[Path]] = {name: [] for name in names}
    for each in given:
        name, path = _named("--output", each, names)
        found[name].append(checked_output("--output", Path(path), (".parquet",), inputs, overwrite))
    _nothing_missing("--output", query, found)
    paths = [path for each in found.values() for path in each]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice or len(paths) > len(names):
        which = twice[0] if twice else next(n for n, each in found.items() if len(each) > 1)
        raise UsageError(
            f"--output {which} is there twice: give a file for each of {listed(names)}"
        )
    return {name: path for name, (path,) in found.items()}


def _nothing_missing(option: str, query: Query, found: Mapping[str, Sequence[Path]]) -> None:
    missing = [name for name, paths in found.items() if not paths]
    if missing:
        shown = " ".join(f"{name}=FILE" for name in missing)
        raise UsageError(f"{query.name} needs {option} {shown}")
