"""The machine under the measurement: what it is, what it did meanwhile, and who sits on which core.

``provenance`` describes what stays the same during a repetition and is stored once a file.
``Watch`` looks at what changes, before and after each run: load, foreign and stolen processor time,
the *sentinel*, a fixed loop whose duration tells whether the processor kept its speed, and how far
the cores are from each other.

The cores of a virtual machine may lie side by side or on two dies, and its host moves them without
a word. On two of an EPYC a cache line took 55 to 62 ns from one to the other, or 259 to 278, and a
T-Gate between them made 34 to 47 M tuples/s, or 11 to 12 (14 runs, one look before each; in one the
cores must have moved between look and run). No counter says so: two threads hand a word to and fro.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
import psutil

from experiments.records.columns import MOVED
from experiments.records.keys import lock_digest
from operators.core.atomics import ACQUIRE, RELEASE, load, now, store
from operators.core.integers import fold
from operators.core.jit import INTERPRETED, kernel
from operators.core.layout import LINE_WORDS, aligned_words
from operators.running import pinning

ROOT = Path(__file__).resolve().parents[2]
SENTINEL_STEPS = 2_000 if INTERPRETED else 500_000
SENTINEL_RUNS = 3
# How often a word goes to another core and back, how often that is timed, and how often one looks
# for what the other has to send: for part of a second, which another program may have that core.
TURNS = 200
TURN_RUNS = 3
MOST_LOOKS = 1 << 27
# What was seen after one run is what was before the next one, when it follows so soon.
FRESH_SECONDS = 0.2
# Above this relative change of the sentinel a run is noisy (design, measurement 8).
DRIFT_LIMIT = 0.03
# A neighbour that takes a tenth of a core shows in the third digit; below it is a shell prompt.
FOREIGN_LIMIT_CORES = 0.1
# The system counts ticks of 10 ms, so that a short run sees a tick or two of nobody, and a tenth of
# a core shows in no run of 40 ms: what was used is looked at over at least so long, back to the
# runs before.
LOOK_BACK_SECONDS = 0.5
FOREIGN_LEAST_SECONDS = 0.03


@kernel
def _sentinel_loop(steps, out):
    digest = 1
    for step in range(steps):
        digest = fold(digest, step)
    out[0] = digest


def sentinel_ns() -> int:
    """Return how long the fixed loop takes now, in ns: the shortest of a few runs.

    The shortest, since an interrupt can only lengthen a run: what is asked is the core's speed.
    """
    out = np.zeros(1, dtype=np.int64)
    _sentinel_loop(1, out)
    durations = []
    for _ in range(SENTINEL_RUNS):
        begin = now()
        _sentinel_loop(SENTINEL_STEPS, out)
        durations.append(now() - begin)
    return min(durations)


@kernel
def _hand_over(words, own, other, begins, most_looks, spent):
    turn = 0
    for run in range(len(spent)):
        begin = now()
        for _ in range(TURNS):
            turn += 1
            if begins:
                store(words, own, turn, RELEASE)
            looks = 0
            while load(words, other, ACQUIRE) < turn:
                looks += 1
                if looks > most_looks:
                    return
            if not begins:
                store(words, own, turn, RELEASE)
        spent[run] = now() - begin


def transfer_ns() -> float | None:
    """Return how long a cache line takes from one core to another now, in ns.

    The shortest of a few runs, between the cores that a run of two threads is pinned to. None where
    there is one core, where threads cannot be pinned, and interpreted, when the interpreter would
    be timed.
    """
    if INTERPRETED or pinning.cores() < 2 or not hasattr(os, "sched_setaffinity"):
        return None
    apart = 2 * LINE_WORDS  # processors fetch lines in pairs
    words, spent = aligned_words(2 * apart), np.zeros((2, TURN_RUNS), dtype=np.int64)
    _hand_over(words, 0, apart, True, MOST_LOOKS, spent[0, :0])

    def hand_over(place: int) -> None:
        pinning.pin_this_thread(place)
        own, other = place * apart, apart - place * apart
        _hand_over(words, own, other, place == 0, MOST_LOOKS, spent[place])

    threads = [threading.Thread(target=hand_over, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shortest = int(spent[0].min())
    return round(shortest / (2 * TURNS), 1) if shortest else None


class Observed(NamedTuple):
    """What happened on the machine during a run; None where it does not tell."""

    foreign_cores: float | None
    steal_cores: float | None
    sentinel_drift: float
    transfer_ns: float | None
    load_before: float | None
    load_after: float | None
    noisy: bool


class _Counters(NamedTuple):
    at: float
    busy: float
    own: float
    steal: float


# What was counted before, oldest first, as far back as anybody looks.
_before: deque[_Counters] = deque()


def _counters() -> _Counters:
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    steal = getattr(times, "steal", 0.0)
    # guest time is contained in user time; steal is no work of anyone here.
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    busy = sum(times) - idle - steal - guest
    return _Counters(now() / 1e9, busy, time.process_time(), steal)


def _remembered(end: _Counters) -> _Counters:
    """Return the last counters that lie far enough back, the first of all if none do."""
    while len(_before) > 1 and _before[1].at <= end.at - LOOK_BACK_SECONDS:
        _before.popleft()
    _before.append(end)
    return _before[0]


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


class _Speed(NamedTuple):
    """Of a core, and of what goes from one to another."""

    at: float
    loop_ns: int
    transfer_ns: float | None


_last_speed: _Speed | None = None


def _speed() -> _Speed:
    global _last_speed
    loop, transfer = sentinel_ns(), transfer_ns()
    _last_speed = _Speed(now() / 1e9, loop, transfer)
    return _last_speed


class Watch:
    """Observes the machine from its construction to ``done``, around one run."""

    def __init__(self) -> None:
        self._load = _load()
        known = _last_speed
        fresh = known is not None and now() / 1e9 - known.at < FRESH_SECONDS
        self._speed = known if fresh else _speed()
        self._begin = _counters()
        _remembered(self._begin)

    def done(self) -> Observed:
        """Return what was seen."""
        end = _counters()
        # The run itself where it was long, else with what came before it.
        begin = min(self._begin, _remembered(end), key=lambda one: one.at)
        if end.at - self._begin.at >= LOOK_BACK_SECONDS:
            begin = self._begin
        before, after = self._speed, _speed()
        drift = (after.loop_ns - before.loop_ns) / before.loop_ns
        ways = [speed.transfer_ns for speed in (before, after) if speed.transfer_ns]
        moved = bool(ways) and max(ways) > MOVED * min(ways)
        seconds = max(end.at - begin.at, 1e-9)
        foreign = max(end.busy - begin.busy - (end.own - begin.own), 0.0)
        steal = end.steal - begin.steal
        disturbed = max(foreign, steal)
        busy = disturbed > FOREIGN_LEAST_SECONDS and disturbed / seconds > FOREIGN_LIMIT_CORES
        noisy = moved or busy or abs(drift) > DRIFT_LIMIT
        return Observed(
            round(foreign / seconds, 4),
            round(steal / seconds, 4),
            round(drift, 5),
            max(ways, default=None),
            self._load,
            _load(),
            noisy,
        )


def foreign_cores(seconds: float) -> float:
    """Return how many cores other processes kept busy during the next `seconds`."""
    begin = _counters()
    # An Event nobody sets is a wait that Ctrl-C ends.
    threading.Event().wait(seconds)
    end = _counters()
    foreign = end.busy - begin.busy - (end.own - begin.own)
    return max(foreign, 0.0) / max(end.at - begin.at, 1e-9)


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def cpu_model() -> str:
    """Return the processor's name as the system gives it."""
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def governor() -> str | None:
    """Return the frequency governor of the first core, or None where there is none to see."""
    return _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def clock_source() -> str | None:
    """Return what the kernel reads the time from, or None where it does not say."""
    return _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def _stable() -> dict[str, Any]:
    changed = _git("status", "--porcelain", "--", "operators", "experiments", "datasets")
    smt = _read("/sys/devices/system/cpu/smt/active")
    return {
        "cpu_model": cpu_model(),
        "cores": pinning.cores(),
        "cores_of_machine": os.cpu_count(),
        "smt": None if smt is None else smt == "1",
        "governor": governor(),
        "clock_source": clock_source(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "interpreted": INTERPRETED,
        "commit": _git("rev-parse", "HEAD"),
        "dirty": None if changed is None else bool(changed),
        "lock": lock_digest(),
    }


@cache
def identity() -> str:
    """Return what tells this machine from others in keys and rows: a hash, which names nobody."""
    text = f"{platform.node()} {cpu_model()} {pinning.cores()}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def provenance() -> dict[str, Any]:
    """Return what a raw result must carry to be understood later.

    Returns
    -------
    dict
        Among others ``id``: equal for two processes exactly when machine, packages and commit are.
        The command line and the load are recorded beside it.
    """
    stable = {**_stable(), "machine": identity()}
    text = json.dumps(stable, sort_keys=True)
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:16],
        **stable,
        "argv": list(sys.argv),
        "load": _load(),
    }
