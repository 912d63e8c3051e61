"""Processor time of a run's steps in Spark's workers: one small file of notes per task.

::

    Spark's worker --> TimedStep ......... what the notes count
        records of Arrow, in and out       (nothing: it is not a step)
        the step around its instances      step - kernel
            Instance.step: merger, kernels, balancer      kernel

All times are processor time of the stepping thread; waiting for Spark does not count.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from operators.streamcloud.carriers.spark.steps import BATCH
from operators.streamcloud.instance import Instance

# Total over all instances of this process, in ns.
_kernel_ns = 0
_plain: Callable | None = None


class Spent(NamedTuple):
    """Processor seconds of steps: in all, and in instances; and the number of steps."""

    step: float
    kernel: float
    tasks: int


@dataclass(frozen=True)
class TimedStep:
    """A step that writes the processor time it used into a folder.

    Parameters
    ----------
    step : callable
        Maps records to records.
    folder : str
    """

    step: Callable[[Iterable[Any]], Iterator[Any]]
    folder: str

    def __call__(self, records: Iterable[Any]) -> Iterator[Any]:
        """Run the step."""
        from pyspark import TaskContext

        _time_instances()
        kernel_before, used, outside = _kernel_ns, 0, 0

        def handed() -> Iterator[Any]:
            nonlocal outside
            source = iter(records)
            while True:
                begin = time.thread_time_ns()
                try:
                    record = next(source)
                except StopIteration:
                    return
                finally:
                    outside += time.thread_time_ns() - begin
                yield record

        found = self.step(handed())
        while True:
            begin = time.thread_time_ns()
            record = next(found, None)
            used += time.thread_time_ns() - begin
            if record is None:
                break
            yield record
        batch = TaskContext.get().getLocalProperty(BATCH)
        noted = {
            "batch": None if batch is None else int(batch),
            "step_ns": used - outside,
            "kernel_ns": _kernel_ns - kernel_before,
        }
        Path(self.folder, f"{uuid4().hex}.json").write_text(json.dumps(noted))


@dataclass(frozen=True)
class Around:
    """Turns a step into a timed one."""

    folder: str

    def __call__(self, step: Callable) -> TimedStep:
        """Return the step, timed."""
        return TimedStep(step, self.folder)


def _time_instances() -> None:
    """Make the instances of this process add up the time they use; done once."""
    global _plain
    if _plain is not None:
        return
    plain = _plain = Instance.step

    def timed(self: Instance, rows: Any) -> Any:
        global _kernel_ns
        begin = time.thread_time_ns()
        try:
            return plain(self, rows)
        finally:
            _kernel_ns += time.thread_time_ns() - begin

    Instance.step = timed


def spent(folder: Path, from_batch: int | None = None) -> Spent | None:
    """Return the sum of the notes of all batches from `from_batch` on; without batches, of all.

    None if there are no notes.
    """
    notes = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    if not notes:
        return None
    kept = [each for each in notes if from_batch is None or each["batch"] >= from_batch]
    step, kernel = (sum(each[name] for each in kept) / 1e9 for name in ("step_ns", "kernel_ns"))
    return Spent(step, kernel, len(kept))
