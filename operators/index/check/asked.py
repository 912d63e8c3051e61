"""Of modules that several indexes need, the index whose programs reach most of it."""

ASKED = {
    **dict.fromkeys(
        ("operators.index.pim_merge", "operators.index.shared"), "index/pim-tree-parallel"
    ),
    # The nearest two compare all keys, and look at no sequence.
    "operators.core.vectors": "index/bw-tree",
}
