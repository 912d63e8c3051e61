"""Automatic mutants of joins that no check can kill, with the reasons."""

_NO_HORIZON = "a window of tuples has no horizon"
_ONE_EACH = "a step processes one tuple, never two, and the caller takes each as it takes the last"

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
    "operators.join.window low_of: compare key > windows.lowest + windows.half_width -> key >="
    " windows.lowest + windows.half_width": "a key that far from the lowest has that as its end",
    "operators.join.merging begin_merging: swap words[MERGES] += 1 words[MERGING + side] = 1 ->"
    " words[MERGING + side] = 1 words[MERGES] += 1": "both words are used under the mutex alone",
    "operators.join.shared_join look: compare worker.together != 0 -> worker.together == 0": (
        "either way of descending finds the same, and spots have room for a whole task in both"
    ),
    "operators.join.propagation give_stuck: swap store(queue.words, GIVEN, 0, RELAXED)"
    " pass_task(queue, words[TASK]) -> pass_task(queue, words[TASK]) store(queue.words, GIVEN, 0,"
    " RELAXED)": "without the output's lock both words are hints, and with it they are as before",
    "operators.join.work_queue looks_free: and free and load(words, HELD_BACK, RELAXED) == 0 ->"
    " (free or load(words, HELD_BACK, RELAXED) == 0)": (
        "a thread takes the lock more often, and is refused under it"
    ),
    "operators.join.index_join step: one r + 1 -> r": _ONE_EACH,
    "operators.join.index_join step: constant 1 -> 0 (3)": _ONE_EACH,
}
