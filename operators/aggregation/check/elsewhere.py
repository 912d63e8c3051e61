"""Modules of aggregates that no thread of a program runs."""

ELSEWHERE = {
    "operators.aggregation.queries": "describes the queries, before there are threads",
    "operators.aggregation.specification": "is the oracle of the programs",
    "operators.aggregation.text_predicates": "reads the bytes of one tuple; no program has texts",
}
