"""A Spark of plain Python: Spark's promises to the steps of the carriers, and nothing more.

It promises: a task receives all rows of a slot, sorted in the bounded form; the output of a task
that does not complete is discarded; an uncommitted batch runs again with the same files.

It does not promise: any other order of rows, how many rows arrive at once, which task reads which
files, that the first attempt of a task completes or that a completed attempt is the last, which
process runs a task and which memory that process has kept.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from types import ModuleType

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from operators.streamcloud.carriers.spark import wire
from operators.streamcloud.plan import IN, OUT, Plan
from operators.streamcloud.rows import END, Row, unpack

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

BATCH = "streaming.sql.batchId"
FILES = pa.schema([("path", pa.string())])
ORDER = ("begin", "place", "side", "sender", "seq")
# Probabilities that a task fails and that a batch is lost, until the third attempt.
FAILS, IS_LOST = 0.15, 0.1
PROCESSES = 2


@dataclass(frozen=True)
class Chain:
    """The steps that a carrier hands to Spark.

    Attributes
    ----------
    source : Step
        From files to rows.
    levels : sequence of (int, Step)
        For each level, the number of slots and the step.
    """

    source: Step
    levels: Sequence[tuple[int, Step]]


@dataclass(frozen=True)
class Wired:
    """A row between two steps: the columns next to the body."""

    slot: int
    place: int
    begin: int
    row: Row


@dataclass
class Pretended:
    """A run.

    Attributes
    ----------
    chain : Chain
    random : Random
    remembering : sequence of module
        Modules in which a process keeps state from task to task.
    calm : bool
        Whether every task and every batch succeeds at once.
    sent : list of Wired
        All rows that reached a level or the end.
    tasks : int
        Number of completed tasks that were not repeated.
    """

    chain: Chain
    random: Random
    remembering: Sequence[ModuleType] = ()
    calm: bool = False
    sent: list[Wired] = field(default_factory=list)
    tasks: int = 0

    def __post_init__(self) -> None:
        """Pickle the steps, as Spark does."""
        self._bodies = {
            number: cloudpickle.dumps(step)
            for number, step in enumerate([self.chain.source, *(s for _, s in self.chain.levels)])
        }
        self._memories = [_nothing(self.remembering) for _ in range(PROCESSES)]

    # --- forms ------------------------------------------------------------------------------------

    def bounded(self, files: Sequence[Path]) -> list[Wired]:
        """Run one batch job over these files, and return the rows for outputs."""
        return self._chained(files, None, in_order=True)

    def stream(self, batches: Sequence[Sequence[Path]]) -> list[Wired]:
        """Run batches of files, and return the rows for outputs that were committed."""
        committed: list[Wired] = []
        for number, files in enumerate(batches):
            committed += self.batch(number, files)
        return committed

    def batch(self, number: int, files: Sequence[Path]) -> list[Wired]:
        """Run a batch until it is committed, and return the rows for outputs."""
        attempts = 0
        while attempts < 2 and self._happens(IS_LOST):
            # The driver dies before it commits: the next one has new processes.
            kept, tasks = len(self.sent), self.tasks
            until = self.random.randint(0, len(self.chain.levels))
            self._chained(files, number, in_order=False, until=until)
            del self.sent[kept:]
            self.tasks = tasks
            self.restart()
            attempts += 1
        return self._chained(files, number, in_order=False)

    def restart(self) -> None:
        """Replace all processes by new ones."""
        self._memories = [_nothing(self.remembering) for _ in range(PROCESSES)]

    # --- tasks ------------------------------------------------------------------------------------

    def _chained(
        self,
        files: Sequence[Path],
        batch: int | None,
        in_order: bool,
        until: int | None = None,
    ) -> list[Wired]:
        table = self._read(files, batch)
        for level, (slots, _) in enumerate(self.chain.levels[:until], start=1):
            self._look_at(table)
            shares = self._shuffled(table, slots, in_order)
            shares = self.random.sample(shares, len(shares))
            table = _joined([self._task(level, share, slot, batch) for slot, share in shares])
        return self._look_at(table)

    def _read(self, files: Sequence[Path], batch: int | None) -> pa.Table:
        shares: list[list[Path]] = [[] for _ in range(self.random.randint(1, 3))]
        for path in self.random.sample(list(files), len(files)):
            self.random.choice(shares).append(path)
        found = []
        for number, share in enumerate(shares):
            table = pa.table([[f"file:{path}" for path in share]], schema=FILES)
            found.append(self._task(0, table, number, batch))
        return _joined(found)

    def _task(self, number: int, table: pa.Table, partition: int, batch: int | None) -> pa.Table:
        for attempt in range(3):
            process = self.random.randrange(PROCESSES)
            fails = attempt < 2 and self._happens(FAILS)
            is_lost = attempt < 2 and self._happens(IS_LOST)
            with self._in_process(process), in_task(partition, attempt, batch):
                step = pickle.loads(self._bodies[number])
                answers = step(iter(self._handed(table)))
                if fails:
                    list(islice(answers, self.random.randint(0, 2)))
                    continue
                found = list(answers)
            if not is_lost:
                self.tasks += 1
                return pa.Table.from_batches(found, wire.SCHEMA)
        raise AssertionError

    def _shuffled(self, table: pa.Table, slots: int, in_order: bool) -> list[tuple[int, pa.Table]]:
        wanted = table["slot"].to_pylist()
        assert all(0 <= slot < slots for slot in wanted), (slots, sorted(set(wanted)))
        places: dict[int, list[int]] = {slot: [] for slot in range(slots)}
        for at in self.random.sample(range(len(wanted)), len(wanted)):
            places[wanted[at]].append(at)
        shares = [(slot, table.take(pa.array(found, pa.int64()))) for slot, found in places.items()]
        if in_order:
            return [(slot, _sorted(share)) for slot, share in shares]
        return shares

    def _handed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield rows a few at a time, in read-only memory, as Spark does."""
        at = 0
        while at < len(table):
            count = self.random.choice([1, 3, 1000])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.slice(at, count).combine_chunks())
            yield from pa.ipc.open_stream(sink.getvalue())
            at += count

    def _happens(self, chance: float) -> bool:
        return not self.calm and self.random.random() < chance

    @contextmanager
    def _in_process(self, number: int) -> Iterator[None]:
        """Restore the modules' memory of a process, and save it at the end."""
        before = _remembered(self.remembering)
        _remember(self.remembering, self._memories[number])
        try:
            yield
        finally:
            self._memories[number] = _remembered(self.remembering)
            _remember(self.remembering, before)

    def _look_at(self, table: pa.Table) -> list[Wired]:
        found = [
            Wired(each["slot"], each["place"], each["begin"], checked(each))
            for each in table.to_pylist()
        ]
        self.sent += found
        return found


@contextmanager
def in_task(partition: int, attempt: int = 0, batch: int | None = None) -> Iterator[None]:
    """Provide the task context that Spark gives to a task."""
    before = TaskContext.get()
    TaskContext._setTaskContext(None)
    TaskContext(
        partitionId=partition,
        attemptNumber=attempt,
        localProperties={} if batch is None else {BATCH: str(batch)},
    )
    try:
        yield
    finally:
        TaskContext._setTaskContext(before)


# --- what processes remember ----------------------------------------------------------------------

Memory = list[dict[str, dict]]


def _nothing(modules: Sequence[ModuleType]) -> Memory:
    return [{} for _ in modules]


def _remembered(modules: Sequence[ModuleType]) -> Memory:
    return [
        {
            name: dict(value)
            for name, value in vars(module).items()
            if isinstance(value, dict) and not name.startswith("__")
        }
        for module in modules
    ]


def _remember(modules: Sequence[ModuleType], memory: Memory) -> None:
    for module, known in zip(modules, memory, strict=True):
        for name, value in vars(module).items():
            if isinstance(value, dict) and not name.startswith("__"):
                value.clear()
                value.update(known.get(name, {}))


# --- rows -----------------------------------------------------------------------------------------


def checked(wired: dict) -> Row:
    """Return the row in a body, which must agree with the adjacent columns."""
    row = unpack(wired["body"])
    beside = tuple(wired[name] for name in ("dest", "side", "sender", "seq", "progress"))
    assert beside == row[:5], (beside, row[:5])
    return row


def check_promises(plan: Plan, sent: Sequence[Wired]) -> None:
    """Check that senders kept the promises of their rows.

    For each channel: rows are numbered from 0 without a gap, progress never falls, no tuple
    precedes the promised progress or ``begin``, and ``begin`` equals the progress that a stage had
    promised before. The last row closes the channel.
    """
    channels: dict[tuple, dict[int, Wired]] = defaultdict(dict)
    for each in sent:
        row = each.row
        channel = channels[each.place, row.dest, row.side, row.sender]
        before = channel.setdefault(row.seq, each)
        same = before.row[:5] == row[:5] and (before.row.batch == row.batch).all()
        assert same and before.begin == each.begin, f"row {row.seq} was sent twice, and differs"
    inputs = _of_inputs(plan)
    for channel, rows in channels.items():
        assert sorted(rows) == list(range(len(rows))), f"{channel} has gaps: {sorted(rows)}"
        begin = progress = 0
        for seq in range(len(rows)):
            each = rows[seq]
            times = each.row.batch[0]
            first = int(times[0]) if len(times) else END
            assert progress <= min(first, each.row.progress), (channel, seq)
            # A row of an input does not contain the promise of an earlier empty chunk.
            least = 0 if channel in inputs else begin
            assert least <= each.begin <= first, (channel, seq, least, each.begin, first)
            assert channel in inputs or each.begin == progress, (channel, seq, each.begin, progress)
            begin, progress = each.begin, each.row.progress
        assert progress == END, f"{channel} was not closed"
    assert set(channels) == {channel for channel, _ in _channels_of(plan)}


def _of_inputs(plan: Plan) -> set[tuple[int, int, int, int]]:
    """Return the channels from streams of inputs."""
    return {channel for channel, kind in _channels_of(plan) if kind == IN}


def _channels_of(plan: Plan) -> Iterator[tuple[tuple[int, int, int, int], str]]:
    """Yield place, dest, side and sender of each channel, and the channel's kind."""
    places = {stage.name: place for place, stage in enumerate(plan.stages)}
    outputs = {s.output.name: place for place, s in enumerate(plan.sinks, len(plan.stages))}
    senders: dict[tuple[int, int], int] = defaultdict(int)
    for each in plan.channels:
        place = outputs[each.receiver] if each.kind == OUT else places[each.receiver]
        for _ in range(each.senders):
            for dest in range(each.receivers):
                yield (place, dest, each.side, senders[place, each.side]), each.kind
            senders[place, each.side] += 1


def _sorted(table: pa.Table) -> pa.Table:
    rows = table.select(ORDER).to_pylist()
    order = sorted(range(len(rows)), key=lambda at: tuple(rows[at][name] for name in ORDER))
    return table.take(pa.array(order, pa.int64()))


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables([wire.SCHEMA.empty_table(), *tables])
