"""Memory orders of gates that no program can need, with the reasons."""

from __future__ import annotations

ORDERS = {
    "operators.gate.skip_list insert_tuple: store(state.latest) RELEASE": (
        "the fence in the next insertion's pin publishes the tuples before it, and what is returned"
        " at or before a bound comes before the tuple that sets it"
    ),
}
