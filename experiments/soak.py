"""Soak test: memory over ten minutes must not grow, nor lateness at a rate.

``python -m experiments.soak`` runs the variants that each family's bench names in ``SOAKED``, for
equal shares of the time, closed loop, and samples the private memory of the process. State is
allocated before the run, so that after a warm-up the memory is level::

    memory |      ______________________________  <- largest of the last tenth
           |   __/|<-- second tenth -->|
           +--------------------------------------> time

A run passes when the output is right, and the largest sample of the last tenth exceeds the largest
of the second tenth by no more than ``ALLOWED_BYTES``: a leak of a byte a tuple would be gigabytes.

With ``--rate`` tuples come when they are due. *Lateness* is the time for which the next tuple that
has not passed has been due; its median over the last tenth must not exceed that over the second
tenth by more than ``ALLOWED_LATE_NS``: a thousandth less than the rate would be half a second.

Exit status 0 when all pass, 1 when one fails, 2 on bad arguments, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import psutil

from experiments import discovery, families
from experiments.commands import settings
from experiments.commands.arguments import Parser
from experiments.text import si
from experiments.timing import isolation, threads
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.atomics import now
from operators.running.interrupts import how_it_ended, interrupts_kept
from operators.running.run_threads import Outcome, RunFailed

SAMPLE_SECONDS = 0.25
# Python and the allocator move a few MiB about in any case; the sampling itself is in it too.
ALLOWED_BYTES = 16 << 20
# A tenth of ten minutes in which another program has a core is later by a time slice or two.
ALLOWED_LATE_NS = 20_000_000
REDRAW_SECONDS = 1.0
# A short run of this share of the time shows how many tuples the whole time needs.
TRIAL_SHARE = 0.02
# A run that lasted less is repeated: its trial was slow, because of another program, say.
LEAST_SHARE = 0.5


def private_bytes(process: psutil.Process) -> int:
    """Return the resident bytes of a process that are not backed by files.

    Pages of mapped files (libraries, mostly) come and go with the reads of other programs; they are
    left out where the system can distinguish them.
    """
    memory = process.memory_info()
    return memory.rss - getattr(memory, "shared", 0)


@dataclass
class Memory:
    """Samples the private memory of this process until ``stop``."""

    samples: list[tuple[int, int]] = field(default_factory=list)  # ns of the clock, bytes

    def __post_init__(self) -> None:
        """Start sampling."""
        self._process = psutil.Process()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="memory", daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            self.samples.append((now(), private_bytes(self._process)))

    def stop(self) -> None:
        """Stop sampling."""
        self._over.set()
        self._thread.join()


def growth(samples: Sequence[int]) -> int:
    """Return by how many bytes the last tenth's largest sample exceeds the second tenth's.

    Parameters
    ----------
    samples : sequence of int
        Private bytes, equally spaced over the run, at least ten.

    Raises
    ------
    UsageError
        With fewer samples: the run was too short to say anything.
    """
    tenth = len(samples) // 10
    if tenth == 0:
        raise UsageError(
            f"{len(samples)} samples of the memory are too few; give --seconds of"
            f" {20 * SAMPLE_SECONDS:g} or more"
        )
    return max(samples[-tenth:]) - max(samples[tenth : 2 * tenth])


def lateness(outcome: Outcome, rate: float) -> np.ndarray:
    """Return, for each sample of an open run, the ns since the next tuple was due, or 0.

    Parameters
    ----------
    outcome : Outcome
    rate : float
        Offered tuples/s.
    """
    due = outcome.processed.astype(float) * 1e9 / rate
    return np.maximum(outcome.sampled_ns - outcome.go_ns - due, 0.0)


def later(late_ns: np.ndarray) -> float:
    """Return by how much the last tenth's median lateness exceeds the second tenth's, in ns.

    Raises
    ------
    UsageError
        With fewer than ten samples.
    """
    tenth = len(late_ns) // 10
    if tenth == 0:
        raise UsageError(f"{len(late_ns)} samples of the progress are too few; give more --seconds")
    return float(np.median(late_ns[-tenth:]) - np.median(late_ns[tenth : 2 * tenth]))


def soak(
    family: str, variant: str, chosen: dict, seconds: float, rate: float | None = None
) -> bool:
    """Run one variant for about `seconds` and say whether memory, and lateness, stayed level.

    Without a rate it runs as fast as it takes tuples.

    Raises
    ------
    UsageError
        When family, variant or a setting is unknown, or the time is too short.
    run_threads.RunFailed
        When the run had no result.
    """
    bench = families.ready(family, variant, chosen)
    title = f"{family} {variant} {' '.join(f'{k}={v}' for k, v in chosen.items())}"
    _say(f"{title}: compiling")
    short = bench.measure(Request(TRIAL_SHARE * seconds))
    total, lasted = short.total, short.outcome.seconds
    limit = threads.PATIENCE * seconds + threads.PATIENCE_SECONDS
    while True:
        total = threads.on_grid(seconds * (rate or total / lasted))
        memory = Memory()
        request = Request(seconds, rate, limit_seconds=limit, progress=_Progress(title, memory))
        try:
            done = threads.run_tuples(bench, total, request)
        finally:
            memory.stop()
        lasted = done.outcome.seconds
        if lasted >= LEAST_SHARE * seconds:
            break
    # Allocation comes before the start, the comparison with the oracle after the last output.
    begin, end = done.outcome.go_ns, done.outcome.ended_ns
    during = [held for clock, held in memory.samples if begin <= clock <= end]
    grown = growth(during)
    right, level, late = done.output.problem is None, grown <= ALLOWED_BYTES, ""
    if rate is not None:
        # Samples behind the last due time tell how a run ends, and all tuples have passed then.
        passed = lateness(done.outcome, rate)[done.outcome.processed < total]
        grown_ns = later(passed)
        level = level and grown_ns <= ALLOWED_LATE_NS
        late = (
            f" lateness {np.median(passed) / 1e6:.2f} ms, grown by {grown_ns / 1e6:.2f} ms (at most"
            f" {ALLOWED_LATE_NS / 1e6:.0f}),"
        )
    _say(
        f"{title}: {si(total / lasted)}tuples/s for {lasted:.0f} s,"
        f" memory {max(during) >> 20} MiB, grown by {grown / 2**20:.1f} MiB (at most"
        f" {ALLOWED_BYTES >> 20}),{late} output {'right' if right else done.output.problem}"
    )
    return right and level


class _Progress:
    """A line of progress: live on a terminal, one in a while elsewhere."""

    def __init__(self, title: str, memory: Memory) -> None:
        self._title, self._memory = title, memory
        self._live = sys.stderr.isatty()
        self._every = REDRAW_SECONDS if self._live else 30 * REDRAW_SECONDS
        self._drawn = time.monotonic()

    def __call__(self, text: str) -> None:
        clock = time.monotonic()
        if clock - self._drawn < self._every or not self._memory.samples:
            return
        self._drawn = clock
        line = f"millrace: {self._title}: {text}, memory {self._memory.samples[-1][1] >> 20} MiB"
        sys.stderr.write(f"\r{line[:110]:110}" if self._live else f"{line}\n")
        sys.stderr.flush()


def _say(text: str) -> None:
    start = "\r" if sys.stderr.isatty() else ""
    print(f"{start}millrace: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the soak from the command line and return the exit status."""
    parser = Parser(prog="python -m experiments.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of all runs together")
    parser.add_argument(
        "--variant",
        nargs="+",
        metavar="FAMILY/ID",
        help="those that each family's bench names, unless told",
    )
    parser.add_argument("--rate", default="max", help="tuples/s; max: as fast as they are taken")
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="as of bench"
    )
    try:
        with interrupts_kept():
            chosen = parser.parse_args(arguments)
            threads.check_seconds(chosen.seconds, "--seconds")
            rate = threads.check_rate(chosen.rate)
            runs = _runs(chosen)
            seconds = chosen.seconds / len(runs)
            with isolation.alone():
                passed = [soak(*each, seconds, rate) for each in runs]
    except UsageError as error:
        _say(str(error))
        return 2
    except RunFailed as error:
        _say(f"the run failed: {error}")
        return 1
    except KeyboardInterrupt as error:
        said, status = how_it_ended(error)
        _say(said)
        return status
    return 0 if all(passed) else 1


def _runs(chosen: argparse.Namespace) -> list[tuple[str, str, dict]]:
    """Return family, variant and settings of each run, checked, and make missing datasets."""
    usual = {(family, named): given for family in discovery.benched()
             for named, given in _soaked(family).items()}  # fmt: skip
    if chosen.variant:
        variants = [registry.named(*_parts(name)) for name in chosen.variant]
    else:
        variants = [registry.variant(*place) for place in usual]
    told = settings.split_settings(chosen.set, variants)
    runs = []
    for variant, own in zip(variants, told, strict=True):
        given = {**usual.get((variant.family, variant.id), {}), **own}
        settings.check(variant, given)
        settings.ensure_dataset(variant.family, given)
        runs.append((variant.family, variant.id, given))
    return runs


def _soaked(family: str) -> dict[str, dict]:
    """Return the variants that a family names; a bench without threads has none."""
    return getattr(discovery.family_module(family, "bench"), "SOAKED", {})


def _parts(name: str) -> tuple[str, str]:
    family, slash, variant = name.partition("/")
    if not slash:
        raise UsageError(
            f"--variant takes family/id, received {name!r}; see millrace list variants"
        )
    return family, variant


if __name__ == "__main__":
    sys.exit(main())
