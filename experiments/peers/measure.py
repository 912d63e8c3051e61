"""Operators and peers on the same work, in turns: one repetition of a paper's comparisons.

A round runs every operator and every peer once, in an order that is random and follows from the
numbers of process and round. Everything else waits meanwhile: a peer's process waits for its next
request, an operator's threads do not exist. Before the first round all of them have warmed up. Each
output is compared with the oracle after the clock has stopped; a peer that fails, or gives one
wrong row, is not asked again, and no run of it is a point.
"""

from __future__ import annotations

import importlib
import random
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from experiments import families, profiles, series
from experiments.declare import Series
from experiments.peers import catalog, rows
from experiments.peers.catalog import Comparison, Peer, Work
from experiments.peers.process import PeerFailed, PeerProcess, started
from experiments.profiles import Profile
from experiments.records import keys
from experiments.records.columns import CLOSED
from experiments.timing import isolation, machine
from experiments.timing.bench import Bench, Request
from experiments.timing.threads import hexadecimal
from operators import registry
from operators.running import pinning
from operators.running.run_threads import RunFailed

# Makes one run and returns the columns that depend on it.
Runner = Callable[[int], dict[str, Any]]


def rounds_of(profile: Profile) -> int:
    """Return the rounds of a process: as many runs as a setting has in a process and its forks."""
    return profile.closed_rounds * profile.forks


def role_of(comparison: Comparison, size: str) -> str | None:
    """Return the role of the dataset that a comparison runs on."""
    return registry.family(comparison.family).role_of(_resolved(comparison, size, None))


def key_of(paper: str, profile: Profile, peers: list[Peer], data: Callable[[str], object]) -> str:
    """Return a hash of all that the results of a paper's comparisons depend on.

    Parameters
    ----------
    paper : str
    profile : Profile
    peers : list of Peer
        Installed ones.
    data : callable
        Returns what decides the rows of a role's data.
    """
    found = []
    for comparison, taking in catalog.compared_with(paper, peers):
        role = role_of(comparison, profile.size)
        conditions = keys.conditions(
            comparison.family, data(role), profile.keyed, machine.identity()
        )
        operators = [keys.variant_digest(comparison.family, e.variant) for e in comparison.lines]
        modules = [f"{catalog.engines.__name__}.{each.id}" for each in taking]
        measuring = keys.module_digest(
            __name__, f"experiments.peers.works.{comparison.work}", *modules
        )
        engines = {each.id: each.version for each in taking}
        found.append([repr(comparison), conditions, operators, measuring, engines])
    return keys.digest_of(found)


def measure(
    paper: str,
    profile: Profile,
    peers: list[Peer],
    datasets: Mapping[str, str],
    repetition: int,
    output: str | Path,
) -> Path:
    """Measure one repetition of a paper's comparisons and write the rows.

    Parameters
    ----------
    paper : str
    profile : Profile
    peers : list of Peer
        Installed ones; a comparison has those that can do its work.
    datasets : mapping of str to str
        The folder of the data of each role.
    repetition : int
        From 1; it seeds the order of runs.
    output : str or Path

    Raises
    ------
    UsageError
        When settings and data do not go together.
    """
    machine.count_descendants()
    provenance = machine.provenance()
    found: list[rows.Row] = []
    with isolation.alone():
        for comparison, taking in catalog.compared_with(paper, peers):
            common = {
                "paper": paper,
                "comparison": comparison.id,
                "title": comparison.title,
                "about": comparison.about,
                "family": comparison.family,
                "cores": pinning.cores(),
                "profile": profile.name,
                "size": profile.size,
                "machine": machine.identity(),
                "provenance": provenance["id"],
                "repetition": repetition,
            }
            dataset = datasets[role_of(comparison, profile.size)]
            with ExitStack() as ending:
                runners = _prepared(comparison, taking, profile, dataset, ending)
                isolation.wait_for_quiet()
                found += [
                    rows.Row(**common, round=number, **columns)
                    for number, columns in _turns(paper, comparison, runners, profile, repetition)
                ]
    return rows.write(output, provenance, found)


def measure_named(
    paper: str,
    profile: str,
    peers: str,
    datasets: Mapping[str, str],
    repetition: int,
    output: str | Path,
) -> Path:
    """Measure with profile and peers by their names; the rest is as for ``measure``."""
    found = profiles.load(profile), catalog.chosen(peers)
    return measure(paper, *found, datasets, repetition, output)


def _turns(
    paper: str,
    comparison: Comparison,
    runners: Mapping[str, Runner],
    profile: Profile,
    repetition: int,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield round and columns of every run; who failed once has one row and no further turn."""
    failed: set[str] = set()
    for number in range(1, rounds_of(profile) + 1):
        order = list(runners)
        seed = f"{paper} {comparison.id} {repetition} {number}"
        random.Random(zlib.crc32(seed.encode())).shuffle(order)
        for name in order:
            if name in failed:
                continue
            columns = runners[name](number)
            _say(f"{comparison.id}, round {number}: {columns['shown']} {_outcome(columns)}")
            if not columns["valid"]:
                failed.add(name)
            yield number, columns


def _outcome(columns: Mapping[str, Any]) -> str:
    rate = columns["whole_tps"]
    return f"{rate:,.0f} tuples/s" if columns["valid"] else str(columns["invalid_reason"])


def _say(text: str) -> None:
    print(f"millrace: peers: {text}", file=sys.stderr, flush=True)


# --- who takes part ------------------------------------------------------------------------------


def _prepared(
    comparison: Comparison,
    taking: Sequence[Peer],
    profile: Profile,
    dataset: str,
    ending: ExitStack,
) -> dict[str, Runner]:
    """Return who takes part by name, warm; peers' processes end with `ending`."""
    settings = _resolved(comparison, profile.size, None)
    make = importlib.import_module(f"experiments.peers.works.{comparison.work}").make
    work: Work = make(settings, dataset)
    limit = profile.point_timeout_seconds
    found: dict[str, Runner] = {}
    for line in comparison.lines:
        own = _resolved(comparison, profile.size, line)
        bench = families.ready(comparison.family, line.variant, {**own, "dataset": dataset})
        bench.warm_up(CLOSED)
        found[line] = _operator(comparison.family, line, bench, work, profile)
    threads = pinning.cores()
    for peer in taking:
        _say(f"{comparison.id}: starting {peer.title}")
        try:
            process = ending.enter_context(started(peer, comparison.work, work, threads))
        except PeerFailed as error:
            found[peer.id] = _absent(peer, work, threads, str(error))
        else:
            found[peer.id] = _peer(peer, process, work, threads, limit)
    return found


def _resolved(comparison: Comparison, size: str, line: Series | None) -> dict[str, Any]:
    """Return every setting of a line, or of the work: those of the first line's family."""
    line = comparison.lines[0] if line is None else line
    variant = registry.variant(comparison.family, line.variant)
    given = {**comparison.at(size), **line.settings}
    return registry.family(comparison.family).resolve(variant, given)


def _operator(family: str, line: Series, bench: Bench, work: Work, profile: Profile) -> Runner:
    """Return what runs an operator over as many tuples as a peer has."""

    def run(number: int) -> dict[str, Any]:
        wall = time.time_ns()
        request = Request(
            profile.closed_seconds, None, CLOSED, profile.point_timeout_seconds, None, work.tuples,
            number,
        )  # fmt: skip
        try:
            seen = bench.run(request)
            names = ("seconds", "whole_tps", "outputs", "digest", "oracle_digest", "valid",
                     "invalid_reason", "noisy", "started_at", "ended_at")  # fmt: skip
            columns = {name: seen[name] for name in names}
        except RunFailed as error:
            columns = _failed(str(error), wall)
        return {
            "kind": rows.OPERATOR,
            "name": str(line),
            "shown": series.drawn(family, line).title,
            "version": None,
            "form": None,
            "threads": bench.threads,
            "tuples": work.tuples,
            "dataset": bench.data["dataset"],
            "dataset_digest": bench.data["dataset_digest"],
            **columns,
        }

    return run


def _peer(
    peer: Peer, process: PeerProcess, work: Work, threads: int, limit_seconds: float
) -> Runner:
    """Return what runs a peer and compares its output."""

    def run(number: int) -> dict[str, Any]:
        watch = machine.Watch(threads)
        wall = time.time_ns()
        about = _about(peer, work, threads, process.version)
        try:
            seconds = process.run(limit_seconds)
        except PeerFailed as error:
            return {**about, **_failed(str(error), wall)}
        ended = time.time_ns()
        observed = watch.done()
        judged = work.judge(process.output())
        return {
            **about,
            "seconds": seconds,
            "whole_tps": work.tuples / seconds,
            "outputs": judged.outputs,
            "digest": hexadecimal(judged.digest),
            "oracle_digest": hexadecimal(judged.oracle_digest),
            "valid": judged.problem is None,
            "invalid_reason": judged.problem,
            "noisy": observed.noisy,
            "started_at": wall,
            "ended_at": ended,
        }

    return run


def _absent(peer: Peer, work: Work, threads: int, why: str) -> Runner:
    """Return the row of a peer that could not be prepared."""
    return lambda number: {
        **_about(peer, work, threads, peer.version),
        **_failed(why, time.time_ns()),
    }


def _about(peer: Peer, work: Work, threads: int, version: str) -> dict[str, Any]:
    return {
        "kind": rows.PEER,
        "name": peer.id,
        "shown": peer.title,
        "version": version,
        "form": peer.form,
        "threads": threads,
        "tuples": work.tuples,
        "dataset": work.data["dataset"],
        "dataset_digest": work.data["dataset_digest"],
    }


def _failed(why: str, wall: int) -> dict[str, Any]:
    """Return the columns of a run without a result."""
    nothing = dict.fromkeys(("seconds", "whole_tps", "outputs", "digest", "oracle_digest"), None)
    return {
        **nothing,
        "valid": False,
        "invalid_reason": " ".join(why.split()),
        "noisy": False,
        "started_at": wall,
        "ended_at": time.time_ns(),
    }
