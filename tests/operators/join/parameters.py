"""The parameters that joins are tested at, beside their defaults."""

from __future__ import annotations

SETTINGS: dict[str, list[dict[str, float]]] = {
    "nested-loop": [{}],
    "b-plus-tree": [{"fan_out": 4}],
    "b-chain": [{"chain_length": length} for length in (2, 9)],
    "ib-chain": [{"chain_length": length} for length in (2, 9)],
    "im-tree": [{"merge_ratio": ratio} for ratio in (0.01, 1)],
    "pim-tree": [
        {"merge_ratio": ratio, "insertion_depth": depth}
        for ratio in (0.01, 1)
        for depth in (0, 1, 2)
    ],
}
