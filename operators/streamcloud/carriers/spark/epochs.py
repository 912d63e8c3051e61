"""A stream that continues with other numbers of instances: from one epoch to the next.

::

    work/epochs.json      [{"instances": {"known": 2}, "batch": -1, "seq": 0},
                           {"instances": {"known": 3}, "batch": 17, "seq": 18}]
    work/epochs/1/busy    tuples carried to an output by the split
    work/states/1         states of instances, from behind batch 17 on

An *epoch* is a run of batches with the same instances. Spark keeps nothing of a stream that depends
on them: the checkpoint says which chunks are in which batch. So it is enough to split the state
behind the last committed batch (`operators.streamcloud.rescaling`), before the query starts. The
traces of an uncommitted batch are in the folder of the old epoch, which is no longer read.

Rows for outputs have the numbers of their senders, and these change. But the sequence numbers of
the rows of an epoch are greater than those of all earlier ones, so that each row is sorted by the
senders that existed when it was sent.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from operators.contract import UsageError
from operators.running.whole import why, write_whole
from operators.streamcloud.carriers.spark.job import MANIFEST, Job
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.compiler import with_instances
from operators.streamcloud.merger import Transparent, merger_of
from operators.streamcloud.plan import Plan
from operators.streamcloud.rescaling import carry_over, rescaled
from operators.streamcloud.rows import Row
from operators.streamcloud.saved import pack_saved, unpack_saved
from operators.streamcloud.sources import OutputSink
from operators.streamcloud.states import instances_of

_EPOCHS = "epochs.json"


class Epoch(NamedTuple):
    """A run of batches with the same instances.

    Attributes
    ----------
    instances : dict of str to int
        By stage.
    batch : int
        The last one before the epoch; -1 for the first epoch.
    seq : int
        The least sequence number of a row from an instance of the epoch.
    """

    instances: dict[str, int]
    batch: int
    seq: int


def states_of(job: Job) -> Path:
    """Return the folder of the states of a job's instances.

    If the last run had other numbers of instances, the state is split first.

    Raises
    ------
    UsageError
        When it cannot be split, or a file of it is missing, damaged or cannot be written.
    """
    epochs, mine = _read(job.work), instances_of(job.plan)
    try:
        last = _last_batch(job)
        if not epochs or (len(epochs) == 1 and last < 0 and epochs[0].instances != mine):
            # No batch was committed yet.
            _clear(job.states)
            epochs = [Epoch(mine, -1, 0)]
            _write(job.work, epochs)
        elif epochs[-1].instances != mine:
            epochs.append(_split(job, epochs, max(last, epochs[-1].batch)))
            _write(job.work, epochs)
            _clear(_states_in(job, len(epochs) - 2))
    except OSError as error:
        raise UsageError(f"{job.work}: cannot be written: {why(error)}") from error
    return _states_in(job, len(epochs) - 1)


def _last_batch(job: Job) -> int:
    """Return the last committed batch; -1 if there is none.

    Spark records it twice, and may have been killed in between.
    """
    noted = (job.checkpoint / "commits", job.out / MANIFEST)
    names = [path.name for folder in noted if folder.is_dir() for path in folder.iterdir()]
    numbers = [name.removesuffix(".compact") for name in names]
    return max((int(number) for number in numbers if number.isdigit()), default=-1)


def _split(job: Job, epochs: Sequence[Epoch], batch: int) -> Epoch:
    """Split the state behind a batch, and return the epoch that begins there."""
    before = with_instances(job.plan, epochs[-1].instances)
    store = StateFiles(_states_in(job, len(epochs) - 1), job.keep)
    states = {
        f"stages/{stage.name}/{number}": pack_saved(store.read(place, number, batch + 1))
        for place, stage in enumerate(before.stages)
        for number in range(stage.instances)
    }
    split = rescaled(before, job.plan, states, job.coding.codes)
    folder, outputs = _states_in(job, len(epochs)), _outputs_in(job.work, len(epochs))
    # A process that was killed here may have left a part of them.
    for each in (folder, outputs):
        _clear(each)
    outputs.mkdir(parents=True)
    others = StateFiles(folder, job.keep)
    for place, stage in enumerate(job.plan.stages):
        for number in range(stage.instances):
            saved = unpack_saved(split.states[f"stages/{stage.name}/{number}"])
            others.begin(place, number, batch, saved)
    for sink in job.plan.sinks:
        name = sink.output.name
        write_whole(outputs / name, split.states[f"outputs/{name}"])
    return Epoch(instances_of(job.plan), batch, split.seq)


def _states_in(job: Job, epoch: int) -> Path:
    return job.states / str(epoch)


def _outputs_in(work: Path, epoch: int) -> Path:
    return work / "epochs" / str(epoch)


def _clear(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)


def _read(work: Path) -> list[Epoch]:
    """Return the epochs of a folder; none if no stream began there."""
    path = work / _EPOCHS
    if not path.is_file():
        return []
    try:
        return [Epoch(**each) for each in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}; give a new folder") from error


def _write(work: Path, epochs: Sequence[Epoch]) -> None:
    said = json.dumps([each._asdict() for each in epochs], indent=1)
    write_whole(work / _EPOCHS, said.encode())


# --- outputs --------------------------------------------------------------------------------------


class Output(OutputSink):
    """An output that takes rows from all epochs of a job.

    Parameters
    ----------
    job : Job
    number : int
        The number of the output in the query.
    kept : bool
        Whether to keep the tuples that come out; else only the progress.
    """

    def __init__(self, job: Job, number: int, kept: bool = True) -> None:
        sink = job.plan.sinks[number]
        super().__init__(job.plan, sink)
        self._kept = kept
        epochs = _read(job.work)
        self._begins = [epoch.seq for epoch in epochs[1:]]
        self._carried = [
            (_outputs_in(job.work, epoch) / sink.output.name).read_bytes()
            for epoch in range(1, len(epochs))
        ]
        self._before = [_merger(job.plan, epoch, number) for epoch in epochs[:-1]]

    def take(self, rows: Sequence[Row]) -> None:
        """Take rows; the first call must have all rows of earlier epochs."""
        mergers = [*self._before, self.merger]
        for at, (begin, carried) in enumerate(zip(self._begins, self._carried, strict=True)):
            old, new = mergers[at : at + 2]
            for given in old.take([row for row in rows if row.seq < begin]):
                self.keep(given.batches[0])
            rows = [row for row in rows if row.seq >= begin]
            new.load(unpack_saved(carried))
            carry_over(old.sides[0], new.sides[0])
        self._before, self._begins, self._carried = [], [], []
        super().take(rows)

    def keep(self, batch: np.ndarray) -> None:
        """Keep tuples that came out, if the output keeps them."""
        if self._kept:
            super().keep(batch)


def _merger(plan: Plan, epoch: Epoch, number: int) -> Transparent:
    of_epoch = with_instances(plan, epoch.instances)
    return merger_of(of_epoch, [of_epoch.sinks[number].feeds])
