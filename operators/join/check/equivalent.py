"""Automatic mutants of joins that no check can kill, with the reasons."""

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
}
