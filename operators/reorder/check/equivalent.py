"""Automatic mutants of reorder buffers that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.reorder.lock_based send_waiting: swap store(state.next, 0, serial, RELEASE)"
    " output = load(state.buffer, serial & state.mask, RELAXED) -> output = load(state.buffer,"
    " serial & state.mask, RELAXED) store(state.next, 0, serial, RELEASE)": (
        "two words under the lock, and nobody writes a slot without it"
    ),
}
