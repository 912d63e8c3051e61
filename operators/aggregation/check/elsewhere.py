"""Modules of aggregates that no thread of a program runs."""

ELSEWHERE = {
    "operators.aggregation.functions": (
        "names functions before a run and reads rows after it; tests/operators/aggregation/"
        "test_functions.py judges it"
    ),
    "operators.aggregation.queries": "describes the queries, before there are threads",
    "operators.aggregation.specification": "is the oracle of the programs",
    "operators.aggregation.text_predicates": "reads the bytes of one tuple; no program has texts",
}
