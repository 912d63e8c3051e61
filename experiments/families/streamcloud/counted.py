"""The counting run: a plan on one thread, with any number of instances.

The tuples that instances compare, take and send depend on the plan and the streams and on no clock,
so that one thread can count the work of ninety instances. Windows fill first; then the work of a
fixed number of tuples is counted. Such a run does not measure time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from experiments.families.streamcloud.columns import OWN_PHASES_COLUMNS
from experiments.families.streamcloud.counting import counts_of
from experiments.families.streamcloud.expected import compared_with
from experiments.families.streamcloud.parts import TimedParts
from experiments.timing.threads import hexadecimal
from operators.core.atomics import now
from operators.streamcloud.carriers import serial
from operators.streamcloud.instance import Work
from operators.streamcloud.parts import Sent
from operators.streamcloud.rows import Row, pack

if TYPE_CHECKING:
    from experiments.families.streamcloud.bench import StreamcloudBench

# Minimum tuples whose work is counted, and minimum slices.
LEAST, LEAST_SLICES = 1 << 14, 8

Works = dict[tuple[str, int], Work]


class CountedParts(TimedParts):
    """A plan's parts that note their work when windows are full.

    Attributes
    ----------
    first : int
        Number of tuples after which windows are full.
    """

    first = 0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._before: tuple[int, Works, Work] | None = None
        self._to_outputs = Work()

    def next_blob(self) -> list[Sent]:
        """Return the rows of the source's next share of a slice."""
        if self._before is None and self.source.tuples >= self.first:
            self._before = self.source.tuples, self.work(), self._to_outputs
        return super().next_blob()

    def keep(self, place: int, rows: Sequence[Row]) -> None:
        """Let an output take rows, and add them to the work sent to outputs."""
        for row in rows:
            sent = Work(rows_out=1, tuples_out=row.batch.shape[1], bytes_out=len(pack(row)))
            self._to_outputs += sent
        super().keep(place, rows)

    def counted(self) -> dict[str, Any]:
        """Return the counts of the tuples that came after windows were full."""
        tuples, before, to_outputs = self._before
        works = {each: _difference(work, before[each]) for each, work in self.work().items()}
        sent = _difference(self._to_outputs, to_outputs)
        return counts_of(self.plan, works, sent, self.source.tuples - tuples)


def _difference(work: Work, before: Work) -> Work:
    return Work(*(getattr(work, f.name) - getattr(before, f.name) for f in fields(Work)))


def run(bench: StreamcloudBench) -> dict[str, Any]:
    """Run once and return the measured columns."""
    wall, begin = time.time_ns(), now()
    blob = bench.settings["blob"]
    total = bench.filling + max(LEAST, LEAST_SLICES * blob)
    parts = CountedParts(bench.plan, bench.streams, total, blob, hashed=bench.is_best_effort)
    parts.first = bench.filling
    serial.run(parts)
    ended = now()
    checked = compared_with(bench, parts)
    return {
        **dict.fromkeys(OWN_PHASES_COLUMNS),
        **parts.counted(),
        "idle_by_rounding": bench.idle,
        # A valid row needs a rate, although no quantity of this phase uses it.
        "throughput_tps": total / ((ended - begin) / 1e9),
        "of_whole_run": True,
        "tuples": total,
        "seconds": (ended - begin) / 1e9,
        "outputs": checked.rows,
        "compared": sum(each.comparisons for each in parts.work().values()),
        "compared_a_tuple": parts.compared_a_tuple(),
        "late_tuples": checked.late,
        "lost_rows": checked.lost,
        "digest": hexadecimal(checked.digest),
        "oracle_digest": hexadecimal(checked.oracle),
        "valid": checked.problem is None,
        "invalid_reason": checked.problem,
        "started_at": wall,
        "ended_at": wall + ended - begin,
        "started_monotonic": begin,
        "ended_monotonic": ended,
    }
