"""The dynamic runtime: workers that ask a central scheduler where to work, and for how long.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.2, 5 and 6.

::

     source --> [stage 0] --> [stage 1] --> ... --> [stage n-1] --> sink: order, digest, markers
                    ^             ^                      ^
                    +------ workers, sent by the board --+

``work_once`` is one turn of a worker. It reports what it did in its last turn and asks where to go;
processes tuples there for a slice of time (by the measured cost of a tuple); and then goes on with
what had no room downstream before. A worker that is sent nowhere looks whether an operator has come
to its end, and flushes it.

*The end of the stream* is a barrier: an operator ends when all that will ever arrive was sent. Then
one worker flushes it, key by key, in parts where there is no more room downstream, and tells the
next operator after which serial number its own end is.

Reorder buffer, worklist and scheduler are numbers inside one compiled runtime a pipeline.

Guaranteed: the output is that of a serial run, for any number of workers and any capacities
(theorem 5.2). Progress: a turn never waits for another worker, the board's lock apart.

# ASSUME: a slice holds as many tuples as its time over the cost of one, at least one.
# ASSUME: a bare marker is the measurement's and no tuple: costs and selectivities are of records,
# or an operator behind a filter that drops nearly all would seem to be cheap, and to drop, too. It
# takes its part of a slice, and its time counts as that of the records beside it.
# ASSUME: an operator whose next output has no room behind it is not schedulable, whatever waits for
# it; section 6 does not say. The tuples that the source has not fed yet are the first worklist's.
# ASSUME: a worker that found nothing where it was sent is not sent there again the next time: the
# tuples that wait may all lie in partitions that others have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.contract import ACCEPTED, END, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.jit import inlined
from operators.core.spin_lock import acquire, release
from operators.core.work import matrix_work
from operators.pipeline.board import (
    COST,
    EVERYBODY,
    NOBODY,
    SCHEDULABLE,
    VISITS,
    WAITING,
    WORKERS,
    look,
    note,
    report,
)
from operators.pipeline.declare import (
    NO_SUCH_KEY,
    PARTITIONED,
    STATELESS,
    TABLE_FULL,
    Pipeline,
)
from operators.pipeline.ending import make_finish
from operators.pipeline.passing import make_pass_on, make_send, sender_of
from operators.pipeline.stage import (
    ARRIVED,
    BLOCKED,
    END_AT,
    NO_ROW,
    has_key,
    is_bare,
    leave,
    make_arrive,
    outputs_of,
    processed,
    row_end,
    row_of,
    take,
    waiting,
)
from operators.pipeline.state import (
    INPUTS,
    LATEST_NS,
    OUTPUTS,
    PLACE,
    SPENT_NS,
    TAKEN,
    WORKER_WORDS,
    chain,
    due_at,
    records_due,
)

# The word of ``out`` that nothing else uses: see ``take``.
OUT_SCRATCH = 3


@inlined
def post(state, worker):
    """Write onto the board what there is to do: how many tuples wait where, and who may go there.

    For the holder of the board's lock.
    """
    own = worker * WORKER_WORDS
    board = state.board
    for place in range(len(state.stages)):
        stage = state.stages[place]
        found = waiting(stage, state.setting.worklist)
        if place == 0:
            # Who feeds at this moment may be further than what was due when the clock was read.
            left = max(records_due(state) - load(stage.words, ARRIVED, RELAXED), 0)
            found += min(left, state.source_most)
        most = EVERYBODY
        if stage.kind != STATELESS:
            most = stage.partitions
        free = found > 0 and look(board, place, WORKERS) < most
        # Parked outputs first: what is processed now would only join them.
        free = free and load(stage.words, BLOCKED, RELAXED) == 0
        if state.workers[own + PLACE] == place and state.workers[own + TAKEN] == 0:
            free = False
        note(board, place, WAITING, found)
        note(board, place, SCHEDULABLE, 1 if free else 0)


def make_ask(choose: Callable[..., int]) -> Callable[..., tuple[int, int]]:
    """Return ``ask(state, worker)``: where a worker goes, and for how many tuples.

    It reports what the worker did before.
    """

    @inlined
    def ask(state, worker):
        own = worker * WORKER_WORDS
        board = state.board
        acquire(state.lock, 0)
        before = state.workers[own + PLACE]
        if before != NOBODY:
            report(
                board,
                before,
                state.workers[own + INPUTS],
                state.workers[own + OUTPUTS],
                state.workers[own + SPENT_NS],
                now(),
            )
        post(state, worker)
        place = choose(state.scheduler, board)
        limit = 1
        if place != NOBODY:
            note(board, place, WORKERS, look(board, place, WORKERS) + 1)
            # Before the first report its cost is not known.
            if look(board, place, VISITS) > 0:
                limit = max(1, board.slice_ns // look(board, place, COST))
        release(state.lock, 0)
        state.workers[own + PLACE] = place
        state.workers[own + INPUTS] = 0
        state.workers[own + OUTPUTS] = 0
        state.workers[own + TAKEN] = 0
        return place, limit

    return ask


def make_feed(arrive: Callable[..., int]) -> Callable[..., None]:
    """Return ``feed(state, limit)``: records that are due arrive at the first operator.

    It does nothing while another worker is at it.
    """

    @inlined
    def feed(state, limit):
        # RELAXED: a look first, as an exchange would take the line from who is at it. ACQUIRE keeps
        # the arrivals behind those of the last who fed.
        if load(state.feeding, 0, RELAXED) != 0 or exchange(state.feeding, 0, 1, ACQUIRE) != 0:
            return
        stage = state.stages[0]
        # RELAXED: who feeds writes it.
        arrived = load(stage.words, ARRIVED, RELAXED)
        end = min(arrived + limit, records_due(state))
        if state.pace.period_ns > 0.0 and arrived < end:
            late = now() - due_at(state.pace, arrived)
            # RELAXED: who feeds writes it; it is read when the workers have ended.
            latest = max(late, load(state.pace.words, LATEST_NS, RELAXED))
            store(state.pace.words, LATEST_NS, latest, RELAXED)
        going_on = True
        while going_on and arrived < end:
            begin = (arrived % state.rows) * stage.inputs
            going_on = arrive(stage, 0, state.setting, state.source, begin, 0) == ACCEPTED
            arrived = load(stage.words, ARRIVED, RELAXED)
        if arrived == state.total:
            # RELEASE keeps the arrivals before it; pairs with the load in finish.
            store(stage.words, END_AT, arrived + 1, RELEASE)
        # RELEASE keeps what was done before it; pairs with the exchange above.
        store(state.feeding, 0, 0, RELEASE)

    return feed


def make_process(
    pipeline: Pipeline, key_of: Callable[..., int], send: Callable[..., None]
) -> Callable[..., int]:
    """Return ``process(sender, marker_every, out)``.

    It processes the tuple that ``out`` names, of partition and serial number, and sends: how many
    outputs there were, or a failure.
    """
    operate = chain([each.process for each in pipeline.operators])

    @inlined
    def process(sender, marker_every, out):
        place, stage = sender.place, sender.stage
        partition, serial = out[0], out[1]
        slot = serial & stage.mask
        if place == 0 and serial % marker_every == 0:
            stage.markers[slot] = now()
        count = 0
        if not is_bare(stage, serial):
            record = stage.records[slot * stage.inputs : (slot + 1) * stage.inputs]
            key = 0
            if stage.kind == PARTITIONED:
                key = key_of(place, record)
                if not has_key(stage, key):
                    return NO_SUCH_KEY
            row = row_of(stage, partition, key)
            if row == NO_ROW:
                return TABLE_FULL
            own = slot * stage.most * stage.outputs
            outputs = stage.made[own : own + stage.most * stage.outputs]
            state = stage.rows[row : row_end(stage, row, key)]
            count = outputs_of(stage, operate(place, record, state, outputs))
            if count < 0:
                return count
            if sender.setting.products > 0:
                # What comes of it has to go somewhere, or a compiler would leave it out.
                out[OUT_SCRATCH] ^= matrix_work(serial, sender.setting.products)
        send(sender, serial, count)
        return count

    return process


def make_run_slice(process: Callable[..., int], feed: Callable[..., None]) -> Callable[..., int]:
    """Return ``run_slice(state, place, limit, worker, out)``: READY, NOT_READY or a failure."""

    @inlined
    def run_slice(state, place, limit, worker, out):
        sender = sender_of(state, place)
        stage = sender.stage
        own = worker * WORKER_WORDS
        worklist = state.setting.worklist
        taken = 0
        inputs = 0
        outputs = 0
        status = READY
        begin = now()
        if place == 0:
            feed(state, limit)
        # The hybrid queue's loop takes no notice of the slice: a worker goes when it may leave.
        while status == READY and (taken < limit or not leave(stage, worklist, worker)):
            status = take(stage, worklist, worker, out)
            if status == READY:
                # Before it is sent: then its slot may be another's.
                records = 0 if is_bare(stage, out[1]) else 1
                count = process(sender, state.marker_every, out)
                if count < 0:
                    status = count
                else:
                    processed(stage, worklist, worker)
                    taken += 1
                    inputs += records
                    outputs += count
        if status >= NOT_READY:
            leave(stage, worklist, worker)
            status = READY if taken > 0 else NOT_READY
        state.workers[own + INPUTS] = inputs
        state.workers[own + OUTPUTS] = outputs
        state.workers[own + TAKEN] = taken
        state.workers[own + SPENT_NS] = now() - begin
        return status

    return run_slice


def make_work_once(pipeline: Pipeline, schedulers: Sequence[Callable]) -> Callable[..., int]:
    """Return ``work_once(state, worker, out)``: one turn of a worker.

    READY: it did something; NOT_READY: there was nothing to do; END: everything came out; or a
    failure. `schedulers` are the ``choose`` that the number ``state.scheduler`` chooses among.
    """
    key_of = chain([each.key for each in pipeline.operators])
    arrive = make_arrive(key_of)
    send, relieve = make_send(make_pass_on(arrive))
    ask = make_ask(chain(schedulers))
    run_slice = make_run_slice(make_process(pipeline, key_of, send), make_feed(arrive))
    finish = make_finish(arrive, chain([each.flush for each in pipeline.operators]))

    @inlined
    def work_once(state, worker, out):
        place, limit = ask(state, worker)
        status = NOT_READY
        if place != NOBODY:
            status = run_slice(state, place, limit, worker, out)
        if relieve(state) and status == NOT_READY:
            status = READY
        if place == NOBODY:
            ended = finish(state)
            if ended != NOT_READY:
                status = ended
            # ACQUIRE pairs with the store in finish.
            elif load(state.done, 0, ACQUIRE) != 0:
                status = END
        return status

    return work_once
