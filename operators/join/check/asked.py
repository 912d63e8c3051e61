"""Of modules that several joins need, the join whose programs reach most of it."""

# The nearest two joins are over indexes that do not merge.
ASKED = dict.fromkeys(
    ("operators.join.merging", "operators.join.shared_join", "operators.join.work_queue"),
    "join/pim-tree-parallel",
)
