"""Mutants of the reorder buffers."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_free = partial(Mutant, variant="reorder/non-blocking", module="operators.reorder.non_blocking")
_locked = partial(Mutant, variant="reorder/lock-based", module="operators.reorder.lock_based")

_NON_BLOCKING = (
    _free(
        name="reorder-no-second-look",
        old="again = load(state.buffer, serial & state.mask, SEQ_CST) != EMPTY",
        new="again = False",
        breaks="an output that was added while the holder gave the flag back stays behind",
        canary=True,
    ),
    _free(
        name="reorder-room-not-looked-for",
        old="again = load(state.asked, 0, SEQ_CST) != asked",
        new="again = False",
        breaks="room that is made while the holder turns away is never used",
    ),
    _free(
        name="reorder-flag-cleared-by-release",
        old="store(state.flag, 0, 0, SEQ_CST)",
        new="store(state.flag, 0, 0, RELEASE)",
        breaks="the second look may come before the flag is seen to be clear (store buffering)",
    ),
    _free(
        name="reorder-added-by-release",
        old="store(state.buffer, serial & state.mask, output, SEQ_CST)",
        new="store(state.buffer, serial & state.mask, output, RELEASE)",
        breaks="the look at the flag may come before the output is seen (store buffering)",
    ),
    _free(
        name="reorder-next-before-empty",
        old="                store(state.buffer, serial & state.mask, EMPTY, RELAXED)\n"
        "                serial += 1\n"
        "                # RELEASE; pairs with the loads of next in try_add and next_serial.\n"
        "                store(state.next, 0, serial, RELEASE)\n",
        new="                store(state.next, 0, serial + 1, RELEASE)\n"
        "                store(state.buffer, serial & state.mask, EMPTY, RELAXED)\n"
        "                serial += 1\n",
        breaks="an output added to a slot that is free already is wiped out",
    ),
    _free(
        name="reorder-next-relaxed",
        old="store(state.next, 0, serial, RELEASE)",
        new="store(state.next, 0, serial, RELAXED)",
        breaks="EMPTY may arrive behind the output of the next round in this slot",
    ),
    _free(
        name="reorder-flag-without-exchange",
        old="return exchange(state.flag, 0, 1, ACQUIRE) == 0",
        new="store(state.flag, 0, 1, RELAXED)\n    return True",
        breaks="two workers send at the same time",
    ),
    _free(
        name="reorder-one-slot-too-many",
        old="load(state.next, 0, ACQUIRE) + state.slots:",
        new="load(state.next, 0, ACQUIRE) + state.slots + 1:",
        breaks="an output is written over one that waits in the same slot",
    ),
    _free(
        name="reorder-full-downstream-ignored",
        old="            if status == ACCEPTED:\n                # RELAXED: the store",
        new="            if True:\n                # RELAXED: the store",
        breaks="an output that downstream had no room for is lost",
    ),
)

_LOCK_BASED = (
    _locked(
        name="lock-based-sends-unlocked",
        old="            send_waiting(state, receiver)\n            release(state.lock, 0)\n"
        "            return status\n",
        new="            release(state.lock, 0)\n            send_waiting(state, receiver)\n"
        "            return status\n",
        breaks="another worker sends while this one does",
    ),
    _locked(
        name="lock-based-waiting-forgotten",
        old="            while output != EMPTY and send_downstream(",
        new="            if output != EMPTY and send_downstream(",
        breaks="outputs that wait behind the one that was sent stay behind",
    ),
)

MUTANTS = (*_NON_BLOCKING, *_LOCK_BASED)
