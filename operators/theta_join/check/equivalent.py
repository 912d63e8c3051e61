"""Automatic mutants of theta joins that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.theta_join.chain way_of: compare side == R -> side != R": (
        "the two sides have each other's rings, at both ends of each"
    ),
    "operators.theta_join.processing begin_batch: constant 0 -> 1 (5)": (
        "a batch has room for a tuple of S less, and its pass begins too early; the matches of each"
        " tuple are cut to its range"
    ),
    "operators.theta_join.sequential get_output: compare position == NO_PAIR -> position != NO_PAIR"
    " (2)": "an answer of NOT_READY may come at any time, and the next call has the pair",
    "operators.theta_join.handshake take_s: swap keep(core, chain, place, S, WITH_S) ask(core,"
    " chain, place, S, WITH_R, core.r.words[NEXT]) -> ask(core, chain, place, S, WITH_R,"
    " core.r.words[NEXT]) keep(core, chain, place, S, WITH_S)": (
        "one writes the window of S, the other the batch, and neither reads what the other writes"
    ),
    "operators.theta_join.handshake_low_latency take_s: constant 1 -> 0 (3)": (
        "the news goes alone then, and the tuple follows it when there is room"
    ),
}
