"""Automatic mutants of gates that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.gate.multi_queue get_next_ready_tuple_peek: swap acquire(state.locks, source)"
    " head = load(state.queues, queue + HEAD, RELAXED) -> head = load(state.queues, queue + HEAD,"
    " RELAXED) acquire(state.locks, source)": "only the reader, the caller, moves the head",
}
