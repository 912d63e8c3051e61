"""Transcripts run on a level of Spark's chain: a batch is a step; one job has all steps.

`transcripts` plays them on one instance; here the steps are tasks that read the state of the
previous batch and write the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import pytest

from operators.contract import UsageError
from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.carriers.spark.levels import Levels
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.carriers.spark.steps import LevelStep, Shared, refusals
from operators.streamcloud.carriers.spark.wire import Carried
from operators.streamcloud.coding import Coding
from operators.streamcloud.rows import END, Row, sender_number
from tests.covering import compiled_few
from tests.operators.streamcloud import transcripts
from tests.operators.streamcloud.spark.pretending import in_task
from tests.operators.streamcloud.test_transcripts import COMPILED, named, right, transparent, wrong


class OnLevel:
    """An instance that runs each step as a task of a stream's level, or as a separate batch job."""

    def __init__(self, transcript, folder, in_order):
        plan, levels = transcript.plan, Levels(transcript.plan)
        self._plan, self._stage = plan, transcript.stage
        self._place = [stage.name for stage in plan.stages].index(transcript.stage)
        level = levels.of_place[self._place]
        self._slot = levels.slot(level, self._place, transcript.number)
        store = None if in_order else StateFiles(Path(mkdtemp(dir=folder)))
        self._step = LevelStep(Shared.of(plan, Coding()), level, store)
        self._targets = [
            (place, each.side, sender_number(plan, each, transcript.number))
            for each, place in zip(
                plan.channels_from(self._stage), levels.receivers[self._stage], strict=True
            )
        ]
        self._in_order, self._batch = in_order, 0

    def step(self, rows):
        """Return the sent rows by channel, as an instance does."""
        carried = [Carried(self._slot, self._place, 0, row) for row in rows]
        if self._in_order:
            carried = by_begin(carried)
        batches = [wire.to_arrow(carried)] if carried else []
        with in_task(self._slot, batch=self._batch), refusals():
            sent = [each for batch in self._step(batches) for each in wire.from_arrow(batch)]
        self._batch += 1
        found = [[] for _ in self._targets]
        for each in sent:
            found[self._targets.index((each.place, each.row.side, each.row.sender))].append(
                each.row
            )
        return [sorted(rows, key=lambda row: (row.seq, row.dest)) for rows in found]


@dataclass(frozen=True)
class OnSpark(transcripts.Transcript):
    """A transcript that is played on a level."""

    folder: Path
    in_order: bool

    def instance(self):
        """Return a level with the instance in the initial state."""
        return OnLevel(self, self.folder, self.in_order)


def on_spark(transcript, folder, in_order=False):
    fields = transcripts.Transcript.__dataclass_fields__
    return OnSpark(*(getattr(transcript, name) for name in fields), folder, in_order)


def by_begin(carried):
    """Return rows sorted by their senders' previous promise, as Spark sorts them."""
    promised, found = {}, []
    for each in sorted(carried, key=lambda each: each.row.seq):
        sender = each.row.side, each.row.sender
        found.append(each._replace(begin=promised.get(sender, 0)))
        promised[sender] = max(promised.get(sender, 0), each.row.progress)
    return sorted(found, key=lambda e: (e.begin, e.place, e.row.side, e.row.sender, e.row.seq))


@pytest.mark.parametrize("name", compiled_few(right(), COMPILED))
def test_batches_answer_what_the_transcript_says(name, tmp_path):
    transcript = named(name)
    if transcripts.is_transparent(transcript):
        assert list(transcripts.play(on_spark(transcript, tmp_path))) == []
        return
    # A batch is processed in the order of the senders, regardless of arrival order.
    steps = [[row] for rows, _ in transcript.steps for row in rows]
    assert transcripts.in_all(on_spark(transcript, tmp_path), steps) == transcripts.in_all(
        transcript, steps
    )


@pytest.mark.parametrize("name", compiled_few(wrong(), ["wrong-tuple"]))
def test_a_transcript_that_is_wrong_is_found_out(name, tmp_path):
    complaints = list(transcripts.play(on_spark(named(name), tmp_path)))
    assert any(named(name).wrong in each for each in complaints), complaints


@pytest.mark.parametrize("name", compiled_few(transparent(), COMPILED))
def test_how_rows_are_put_into_batches_does_not_show(name, tmp_path):
    transcript = named(name)
    steps = [rows for rows, _ in transcript.steps]
    rows = [row for step in steps for row in step]
    expected = transcripts.in_all(transcript, steps)
    for given in ([rows], [[row] for row in rows], [rows[::-1]], [[row] for row in rows[::-1]]):
        assert transcripts.in_all(on_spark(transcript, tmp_path), given) == expected
    random = Random(46)
    for _ in range(4):
        shuffled = random.sample(rows, len(rows))
        cuts = sorted(random.randint(0, len(rows)) for _ in range(3))
        pieces = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        pieces.insert(2, rows[:1])
        assert transcripts.in_all(on_spark(transcript, tmp_path), pieces) == expected


def is_closed(transcript):
    last: dict[tuple[int, int], Row] = {}
    for rows, _ in transcript.steps:
        for row in rows:
            last[row.side, row.sender] = max(row, last.get((row.side, row.sender), row),
                                             key=lambda row: row.seq)  # fmt: skip
    return all(row.progress == END for row in last.values())


@pytest.mark.parametrize("name", compiled_few(transparent(), COMPILED))
def test_a_batch_job_answers_what_all_steps_do(name, tmp_path, monkeypatch):
    transcript = named(name)
    rows = [row for step, _ in transcript.steps for row in step]
    if not is_closed(transcript):
        with pytest.raises(UsageError, match="does not close it|is missing"):
            transcripts.in_all(on_spark(transcript, tmp_path, in_order=True), [rows])
        return
    expected = transcripts.in_all(transcript, [step for step, _ in transcript.steps])
    for waiting in (1, 100, 1 << 24):
        monkeypatch.setattr("operators.streamcloud.carriers.spark.steps.MOST_WAITING", waiting)
        assert in_all_rows(on_spark(transcript, tmp_path, in_order=True), rows) == expected, waiting


def in_all_rows(transcript, rows):
    """Return the rows sent in a single job, in which an instance may step often."""
    sent = transcript.instance().step(rows)
    whole = {}
    for channels, found in zip(transcript.plan.channels_from(transcript.stage), sent, strict=True):
        for row in found:
            _, tuples = whole.get((channels.receiver, row.dest), (0, []))
            whole[channels.receiver, row.dest] = row.progress, tuples + row.batch.T.tolist()
    return whole


def test_there_are_transcripts_of_each_kind():
    closed = [name for name in transparent() if is_closed(named(name))]
    assert len(closed) >= 5 and wrong()
