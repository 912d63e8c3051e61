"""Automatic mutants of aggregates that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.aggregation.winsets find: swap slot = (slot + 1) & windows.slot_mask"
    " at = slot_address(windows, slot, place) -> at = slot_address(windows, slot, place)"
    " slot = (slot + 1) & windows.slot_mask": "it looks at the first slot twice",
    "operators.aggregation.window_functions extreme_shared: compare value < kept -> value <="
    " kept": "an equal value is written over itself",
    "operators.aggregation.w_hive node_height: not number - hive.nodes[node_at(hive,"
    " tallest_before) + NUMBER] >= TALL_EVERY -> not (number - hive.nodes[node_at(hive,"
    " tallest_before) + NUMBER] >= TALL_EVERY)": "heights only decide how long a search takes",
}
