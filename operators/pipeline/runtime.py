"""The dynamic runtime: workers that ask a central scheduler where to work, and for how long.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", sections 2.2, 5 and 6.

::

     source --> [stage 0] --> [stage 1] --> ... --> [stage n-1] --> sink: order, digest, markers
                    ^             ^                      ^
                    +------ workers, sent by the board --+

``work_once`` is one turn of a worker. It reports its last turn and asks where to go; processes
tuples of that operator for a slice of time (by the measured cost of a tuple); and then retries
outputs that had no room downstream before. A worker that is not sent anywhere looks for an operator
that has come to its end, and flushes it.

*The end of the stream* is a barrier: an operator ends when the outputs of all tuples that will ever
arrive have been sent. Then one worker flushes it, key by key, in parts if there is no more room
downstream, and gives the next operator the serial number after which that operator ends.

Reorder buffer, worklist and scheduler are selected by numbers within one compiled runtime per
pipeline.

Guarantee: the output is that of a serial run, for any number of workers and any capacities (theorem
5.2).

Progress: a turn waits for another worker only at a lock, and no user function runs in a critical
section. There are three locks: that of the board, held while a worker reports and gets the next
operator; that of the shared worklist, held for one look into it; and the mutex of the lock-based
buffer, held while consecutive outputs can be sent (the wait in the paper's figure 3). With the
other worklists and the non-blocking buffer only the board's lock remains. Sending, feeding and
flushing are each guarded by a flag that no worker waits for: a worker that finds it set continues.

A stopped thread ends after the current record. Each record counts as progress, since a slice whose
tuples have become slow may last long.

# ASSUME: the number of tuples of a slice is the slice's time over the cost of a tuple, at least
# one.
# ASSUME: a bare marker belongs to the measurement and is not a tuple: costs and selectivities count
# records only, since otherwise an operator after a filter that drops nearly all records would seem
# cheap, and would seem to drop records, too. A marker takes a part of a slice, and the time counts
# as that of the records in the slice.
# ASSUME: an operator whose next output has no room downstream is not schedulable, however many
# tuples wait for it; section 6 does not say. Due tuples that the source has not fed yet count as
# part of the first worklist.
# ASSUME: a worker that found no tuple at an operator is not sent there again in its next turn: the
# waiting tuples may all lie in partitions that other workers hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.contract import ACCEPTED, END, NOT_READY, READY
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, exchange, load, now, store
from operators.core.jit import inlined
from operators.core.spin_lock import acquire, release
from operators.core.work import matrix_work
from operators.pipeline.board import (
    EVERYBODY,
    NOBODY,
    SCHEDULABLE,
    WAITING,
    WORKERS,
    look,
    note,
    report,
    send_to,
)
from operators.pipeline.declare import (
    NO_SUCH_KEY,
    PARTITIONED,
    STATELESS,
    TABLE_FULL,
    Pipeline,
)
from operators.pipeline.ending import make_finish
from operators.pipeline.passing import make_send, sender_of
from operators.pipeline.stage import (
    ARRIVED,
    BLOCKED,
    END_AT,
    NO_ROW,
    arrive_there,
    has_key,
    has_room,
    is_bare,
    leave,
    made_at,
    make_deal,
    outputs_of,
    processed,
    row_end,
    row_of,
    take,
    waiting,
)
from operators.pipeline.state import (
    INGRESS_NS,
    INPUTS,
    LATEST_NS,
    OUTPUTS,
    PLACE,
    SPENT_NS,
    TAKEN,
    WORKER_WORDS,
    chain,
    count_turn,
    due_at,
    records_due,
)
from operators.running.control import ACTED, STOP

# The word of ``out`` that no other function uses: see ``take``.
OUT_SCRATCH = 3


@inlined
def post(state, worker):
    """Write onto the board how many tuples wait at each operator, and where the worker may go.

    For the holder of the board's lock. Returns the earliest operator where the worker may go, the
    number of such operators, and the number of operators left out because their outputs have no
    room.
    """
    own = worker * WORKER_WORDS
    board = state.board
    earliest, able, held_back = NOBODY, 0, 0
    for place in range(len(state.stages)):
        stage = state.stages[place]
        found = waiting(stage, state.setting.worklist)
        if place == 0:
            # The currently feeding worker may be beyond the records that were due at this clock
            # reading.
            left = max(records_due(state) - load(stage.words, ARRIVED, RELAXED), 0)
            found += min(left, state.source_most)
        most = EVERYBODY
        if stage.kind != STATELESS:
            most = stage.partitions
        free = found > 0 and look(board, place, WORKERS) < most
        # Blocked outputs first: newly processed tuples would only queue behind them.
        if free and load(stage.words, BLOCKED, RELAXED) != 0:
            held_back += 1
            free = False
        if state.workers[own + PLACE] == place and state.workers[own + TAKEN] == 0:
            free = False
        if free:
            if able == 0:
                earliest = place
            able += 1
        note(board, place, WAITING, found)
        note(board, place, SCHEDULABLE, 1 if free else 0)
    return earliest, able, held_back


def make_ask(choose: Callable[..., int]) -> Callable[..., tuple[int, int]]:
    """Return ``ask(state, worker)``: the next operator of a worker, and the number of tuples there.

    It first reports the worker's last turn.
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
        earliest, able, held_back = post(state, worker)
        place = choose(state.scheduler, board)
        limit = send_to(board, place)
        release(state.lock, 0)
        if place != NOBODY:
            count_turn(state, worker, place, earliest, able, held_back)
        state.workers[own + PLACE] = place
        state.workers[own + INPUTS] = 0
        state.workers[own + OUTPUTS] = 0
        state.workers[own + TAKEN] = 0
        return place, limit

    return ask


def make_feed(deal: Callable[..., int]) -> Callable[..., None]:
    """Return ``feed(state, limit)``, by which due records arrive at the first operator.

    It does nothing while another worker is feeding.
    """

    @inlined
    def feed(state, limit):
        # RELAXED: a load first, as an exchange would take the cache line from the feeding worker.
        # ACQUIRE keeps the arrivals behind those of the previous feeder.
        if load(state.feeding, 0, RELAXED) != 0 or exchange(state.feeding, 0, 1, ACQUIRE) != 0:
            return
        stage = state.stages[0]
        # RELAXED: only the feeder writes it.
        arrived = load(stage.words, ARRIVED, RELAXED)
        end = min(arrived + limit, records_due(state))
        if state.pace.period_ns > 0.0 and arrived < end:
            late = now() - due_at(state.pace, arrived)
            # RELAXED: only the feeder writes it; it is read after the workers have ended.
            latest = max(late, load(state.pace.words, LATEST_NS, RELAXED))
            store(state.pace.words, LATEST_NS, latest, RELAXED)
        going_on = True
        while going_on and arrived < end and has_room(stage, state.setting.buffer):
            begin = (arrived % state.rows) * stage.inputs
            partition = deal(stage, 0, state.setting, state.source, begin)
            status = arrive_there(stage, state.setting, state.source, begin, 0, partition)
            going_on = status == ACCEPTED
            arrived = load(stage.words, ARRIVED, RELAXED)
        if arrived == state.total:
            # RELAXED: only who also sees that all serial numbers before it were sent goes by it.
            store(stage.words, END_AT, arrived + 1, RELAXED)
        # RELEASE keeps the arrivals before it; pairs with the exchange above.
        store(state.feeding, 0, 0, RELEASE)

    return feed


def make_process(
    pipeline: Pipeline,
    key_of: Callable[..., int],
    deal: Callable[..., int],
    send: Callable[..., None],
) -> Callable[..., int]:
    """Return ``process(sender, marker_every, out)``.

    It processes and sends the tuple whose partition and serial number are in ``out``, and returns
    the number of outputs, or a failure.
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
            own = made_at(stage, slot)
            behind = own + stage.most * stage.outputs
            outputs = stage.made[own:behind]
            state = stage.rows[row : row_end(stage, row, key)]
            count = outputs_of(stage, operate(place, record, state, outputs))
            if count < 0:
                return count
            if stage.dealt != 0:
                for number in range(count):
                    begin = own + number * stage.outputs
                    stage.made[behind + number] = deal(
                        sender.following, place + 1, sender.setting, stage.made, begin
                    )
            if sender.setting.products > 0:
                # The result must be used, or a compiler would remove the work.
                out[OUT_SCRATCH] ^= matrix_work(serial, sender.setting.products)
        send(sender, serial, count)
        return count

    return process


def make_run_slice(process: Callable[..., int], feed: Callable[..., None]) -> Callable[..., int]:
    """Return ``run_slice``, which processes a slice: READY, NOT_READY or a failure.

    ``run_slice(control, its, state, place, limit, worker, out)``; `its` is the index of the first
    word of the worker's thread in `control`.
    """

    @inlined
    def run_slice(control, its, state, place, limit, worker, out):
        sender = sender_of(state, place)
        stage = sender.stage
        own = worker * WORKER_WORDS
        worklist = state.setting.worklist
        acted = load(control, its + ACTED, RELAXED)
        taken = 0
        inputs = 0
        outputs = 0
        status = READY
        begin = now()
        if place == 0:
            # The pipeline's ingress, which is not part of any operator's work. It takes up to half
            # as long as the first operator of a query with a fraction of a microsecond per tuple.
            feed(state, limit)
            fed = now()
            state.workers[own + INGRESS_NS] += fed - begin
            begin = fed
        # The hybrid queue's loop ignores the slice: a worker goes on until it may leave.
        while (
            status == READY
            and (taken < limit or not leave(stage, worklist, worker))
            and load(control, STOP, RELAXED) == 0
        ):
            status = take(stage, worklist, worker, out)
            if status == READY:
                # Before sending, which frees the slot for another tuple.
                records = 0 if is_bare(stage, out[1]) else 1
                count = process(sender, state.marker_every, out)
                if count < 0:
                    status = count
                else:
                    processed(stage, worklist, worker)
                    taken += 1
                    store(control, its + ACTED, acted + taken, RELAXED)
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
    """Return ``work_once(control, its, state, worker, out)``: one turn of a worker.

    READY: it did some work; NOT_READY: there was none; END: all outputs have left the pipeline; or
    a failure. `schedulers` are the ``choose`` functions, of which ``state.scheduler`` selects one.
    """
    key_of = chain([each.key for each in pipeline.operators])
    deal = make_deal(key_of)
    send, relieve = make_send()
    ask = make_ask(chain(schedulers))
    run_slice = make_run_slice(make_process(pipeline, key_of, deal, send), make_feed(deal))
    finish = make_finish(deal, chain([each.flush for each in pipeline.operators]))

    @inlined
    def work_once(control, its, state, worker, out):
        place, limit = ask(state, worker)
        status = NOT_READY
        if place != NOBODY:
            status = run_slice(control, its, state, place, limit, worker, out)
        if relieve(state) and status == NOT_READY:
            status = READY
        if place == NOBODY:
            ended = finish(control, its, state)
            if ended != NOT_READY:
                status = ended
            # ACQUIRE pairs with the store in finish.
            elif load(state.done, 0, ACQUIRE) != 0:
                status = END
        return status

    return work_once
