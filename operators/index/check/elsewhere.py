"""Modules and functions of indexes that no thread of a program runs."""

_AT_REST = "looks at a tree at rest, for its invariants"

ELSEWHERE = {
    "operators.index.bw_inspect": "checks a tree at rest",
    **{
        f"operators.index.b_plus_tree {function}": _AT_REST
        for function in ("below", "entries_of", "inner_nodes", "leaves_of")
    },
}
