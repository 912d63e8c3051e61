"""One repetition of a bench: each variant once, in a seeded random order.

``millrace bench --repeat N`` starts this module N times as a fresh process: memory layout and the
equilibrium of queues are decided once per process, so that the runs of one process resemble each
other and say little about the next process.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from experiments import families
from experiments.commands.output import LiveLine
from experiments.timing import isolation
from experiments.timing.run_row import measure
from operators import registry
from operators.contract import UsageError
from operators.running.interrupts import how_it_ended, interrupts_kept
from operators.running.run_threads import RunFailed


class Spec(NamedTuple):
    """The measurement of a repetition; every field can be written as JSON.

    Attributes
    ----------
    family : str
    variants : sequence of [id, settings]
    rate : "max" or float
    seconds : float
    number, of : int
        The number of this repetition, from 1, and the total.
    """

    family: str
    variants: Sequence[tuple[str, Mapping[str, str]]]
    rate: str | float
    seconds: float
    number: int = 1
    of: int = 1


def measure_each(spec: Spec) -> list[dict[str, Any]]:
    """Measure every variant of `spec` once, alone on the machine.

    Returns
    -------
    list of dict
        The objects of `experiments.timing.run_row.measure`, in the order of the variants.

    Raises
    ------
    UsageError, RunFailed
        As ``measure`` does.
    """
    order = list(range(len(spec.variants)))
    random.Random(spec.number).shuffle(order)
    found: dict[int, dict[str, Any]] = {}
    line = LiveLine()
    try:
        with isolation.alone():
            isolation.wait_for_quiet()
            for place in order:
                variant, settings = spec.variants[place]
                what = f"{registry.called(spec.family)} {variant}"
                if spec.of > 1:
                    what = f"{spec.number} of {spec.of}, {what}"
                bench = families.ready(spec.family, variant, dict(settings))
                found[place] = measure(
                    bench,
                    spec.rate,
                    spec.seconds,
                    progress=lambda text, what=what: line.say(f"{what}: {text}"),
                )
    finally:
        line.clear()
    return [found[place] for place in range(len(spec.variants))]


def main() -> int:
    """Measure the spec in the first argument and print one JSON object.

    The object has ``results``, or the reason for their absence: ``refused`` or ``failed``. The
    parent process reports it to the user.
    """
    spec = Spec(**json.loads(sys.argv[1]))
    try:
        with interrupts_kept():
            answer: dict[str, Any] = {"results": measure_each(spec)}
    except UsageError as error:
        answer = {"refused": str(error)}
    except RunFailed as error:
        answer = {"failed": str(error)}
    except KeyboardInterrupt as error:
        return how_it_ended(error)[1]
    print(json.dumps(answer, allow_nan=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
