"""Of modules that several structures need, the structure whose programs reach most of it."""

ASKED = {
    # The nearest, nested loops, only add: it draws heights, which are mixed, and folds rows.
    "operators.core.integers": "core/w-hive",
}
