"""Whether a run was in steady state, whether the rate was sustained, and who is at fault if not.

The main thread samples how many tuples the run has processed. In an open run the backlog at a
sample is the number of tuples due by then and not yet processed; a line is fitted to it over the
measured part. A rate is *sustained* when even the upper bound of the slope's confidence interval
stays below a hundredth of the offered rate, and *exceeded* (saturated) when even the lower bound
lies above; between the two the run was too short to decide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from experiments.records.statistics import trend
from operators.running import pinning
from operators.running.control import BLOCKED_NS, ENDED, LAST_LATE_NS, WAITED_NS
from operators.running.run_threads import Outcome

# Growth of the backlog over the offered rate that counts as none (design, measurement 4: achieved
# over offered is at least 0.99).
LEVEL_SLOPE = 0.01
# Rates of the two halves of the measured part that differ by less are steady.
STEADY = 0.1
# In less, threads that share cores have had only a few turns each, which makes the halves differ.
LEAST_STEADY_SECONDS = 0.2
# Below this share of a core, an input thread that was behind was starved by other processes.
LEAST_CORE_SHARE = 0.9
# Lateness below this share of the run is no missed rate, nor is one turn of another thread.
LATE_SHARE = 0.01
LEAST_LATE_NS = 5_000_000


class Judged(NamedTuple):
    """Judgement of a run by its samples; None where there are too few.

    Attributes
    ----------
    rate_tps : float or None
        Rate of processing in the measured part, without filling and draining.
    steady : bool or None
    slope, slope_upper : float or None
        Growth of the backlog over the offered rate, and its upper confidence bound.
    saturated : bool
    """

    rate_tps: float | None
    steady: bool | None
    slope: float | None
    slope_upper: float | None
    saturated: bool


def judge(outcome: Outcome, measured: tuple[int, int], offered_tps: float | None) -> Judged:
    """Return the judgement of a run by its samples.

    Parameters
    ----------
    outcome : Outcome
    measured : (int, int)
        The ranks between which the measured part lies: without the tuples that only fill the
        structures, and without those that drain from them.
    offered_tps : float or None
    """
    first, last = measured
    seconds = (outcome.sampled_ns - outcome.go_ns) / 1e9
    processed = outcome.processed.astype(float)
    if offered_tps is None:
        begin, end = outcome.passed_ns
        rate = 1e9 * (last - first) / (end - begin) if 0 < begin < end else None
        inside = (processed >= first) & (processed < last)
    else:
        inside = (seconds >= first / offered_tps) & (seconds < last / offered_tps)
    seconds, processed = seconds[inside], processed[inside]
    fitted = trend(seconds, processed)
    steady = _steady(seconds, processed)
    if offered_tps is None:
        return Judged(rate, steady, None, None, False)
    if fitted is None:
        # Too short for samples: the only evidence is whether it took longer than planned.
        return Judged(None, steady, None, None, outcome.seconds > last / offered_tps / 0.85)
    # The backlog is due minus processed tuples, and so the slope is the difference of the rates.
    slope = 1 - fitted.slope / offered_tps
    lower, upper = 1 - fitted.upper / offered_tps, 1 - fitted.lower / offered_tps
    return Judged(fitted.slope, steady, slope, upper, lower > LEVEL_SLOPE)


def _steady(seconds: np.ndarray, processed: np.ndarray) -> bool | None:
    if seconds.size < 10 or np.ptp(seconds) < LEAST_STEADY_SECONDS:
        return None
    half = (seconds[0] + seconds[-1]) / 2
    halves = [trend(seconds[part], processed[part]) for part in (seconds < half, seconds >= half)]
    if None in halves or halves[0].slope <= 0:
        return None
    return bool(abs(halves[1].slope / halves[0].slope - 1) <= STEADY)


def injector_fault(outcome: Outcome, inputs: range, threads: int) -> str | None:
    """Return why an open run is no measurement although the output was right, or None.

    The offered rate was missed although the operator took every tuple at once: an input thread was
    late by more than the time it waited for room, and did not have a core meanwhile. When the
    setting is oversubscribed (more threads than cores) this is no fault, and the point is marked
    instead.
    """
    if threads > pinning.cores():
        return None
    late, blocked, waited, ended = (
        outcome.words(word, inputs) for word in (LAST_LATE_NS, BLOCKED_NS, WAITED_NS, ENDED)
    )
    wall = ended - outcome.go_ns
    missed = late - blocked > np.maximum(LATE_SHARE * wall, LEAST_LATE_NS)
    starved = outcome.cpu_ns[list(inputs)] < LEAST_CORE_SHARE * (wall - blocked - waited)
    for place in np.flatnonzero(missed & starved):
        return (
            f"input {place} offered its last tuple {late[place] / 1e6:.1f} ms late although the"
            " operator took every tuple at once: it was not given its core"
        )
    return None
