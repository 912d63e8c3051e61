"""Memory orders of theta joins that no program of the checker needs, with the reasons."""

from __future__ import annotations

ORDERS = {
    "operators.theta_join.handshake_low_latency look: load(chain.ended) ACQUIRE": (
        "needed where a core has ended and the reader sees its marks and its ring as they were:"
        " both marks and the ring are three old reads, and a schedule has two"
    ),
}
