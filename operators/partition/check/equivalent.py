"""Automatic mutants of worklists that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.partition.shared add_input: swap store(state.cells, cell + WORD, word,"
    " RELAXED) store(state.ends, WRITTEN, written + 1, RELAXED) -> store(state.ends, WRITTEN,"
    " written + 1, RELAXED) store(state.cells, cell + WORD, word, RELAXED)": (
        "two words under the lock, without which nobody reads the second as more than a hint"
    ),
}
