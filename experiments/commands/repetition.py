"""One repetition of a bench: each variant once, in a seeded random order.

``millrace bench --repeat N`` starts this module as a fresh process N times: where memory comes to
lie, and how a queue settles, is decided once a process, so that runs of one process are alike and
say little about the next.
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
from experiments.timing.point import measure
from operators import registry
from operators.contract import UsageError
from operators.running.crew import RunFailed
from operators.running.interrupts import interrupts_kept

INTERRUPTED = 130


class Spec(NamedTuple):
    """What a repetition measures; everything in it has a form in JSON.

    Attributes
    ----------
    family : str
    variants : sequence of [id, settings]
    rate : "max" or float
    seconds : float
    number, of : int
        Which repetition this is, from 1, and how many there are.
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
        The objects of `experiments.timing.point.measure`, in the order of the variants.

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

    It has ``results``, or why there are none: ``refused`` or ``failed``. The process that started
    this one says so to the user.
    """
    spec = Spec(**json.loads(sys.argv[1]))
    try:
        with interrupts_kept():
            answer: dict[str, Any] = {"results": measure_each(spec)}
    except UsageError as error:
        answer = {"refused": str(error)}
    except RunFailed as error:
        answer = {"failed": str(error)}
    except KeyboardInterrupt:
        return INTERRUPTED
    print(json.dumps(answer, allow_nan=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
