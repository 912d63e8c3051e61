"""Functions of joins that no thread of a program runs."""

ELSEWHERE = {
    "operators.join.feed by_time": (
        "orders all tuples before a join begins; tests/operators/join/test_round_robin.py"
    ),
}
