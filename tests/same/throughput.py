"""Six benches of two checkouts in turns, each in a fresh process: the ratio of their throughputs.

A turn measures BASE and NEW in immediate succession, in alternating order, so that a machine that
slows down or speeds up affects both. The ratio of a turn is one sample. Their geometric mean is
shown with the interval used for all ratios in Millrace: a 95 % confidence interval from six turns
on.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from experiments.records.statistics import ratio
from tests.same.checkouts import CannotCompare, Checkout
from tests.same.digests import prepare
from tests.same.report import Difference, Finding

BENCHES = {
    "T-Gate": "gate t-gate --set sources=4",
    "TuMLSC": "aggregation tumlsc --set query=K-OS inputs=4",
    "WiML": "aggregation wiml --set query=K-OI inputs=4",
    "PIM-Tree": "join pim-tree --set window=65536",
    "ScaleJoin": "join scale-join --set threads=2 window_s=300",
    "pipeline": "pipeline ct --set query=q2 workers=2",
}
TURNS = 6
LEAST_RATIO = 0.97
# The initial load of a core beyond which ratios mean nothing.
LOAD_LIMIT = 0.3


def load_of_a_core() -> float:
    """Return the average number of processes on a core in the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


class Run(NamedTuple):
    """One run of a bench: tuples/s, and whether it was disturbed."""

    throughput_tps: float
    noisy: bool


def measured(checkout: Checkout, bench: str, seconds: float, folder: Path) -> Run:
    """Return one run in a separate process.

    Raises
    ------
    CannotCompare
        When the run fails or its output is wrong.
    """
    arguments = ["bench", *shlex.split(bench), "--seconds", str(seconds), "--json"]
    done = checkout.millrace(arguments, folder)
    if done.returncode != 0:
        said = done.stderr.decode().strip().splitlines()[-1:]
        raise CannotCompare(f"{checkout.name}, {bench}: {' '.join(said)}")
    row = json.loads(done.stdout)
    return Run(row["throughput_tps"], row["noisy"])


def compare(
    base: Checkout,
    new: Checkout,
    data: Path | None,
    turns: int = TURNS,
    seconds: float = 1.0,
    benches: Iterable[str] = (),
    busy: bool = False,
) -> Iterator[Finding]:
    """Yield the finding for each bench.

    Parameters
    ----------
    base, new : Checkout
    data : Path, optional
        A folder ``results/data``.
    turns : int
    seconds : float
        Length of a run.
    benches : iterable of str
        Names in BENCHES; all if empty.
    busy : bool
        Measure although the machine is busy, and say so.

    Raises
    ------
    CannotCompare
        When the machine is busy, or a run fails.
    """
    load = load_of_a_core()
    if load > LOAD_LIMIT and not busy:
        raise CannotCompare(
            f"others use this machine: load {load:.2f} a core, at most {LOAD_LIMIT} is quiet;"
            " wait, or give --busy and believe no ratio"
        )
    with TemporaryDirectory(prefix="millrace-same-") as made:
        where = {each: prepare(Path(made, each.name), data) for each in (base, new)}
        for name in benches or BENCHES:
            # The first run of each side compiles the kernels.
            for each, folder in where.items():
                measured(each, BENCHES[name], seconds, folder)
            runs: dict[Checkout, list[Run]] = {base: [], new: []}
            for turn in range(turns):
                for each in ((base, new), (new, base))[turn % 2]:
                    runs[each].append(measured(each, BENCHES[name], seconds, where[each]))
            yield finding_of(name, runs[base], runs[new], load)


def finding_of(name: str, olds: Sequence[Run], news: Sequence[Run], load: float) -> Finding:
    """Return the ratio of a bench; a difference where NEW is slower than allowed, or may well be.

    Raises
    ------
    CannotCompare
        When no turn has a throughput of both.
    """
    found = ratio(*({(turn, 1): run.throughput_tps for turn, run in enumerate(runs, 1)}
                    for runs in (news, olds)))  # fmt: skip
    if found is None:
        raise CannotCompare(f"{name}: no turn has a throughput of both BASE and NEW")
    noisy = sum(run.noisy for run in (*olds, *news))
    text = f"{found.value:.3f}"
    text += f" [{found.low:.3f}, {found.high:.3f}], {found.kind}" if found.low is not None else ""
    summary = f"throughput: {name}: NEW / BASE {text}, {len(olds)} turns"
    summary += f", {noisy} of {2 * len(olds)} runs noisy" if noisy else ""
    summary += f", BUSY at the beginning ({load:.2f} a core)" if load > LOAD_LIMIT else ""
    if found.value < LEAST_RATIO:
        return Finding(summary, [Difference(name, f"{text}: below {LEAST_RATIO}")])
    if found.low is not None and found.low < LEAST_RATIO:
        unclear = f"{text}: cannot tell whether it is {LEAST_RATIO} or more; give more --turns"
        return Finding(summary, [Difference(name, unclear)])
    return Finding(summary, [])
