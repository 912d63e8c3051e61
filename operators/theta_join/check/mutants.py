"""Mutants of the theta joins, except those of chains."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_scale = partial(Mutant, variant="theta_join/scale-join", module="operators.theta_join.scale_join")
_processing = partial(
    Mutant, variant="theta_join/scale-join", module="operators.theta_join.processing"
)

MUTANTS = (
    _processing(
        name="scale-join-keeps-every-tuple",
        old="        keeps = words[TURN] == own.number\n",
        new="        keeps = words[TURN] >= 0\n",
        breaks="each thread keeps every tuple, so that pairs are found by all",
        canary=True,
    ),
    _processing(
        name="scale-join-turn-of-those-kept",
        old="        words[TURN] = 0 if words[TURN] + 1 == own.threads else words[TURN] + 1\n",
        new="        if keeps:\n"
        "            words[TURN] = 0 if words[TURN] + 1 == own.threads else words[TURN] + 1\n",
        breaks="a thread goes on to the next turn only where it kept a tuple",
    ),
    _processing(
        name="scale-join-own-purge-of-the-other-window",
        old="        purge(mine, index_mine, horizon)\n",
        new="        purge(other, index_other, horizon)\n",
        breaks="a tuple lets the opposite window expire, and not its own",
    ),
    _processing(
        name="scale-join-opposite-purge-behind-the-comparison",
        old="            purge(other, index_other, timestamp - own.span)\n",
        new="            purge(mine, index_mine, timestamp - own.span)\n",
        breaks="a tuple meets what is older than its window",
    ),
    _processing(
        name="scale-join-partners-newest-first",
        old="    return (later << REACH_BITS) | (REACH - (later - earlier))\n",
        new="    return (later << REACH_BITS) | (later - earlier)\n",
        breaks="the keys of a thread do not ascend",
    ),
    _processing(
        name="scale-join-purges-where-it-keeps",
        old="        purge(mine, index_mine, horizon)\n",
        new="        if keeps:\n            purge(mine, index_mine, horizon)\n",
        breaks="a thread lets tuples expire only when it keeps one (L21 to L23 are for all)",
    ),
    _scale(
        name="scale-join-records-as-many-as-ahead",
        old="    slots = ahead_out + 2\n",
        new="    slots = ahead_out\n",
        breaks="a record is written once more while it is read",
    ),
    _scale(
        name="scale-join-end-before-the-batch",
        old="        return READY if own.joining.words[BATCH] > 0 else status\n",
        new="        return status\n",
        breaks="pairs of the tuples that were read right before the end are lost",
    ),
    _scale(
        name="scale-join-pair-dropped-though-full",
        old="                return NOT_READY\n            if status != ACCEPTED:\n",
        new="                drop_pair(own.joining)\n"
        "                return NOT_READY\n            if status != ACCEPTED:\n",
        breaks="a pair for which the second gate has no room is lost",
    ),
    _scale(
        name="scale-join-nobody-is-asked",
        old="                store(shared.asked, 0, own.joining.words[RANK], RELAXED)\n",
        new="",
        breaks="a thread without room waits for one that has no pairs, and that one for tuples",
    ),
    _scale(
        name="scale-join-closed-unread",
        old="            if status == END:\n"
        "                t_gate.close_source(shared.gate_out, own.joining.number)\n",
        new="            if status == NOT_READY:\n"
        "                t_gate.close_source(shared.gate_out, own.joining.number)\n",
        breaks="a thread that has nothing to read says that no pair of its own is coming",
    ),
    Mutant(
        name="heartbeat-of-the-tuple-behind",
        variant="theta_join/scale-join-heartbeats",
        module="operators.theta_join.scale_join",
        old="    key = rank << processing.REACH_BITS\n",
        new="    key = rank + 1 << processing.REACH_BITS\n",
        breaks="a thread says that it is past a tuple whose pairs it has yet to find",
    ),
    Mutant(
        name="cells-of-the-lower-end-only",
        variant="theta_join/scale-join-hash",
        module="operators.theta_join.scale_join_variants",
        old="        for cell in range(low // index.width, high // index.width + 1):\n",
        new="        for cell in range(low // index.width, low // index.width + 1):\n",
        breaks="matches in the higher one of two cells are not looked for",
    ),
    Mutant(
        name="tree-forgets-its-first-match",
        variant="theta_join/scale-join-index",
        module="operators.theta_join.scale_join_variants",
        old="    for at in range(count):\n",
        new="    for at in range(1, count):\n",
        breaks="the first match that a tree finds is forgotten",
    ),
    Mutant(
        name="sequential-s-taken-for-r",
        variant="theta_join/sequential",
        module="operators.theta_join.sequential",
        old="side = R if own.ready[1] < shared.r_streams else S",
        new="side = R if own.ready[1] <= shared.r_streams else S",
        breaks="the first stream of S is taken for one of R",
    ),
    Mutant(
        name="sequential-end-before-the-batch",
        variant="theta_join/sequential",
        module="operators.theta_join.sequential",
        old="            if own.joining.words[BATCH] == 0:\n                return status\n",
        new="            if status != READY:\n                return status\n",
        breaks="tuples that were read when there were no more are not compared",
    ),
    Mutant(
        name="window-seen-as-it-is-later",
        variant="theta_join/sequential",
        module="operators.theta_join.window",
        old="    if behind < CHUNK:\n",
        new="    if behind < 0:\n",
        breaks="a tuple meets those that arrived behind it in its batch",
    ),
)
