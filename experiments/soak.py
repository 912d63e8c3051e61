"""Memory at full rate over ten minutes: it must not grow.

``python -m experiments.soak`` runs some variants of each family, those that its bench names in
``SOAKED``, for their share of the time, closed loop, and samples the private memory of the process.
State is allocated before the run, so that after a warm-up the memory is level::

    memory |      ______________________________  <- largest of the last tenth
           |   __/|<-- second tenth -->|
           +--------------------------------------> time

A run passes when its output is right, and the largest sample of its last tenth exceeds the largest
of its second tenth by no more than ``ALLOWED_BYTES``: a leak of a byte a tuple would be gigabytes.
Exit status 0 when all pass, 1 when one fails, 2 on bad arguments, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from experiments import families, finding
from experiments.commands import settings
from experiments.commands.arguments import Parser
from experiments.text import si
from experiments.timing import isolation, threads
from experiments.timing.bench import Request
from operators import registry
from operators.contract import UsageError
from operators.core.atomics import now
from operators.running.crew import RunFailed
from operators.running.interrupts import interrupts_kept

SAMPLE_SECONDS = 0.25
# Python and the allocator move a few MiB about whatever we do; a run's own sampling is in it too.
ALLOWED_BYTES = 16 << 20
REDRAW_SECONDS = 1.0
# A short run of this share of the time tells how many tuples the whole time needs.
TRIAL_SHARE = 0.02
# What lasted less of the time is run again: its trial was slow, beside another program, say.
LEAST_SHARE = 0.5


def private_bytes(process: psutil.Process) -> int:
    """Return the resident bytes of a process that no file stands behind.

    Pages of mapped files (libraries, mostly) come and go with what other programs read; where the
    system tells them apart they are left out.
    """
    memory = process.memory_info()
    return memory.rss - getattr(memory, "shared", 0)


@dataclass
class Memory:
    """Samples the private memory of this process until told to stop."""

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
        """Take no more samples."""
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


def soak(family: str, variant: str, chosen: dict, seconds: float) -> bool:
    """Run one variant at full rate for about `seconds` and say whether its memory stayed level.

    Raises
    ------
    UsageError
        When family, variant or a setting is unknown, or the time is too short.
    crew.RunFailed
        When the run had no result.
    """
    bench = families.ready(family, variant, chosen)
    title = f"{family} {variant} {' '.join(f'{k}={v}' for k, v in chosen.items())}"
    _say(f"{title}: compiling")
    short = bench.measure(Request(TRIAL_SHARE * seconds))
    total, lasted = short.total, short.outcome.seconds
    limit = threads.PATIENCE * seconds + threads.PATIENCE_SECONDS
    while True:
        total = threads.on_grid(seconds * total / lasted)
        memory = Memory()
        request = Request(seconds, limit_seconds=limit, progress=_Progress(title, memory))
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
    right = done.output.problem is None
    _say(
        f"{title}: {si(total / lasted)}tuples/s for {lasted:.0f} s,"
        f" memory {max(during) >> 20} MiB, grown by {grown / 2**20:.1f} MiB (at most"
        f" {ALLOWED_BYTES >> 20}), output {'right' if right else done.output.problem}"
    )
    return right and grown <= ALLOWED_BYTES


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
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="as of bench"
    )
    try:
        with interrupts_kept():
            chosen = parser.parse_args(arguments)
            threads.check_seconds(chosen.seconds, "--seconds")
            runs = _runs(chosen)
            seconds = chosen.seconds / len(runs)
            with isolation.alone():
                passed = [soak(*each, seconds) for each in runs]
    except UsageError as error:
        _say(str(error))
        return 2
    except RunFailed as error:
        _say(f"the run failed: {error}")
        return 1
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    return 0 if all(passed) else 1


def _runs(chosen: argparse.Namespace) -> list[tuple[str, str, dict]]:
    """Return family, variant and settings of each run, checked; its dataset is there then."""
    usual = {(family, named): given for family in finding.benched()
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
    """Return the variants that a family names; a bench that is not threads has none."""
    return getattr(finding.family_module(family, "bench"), "SOAKED", {})


def _parts(name: str) -> tuple[str, str]:
    family, slash, variant = name.partition("/")
    if not slash:
        raise UsageError(
            f"--variant takes family/id, received {name!r}; see millrace list variants"
        )
    return family, variant


if __name__ == "__main__":
    sys.exit(main())
