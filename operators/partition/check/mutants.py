"""Mutants of the worklists of partitioned operators."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_shared = partial(Mutant, variant="partition/shared", module="operators.partition.shared")
_parts = partial(Mutant, variant="partition/partitioned", module="operators.partition.partitioned")
_hybrid = partial(Mutant, variant="partition/hybrid", module="operators.partition.hybrid")
_many = partial(
    Mutant,
    variant="partition/hybrid-many-producers",
    module="operators.partition.hybrid_many_producers",
)

_LOCKED = """\
    acquire(state.lock, 0)
    status = hybrid.add_input(state.queue, partition, word)
    release(state.lock, 0)
"""
# Figure 7 as in the paper: the counter and each of the queues is atomic by itself.
_STEP_BY_STEP = """\
    acquire(state.lock, 0)
    serial = state.queue.arrived[0] + 1
    state.queue.arrived[0] = serial
    release(state.lock, 0)
    acquire(state.lock, 0)
    status = 0  # FULL
    if hybrid.has_room(state.queue.master):
        status = hybrid.put_record(state.queue.rings, partition, serial, word)
    if status == 0:
        state.queue.arrived[0] = serial - 1
    release(state.lock, 0)
    if status != 0:
        acquire(state.lock, 0)
        hybrid.push(state.queue.master, partition)
        release(state.lock, 0)
"""

MUTANTS = (
    _shared(
        name="shared-dequeued-then-locked",
        old="        if load(state.busy, partition * LINE_WORDS, ACQUIRE) == 0:\n",
        new="        if True:\n",
        breaks="two workers process tuples of one partition at the same time (figure 5)",
    ),
    _shared(
        name="shared-cleared-relaxed",
        old="store(state.busy, state.held[worker * LINE_WORDS] * LINE_WORDS, 0, RELEASE)",
        new="store(state.busy, state.held[worker * LINE_WORDS] * LINE_WORDS, 0, RELAXED)",
        breaks="the next worker may not see what was done with the tuple before",
    ),
    _parts(
        name="partitioned-without-exchange",
        old="if exchange(state.owner, place, 1, ACQUIRE) != 0:",
        new="store(state.owner, place, 1, RELAXED)\n            if False:",
        breaks="two workers take one partition",
    ),
    _parts(
        name="partitioned-given-back-relaxed",
        old="store(state.owner, state.workers[own + HELD] * LINE_WORDS, 0, RELEASE)",
        new="store(state.owner, state.workers[own + HELD] * LINE_WORDS, 0, RELAXED)",
        breaks="the next owner may not see what the last one took out and processed",
    ),
    _hybrid(
        name="hybrid-key-before-tuple",
        old="    serial = state.arrived[0] + 1\n"
        "    if put_record(state.rings, partition, serial, word) == FULL:\n",
        new="    serial = state.arrived[0] + 1\n"
        "    push(state.master, partition)\n"
        "    state.arrived[0] = serial\n"
        "    return put_record(state.rings, partition, serial, word)\n"
        "    if False:\n",
        breaks="a worker finds a key whose tuple is not there yet",
        canary=True,
    ),
    _hybrid(
        name="hybrid-delegated-forgotten",
        old="if fetch_add(state.counts, held * LINE_WORDS, -1, ACQ_REL) == 1:",
        new="if fetch_add(state.counts, held * LINE_WORDS, -1, ACQ_REL) >= 1:",
        breaks="the owner leaves with tuples that others have handed to it",
    ),
    _hybrid(
        name="hybrid-counted-relaxed",
        old="if fetch_add(state.counts, held * LINE_WORDS, -1, ACQ_REL) == 1:",
        new="if fetch_add(state.counts, held * LINE_WORDS, -1, 0) == 1:",  # RELAXED
        breaks="the next owner may not see what was done with the tuples before",
    ),
    _hybrid(
        name="hybrid-count-ignored",
        old="if fetch_add(state.counts, out[0] * LINE_WORDS, 1, ACQ_REL) == 0:",
        new="if fetch_add(state.counts, out[0] * LINE_WORDS, 1, ACQ_REL) >= 0:",
        breaks="two workers own one partition",
    ),
    _many(
        name="many-producers-unlocked",
        old=_LOCKED,
        new="    status = hybrid.add_input(state.queue, partition, word)\n",
        breaks="rings and counter of one producer with two: serial numbers used twice",
    ),
    _many(
        name="many-producers-step-by-step",
        old=_LOCKED,
        new=_STEP_BY_STEP,
        breaks="figure 7 as printed with two producers: tuples of a key are processed out of order",
    ),
)
