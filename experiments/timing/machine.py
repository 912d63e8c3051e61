"""The machine under the measurement: hardware, software, disturbances, distances between cores.

``provenance`` describes the state that is constant during a repetition and is stored once a file.
``Watch`` observes the changes before and after each run: load, foreign and stolen processor time,
the *sentinel*, a fixed loop whose duration shows the processor's speed, and the distance between
cores. A run is *noisy* when other processes took time or cores were moved meanwhile, and for no
other reason. A drift of the sentinel by a few percent is none: on a virtual machine it drifts
around most runs, and a flag on most rows carries no information. The sentinel's level is in the
row.

The cores of a virtual machine may lie side by side or on two dies, and the host moves them without
notice. Between two cores of an EPYC a cache line took 55 to 62 ns, or 259 to 278, and a T-Gate
between them made 34 to 47 M tuples/s, or 11 to 12 (14 runs, one check before each; in one the cores
must have moved between check and run). No counter shows the distance: two threads pass a word back
and forth.
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
from operators.running import descendants, pinning

ROOT = Path(__file__).resolve().parents[2]
SENTINEL_STEPS = 2_000 if INTERPRETED else 500_000
SENTINEL_RUNS = 3
# How often a word goes to another core and back, how often that is timed, and how often a thread
# polls for the other's word: for part of a second, in which another program may have that core.
TURNS = 200
TURN_RUNS = 3
MOST_LOOKS = 1 << 27
# A measurement after one run also serves before the next, when it follows this soon.
FRESH_SECONDS = 0.2
# A neighbour that takes a tenth of a core changes the third digit; less is a shell prompt.
FOREIGN_LIMIT_CORES = 0.1
# The system counts ticks of 10 ms, so that a short run shows a tick or two of background, and a
# tenth of a core shows in no run of 40 ms: usage is measured over at least this time, back to the
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

    The shortest, since an interrupt can only lengthen a run: the loop measures the core's speed.
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

    The shortest of a few runs, between the cores that a run of two threads is pinned to. None with
    one core, without pinning, and when interpreted, which would time the interpreter.
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
    """Observations of the machine during a run; None where the system does not report one."""

    foreign_cores: float | None
    steal_cores: float | None
    sentinel_ns: int
    sentinel_drift: float
    transfer_ns: float | None
    transfer_before_ns: float | None
    transfer_after_ns: float | None
    load_before: float | None
    load_after: float | None
    noisy: bool


class _Counters(NamedTuple):
    at: float
    busy: float
    own: float
    steal: float


# Earlier counters, oldest first, as far back as ``LOOK_BACK_SECONDS`` needs.
_before: deque[_Counters] = deque()
# A child's processor time begins at 0: against counters of its parent, all that the parent had used
# would be a neighbour's.
os.register_at_fork(after_in_child=_before.clear)
# Whether child processes are part of the measurement. To look for them takes some milliseconds,
# which a bench of threads need not spend.
_with_descendants = False


def count_descendants() -> None:
    """Count the processor time of child processes as this process's, not as a neighbour's."""
    global _with_descendants
    _with_descendants = True
    _before.clear()


def _counters() -> _Counters:
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    steal = getattr(times, "steal", 0.0)
    # guest time is contained in user time; steal is no work of anyone here.
    guest = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    busy = sum(times) - idle - steal - guest
    own = time.process_time() + (sum(descendants.used()) if _with_descendants else 0.0)
    return _Counters(now() / 1e9, busy, own, steal)


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
    """The speed of a core, and of a transfer between two cores."""

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
    """Observes the machine from its construction to ``done``, around one run of some threads.

    The distance between cores is measured anew before and after each run of more than one thread: a
    host moves cores within seconds, and far cores double the length of a run of two threads.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._load = _load()
        known = _last_speed
        fresh = known is not None and now() / 1e9 - known.at < FRESH_SECONDS
        self._speed = known if fresh else _speed()
        if fresh and threads > 1:
            self._speed = known._replace(transfer_ns=transfer_ns())
        self._begin = _counters()
        _remembered(self._begin)

    def done(self) -> Observed:
        """Return the observations."""
        end = _counters()
        # The run alone where it was long, else together with the time before it.
        begin = min(self._begin, _remembered(end), key=lambda one: one.at)
        if end.at - self._begin.at >= LOOK_BACK_SECONDS:
            begin = self._begin
        before, after = self._speed, _speed()
        drift = (after.loop_ns - before.loop_ns) / before.loop_ns
        of_each = (before.transfer_ns, after.transfer_ns) if self._threads > 1 else (None, None)
        ways = [speed.transfer_ns for speed in (before, after) if speed.transfer_ns]
        moved = bool(ways) and max(ways) > MOVED * min(ways)
        seconds = max(end.at - begin.at, 1e-9)
        foreign = max(end.busy - begin.busy - (end.own - begin.own), 0.0)
        steal = end.steal - begin.steal
        disturbed = max(foreign, steal)
        busy = disturbed > FOREIGN_LEAST_SECONDS and disturbed / seconds > FOREIGN_LIMIT_CORES
        return Observed(
            round(foreign / seconds, 4),
            round(steal / seconds, 4),
            (before.loop_ns + after.loop_ns) // 2,
            round(drift, 5),
            max(ways, default=None),
            *of_each,
            self._load,
            _load(),
            noisy=moved or busy,
        )


def foreign_cores(seconds: float) -> float:
    """Return how many cores other processes kept busy during the next `seconds`."""
    begin = _counters()
    # Waiting for an Event that is never set can be ended by Ctrl-C.
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
    """Return the frequency governor of the first core, or None where none is visible."""
    return _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def clock_source() -> str | None:
    """Return the kernel's clock source, or None where it does not say."""
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
    """Return a hash that identifies this machine in keys and rows without naming anybody."""
    text = f"{platform.node()} {cpu_model()} {pinning.cores()}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def provenance() -> dict[str, Any]:
    """Return the provenance that a raw result must carry to be understood later.

    Returns
    -------
    dict
        Among others ``id``: equal for two processes exactly when machine, packages and commit are.
        The command line and the load are recorded, too, outside the ``id``.
    """
    stable = {**_stable(), "machine": identity()}
    text = json.dumps(stable, sort_keys=True)
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:16],
        **stable,
        "argv": list(sys.argv),
        "load": _load(),
    }
