"""A stream on Spark continues with other numbers of instances, from any stop, to the same rows.

All of Millrace's code runs as it does on Spark, which is simulated (`pretending`).
"""

from __future__ import annotations

from random import Random

import pytest

from operators.contract import UsageError
from operators.streamcloud import reference
from operators.streamcloud.algebra import Aggregate, Input, Map, Query
from operators.streamcloud.carriers.spark import epochs, steps
from operators.streamcloud.carriers.spark.epochs import Output, states_of
from operators.streamcloud.carriers.spark.forms import BOUNDED, STREAM
from operators.streamcloud.carriers.spark.job import MANIFEST
from operators.streamcloud.carriers.spark.state_files import StateFiles
from operators.streamcloud.plan import BEST_EFFORT, STRATEGIES
from operators.streamcloud.windows import TimeWindow
from tests.covering import interpreted_is_enough, with_always
from tests.operators.streamcloud.carrying import all_rows, plan_of
from tests.operators.streamcloud.random_queries import random_query, random_streams
from tests.operators.streamcloud.spark.batching import BATCHINGS, shuffled
from tests.operators.streamcloud.spark.chunking import cut_all
from tests.operators.streamcloud.spark.forms import chain_of, coding_of, written
from tests.operators.streamcloud.spark.on_spark import job_of
from tests.operators.streamcloud.spark.pretending import Pretended
from tests.operators.streamcloud.test_carriers import calls_and_suspects, of_each, query_named

SEEDS, AT_ONCE = 60, 6


class Run:
    """A stream over batches of chunks, stopped at times and continued with other instances."""

    def __init__(self, query, streams, batches, folder, random):
        self.query, self.streams, self.folder, self.random = query, streams, folder, random
        self.files = written(folder / "chunks", batches)
        self.batch, self.rows, self.job = 0, [], None

    def go_on(self, plan, batches, calm=False, ended=None):
        """Run `batches` batches, and part of one more, as `ended` says, before the driver dies."""
        self.job = job_of(plan, self.streams, self.folder)
        self.job.begin(STREAM)
        store = StateFiles(states_of(self.job), self.job.keep)
        chain = chain_of(plan, coding_of(self.query, self.streams), store)
        spark = Pretended(chain, self.random, [steps], calm=calm)
        for files in self.files[self.batch : self.batch + batches]:
            self.commit(self.job.checkpoint / "offsets")
            self.rows += spark.batch(self.batch, files)
            self.commit(self.job.out / MANIFEST)
            self.commit(self.job.checkpoint / "commits")
            self.batch += 1
        if ended is not None and self.batch < len(self.files):
            self.commit(self.job.checkpoint / "offsets")
            rows = spark.batch(self.batch, self.files[self.batch])
            if ended == "in the sink":
                self.rows += rows
                self.commit(self.job.out / MANIFEST)
                # Spark reads the sink's note, and skips the batch.
                self.batch += 1

    def commit(self, folder):
        """Note the batch in a folder, as Spark does."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(self.batch)).write_text("v1")
        # The checksum file that Spark leaves there, and cleans up at times.
        (folder / f".{self.batch}.crc").write_text("")

    def found(self):
        """Return the rows of all outputs, which are read in three pieces."""
        outputs = [Output(self.job, number) for number, _ in enumerate(self.job.plan.sinks)]
        stages = len(self.job.plan.stages)
        # Rows of all epochs but the last are present when it begins.
        rows = self.random.sample(self.rows, len(self.rows))
        last = max(epoch.seq for epoch in epochs._read(self.job.work))
        rows.sort(key=lambda each: each.row.seq >= last)
        count = sum(each.row.seq < last for each in rows)
        watched = [Output(self.job, number, kept=False) for number, _ in enumerate(outputs)]
        for piece in (rows[:count], rows[count::2], rows[count + 1 :: 2]):
            for number, beside in enumerate(zip(outputs, watched, strict=True)):
                for output in beside:
                    output.take([each.row for each in piece if each.place == stages + number])
        # Outputs that only watch the progress keep no rows.
        assert all(output.closed and not output._batches for output in watched)
        assert all(output.closed and not output.merger.waiting for output in outputs)
        columns = {each.output.name: each.columns(self.job.coding) for each in outputs}
        return all_rows(self.query, columns)


ENDS = (None, "before the sink", "in the sink")


@interpreted_is_enough
@pytest.mark.parametrize("first", with_always(range(0, SEEDS, AT_ONCE), (6,)))
def test_random_queries_go_on_with_other_instances(first, tmp_path):
    for seed in range(first, first + AT_ONCE):
        random = Random(seed)
        query = random_query(random)
        streams = random_streams(random, query)
        strategy = random.choice(STRATEGIES)
        name = random.choice(sorted(BATCHINGS))
        batches = BATCHINGS[name](cut_all(query, streams, random), random)
        run = Run(query, streams, batches, tmp_path / str(seed), random)
        counts = [random.choice((1, 2, 3, 5)) for _ in range(3)]
        for number, count in enumerate(counts):
            plan = plan_of(query, streams, strategy, of_each(query, strategy, count))
            many = len(batches) if number == 2 else random.randint(0, 1 + len(batches) // 2)
            run.go_on(plan, many, ended=random.choice(ENDS) if number < 2 else None)
        assert run.found() == reference.run(query, streams), (seed, strategy, name, counts)


@interpreted_is_enough
@pytest.mark.parametrize("ended", ENDS)
def test_a_stream_that_was_ended_goes_on_with_other_instances(ended, tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=40)
    expected = reference.run(query, streams)
    assert expected["busy"]
    random = Random(3)
    batches = shuffled(cut_all(query, streams, random, most=15), random)
    run = Run(query, streams, batches, tmp_path, random)
    for count in (2, 3, 3, 1):
        run.go_on(plan_of(query, streams, instances=count), len(batches) // 5, ended=ended)
    run.go_on(plan_of(query, streams, instances=5), len(batches))
    assert run.found() == expected
    # Only the states of the last instances are left.
    assert [path.name for path in (tmp_path / "work" / "states").iterdir()] == ["3"]


@interpreted_is_enough
def test_instances_may_change_before_there_is_a_batch(tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=10)
    random = Random(4)
    batches = shuffled(cut_all(query, streams, random), random)
    run = Run(query, streams, batches, tmp_path, random)
    run.go_on(plan_of(query, streams, instances=3), 0, ended="before the sink")
    run.go_on(plan_of(query, streams, instances=2), len(batches))
    assert run.found() == reference.run(query, streams)
    assert len(epochs._read(tmp_path / "work")) == 1


@interpreted_is_enough
def test_what_comes_to_an_output_by_the_split_is_not_lost(tmp_path, monkeypatch):
    """Maps that are aligned to one time emit the tuples they held, outside any step of Spark's."""
    node = Input("a", {"k": "int64"})
    sums = Aggregate("sums", node, TimeWindow(2, 2), {"n": "count()"}, ["k"])
    later = Map("later", sums, {"ts": "ts // 3 * 3 + 1", "k": "k", "n": "n"})
    last = Aggregate("last", later, TimeWindow(5, 5), {"n": "sum(n)"}, ["k"])
    query = Query("one", last.outputs)
    streams = {"a": [[(ts, ts % 7) for ts in range(40)]]}
    plan = plan_of(query, streams, instances=2)
    assert len(plan.stages) == 1
    waited = []
    carry_over = epochs.carry_over
    monkeypatch.setattr(
        epochs, "carry_over",
        lambda old, new: (waited.append(new.carried.count), carry_over(old, new)),
    )  # fmt: skip
    for seed in range(4):
        random = Random(seed)
        batches = [[piece] for piece in cut_all(query, streams, random, most=3)[0]]
        run = Run(query, streams, batches, tmp_path / str(seed), random)
        for count in (2, 5, 3):
            run.go_on(plan_of(query, streams, instances=count), len(batches) // 4, calm=True)
        run.go_on(plan_of(query, streams, instances=1), len(batches), calm=True)
        assert run.found() == reference.run(query, streams)
    assert sum(waited)


@interpreted_is_enough
def test_a_part_of_a_split_is_made_anew(tmp_path, monkeypatch):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=10)
    random = Random(4)
    batches = shuffled(cut_all(query, streams, random), random)
    run = Run(query, streams, batches, tmp_path, random)
    run.go_on(plan_of(query, streams, instances=2), 2)
    with monkeypatch.context() as broken:
        broken.setattr(epochs, "_write", broken_off)
        with pytest.raises(UsageError, match="work: cannot be written: No space left on device"):
            run.go_on(plan_of(query, streams, instances=3), 0)
    run.go_on(plan_of(query, streams, instances=5), len(batches))
    assert run.found() == reference.run(query, streams)


def broken_off(*paths):
    raise OSError(28, "No space left on device")


@interpreted_is_enough
def test_what_cannot_go_on_with_others_is_refused(tmp_path):
    query = query_named("figure-1")
    streams = calls_and_suspects(Random(2), tuples=10)
    random = Random(4)
    batches = shuffled(cut_all(query, streams, random), random)
    run = Run(query, streams, batches, tmp_path / "lossy", random)
    run.go_on(plan_of(query, streams, instances=2, merger=BEST_EFFORT), 2)
    with pytest.raises(UsageError, match="what best-effort mergers have lost depends on the inst"):
        run.go_on(plan_of(query, streams, instances=3, merger=BEST_EFFORT), 1)
    job_of(plan_of(query, streams, instances=2), streams, tmp_path).begin(BOUNDED)
    with pytest.raises(UsageError, match="that of other instances: go on with the same"):
        job_of(plan_of(query, streams, instances=3), streams, tmp_path).begin(BOUNDED)
