"""Automatic mutants of theta joins that no check can kill, with the reasons."""

from __future__ import annotations

EQUIVALENT = {
    (
        "operators.theta_join.sort_buffer swap: swap poke(buffer.keys, one, peek(buffer.keys,"
        " other)) poke(buffer.slots, one, peek(buffer.slots, other)) -> poke(buffer.slots, "
        "one, peek(buffer.slots, other)) poke(buffer.keys, one, peek(buffer.keys, other))"
    ): "keys and slots are two arrays of one thread, exchanged in either order",
}
