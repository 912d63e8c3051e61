"""Of modules that several indexes need, the index whose programs reach most of it."""

ASKED = {
    **dict.fromkeys(
        ("operators.index.pim_merge", "operators.index.shared"), "index/pim-tree-parallel"
    ),
    # Nested loops have no leaves, whose entries are looked at by vectors.
    "operators.index.window": "index/b-plus-tree",
    # A tree of a chain has one block, if its nodes are those of a vector.
    "operators.index.immutable_tree": "index/pim-tree",
    # Merges and insertions into nodes of one vector; removals; samples and copies; windows of keys.
    "operators.core.vectors": (
        "index/pim-tree",
        "index/b-plus-tree",
        "index/bw-tree",
        "index/nested-loop",
    ),
}
