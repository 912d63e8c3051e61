"""Automatic mutants of aggregates that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.aggregation.winsets find: swap slot = (slot + 1) & windows.slot_mask"
    " at = slot_address(windows, slot, place) -> at = slot_address(windows, slot, place)"
    " slot = (slot + 1) & windows.slot_mask": "it looks at the first slot twice",
    "operators.aggregation.window_functions extreme_shared: compare value < kept -> value <="
    " kept": "an equal value is written over itself",
    "operators.aggregation.w_hive node_height: compare"
    " number - hive.nodes[node_at(hive, tallest_before) + NUMBER] >= TALL_EVERY ->"
    " number - hive.nodes[node_at(hive, tallest_before) + NUMBER] > TALL_EVERY": (
        "one more winset may be short, for which there still is a table"
    ),
    "operators.aggregation.wiml_panes process: swap windows.control[NEWEST] = pane"
    " step_past(hive, place) -> step_past(hive, place) windows.control[NEWEST] = pane": (
        "the first is a word that only this thread reads"
    ),
    "operators.aggregation.wiml_panes process: swap let_go(hive) # Before the list is read (2)."
    " passed = slowest(hive) -> passed = slowest(hive) # Before the list is read (2)."
    " let_go(hive)": (
        "what is let go lies behind the read head, and no other thread's word depends on it"
    ),
    "operators.aggregation.private_panes go_on_to: drop"
    " state.own[own + BOUNDARY] = end_of_pane(state.windows, pane) -> pass": (
        "each tuple computes its pane then, and finds it begun"
    ),
    "operators.aggregation.private_panes process: drop"
    " let_go_panes(state, begin_pane(windows)) -> pass": (
        "only a stream's first pane can be empty, and its header never takes the last room"
    ),
    "operators.aggregation.wiml_panes move_pane: compare winsets.sums > 1 ->"
    " winsets.sums >= 1": "a cell of one word leaves out the second one",
    "operators.aggregation.winsets row_words_of: not words >= LINE_WORDS -> not (words >="
    " LINE_WORDS)": "by either rule rows are as far apart as they are long, or farther",
    "operators.aggregation.w_hive let_go: swap reading[BOUNDARY] = head reading[BOUNDARY_EPOCH]"
    " = epochs.advance(hive.searches) -> reading[BOUNDARY_EPOCH] ="
    " epochs.advance(hive.searches) reading[BOUNDARY] = head": (
        "two words that the output thread alone reads"
    ),
    "operators.aggregation.through_time update_output: swap update(windows, windows.current[2],"
    " windows.current[3]) control[PROCESSED] += 1 -> control[PROCESSED] += 1 update(windows,"
    " windows.current[2], windows.current[3])": (
        "the number of tuples is read when a winset is closed, in a later call"
    ),
    "operators.aggregation.cells clear_cell: constant 0 -> 1 (3)": (
        "of a value that is kept alone, the first tuple of the next pane overwrites it"
    ),
}
