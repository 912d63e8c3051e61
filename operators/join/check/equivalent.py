"""Automatic mutants of joins that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.join.lock_step_join prepare: drop prepare_side(windows, 1, windows.r.index,"
    " feed.s, peek(joiner.places, 1), count) -> pass": (
        "a search for which no descent was made ahead descends itself"
    ),
}
