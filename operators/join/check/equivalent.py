"""Automatic mutants of joins that no check can kill, with the reasons."""

_NO_HORIZON = "a window of tuples has no horizon"

EQUIVALENT = {
    "operators.join.lock_step_join prepare: drop prepare_side(windows, 1, windows.r.index,"
    " feed.s, peek(joiner.places, 1), count) -> pass": (
        "a search for which no descent was made ahead descends itself"
    ),
    "operators.join.window process_on: swap status = insert(windows, mine, key, time) # A merge"
    " belongs to all tuples since the last one, and is timed separately. inserted = now() -"
    " (merge_ns(mine.index) - merging) -> inserted = now() - (merge_ns(mine.index) - merging)"
    " # A merge belongs to all tuples since the last one, and is timed separately. status ="
    " insert(windows, mine, key, time)": "only a time is measured earlier",
    "operators.join.chain hand_on: swap publish(chain.ways, following)"
    " core.words[side * SIDE_WORDS + FORWARDED] = take(chain.ways, ring) ->"
    " core.words[side * SIDE_WORDS + FORWARDED] = take(chain.ways, ring)"
    " publish(chain.ways, following)": (
        "only this core reads how many messages it has taken; their slots are given back later"
    ),
    "operators.join.propagation give_itself: compare words[OWNS] == 0 -> words[OWNS] != 0": (
        "a thread comes here without the output, and then looks at the head under the lock each"
        " time"
    ),
    "operators.join.round_robin_as_printed close: constant 0 -> 1 (3)": _NO_HORIZON,
    "operators.join.round_robin_as_printed close: constant 0 -> 1 (4)": _NO_HORIZON,
    "operators.join.chain move: swap done |= hand_on(chain, core, 0) | hand_on(chain, core, 1)"
    " done |= take_head(chain, core, feed, 0) | take_head(chain, core, feed, 1) -> done |="
    " take_head(chain, core, feed, 0) | take_head(chain, core, feed, 1) done |="
    " hand_on(chain, core, 0) | hand_on(chain, core, 1)": (
        "a message that was handed on becomes the head a step later"
    ),
    "operators.join.work_queue note_task: drop poke(words, line + TAKEN_AT, now()) -> pass": (
        "only a latency is measured from it"
    ),
    "operators.join.shared_join take: compare words[REFUSED] != 0 -> words[REFUSED] == 0": (
        "whether a thread looks before it takes the lock: a stale look is corrected by the next one"
    ),
}
