"""Queries and streams from a seed: every kind of operator, in every combination.

All streams have the columns ``(ts, a, b)``, integers, so that any operator can follow any other.
"""

from __future__ import annotations

from random import Random

from operators.streamcloud.algebra import (
    Aggregate,
    Filter,
    Input,
    Join,
    Map,
    Node,
    Output,
    Product,
    Query,
    Union,
)
from operators.streamcloud.windows import CountWindow, TimeWindow

SCHEMA = {"a": "int64", "b": "int64"}
# Least number of operators in a query, and limit of the stateful ones.
OPERATORS, STATEFUL = 7, 3


def random_query(random: Random) -> Query:
    """Return a query; its unconsumed streams are the outputs."""
    inputs = [Input(f"in{number}", SCHEMA) for number in range(random.randint(1, 3))]
    there = [Output(node) for node in inputs]
    nodes: list[Node] = []
    left = STATEFUL
    while len(nodes) < OPERATORS:
        kinds = [_map, _map, _filter, _filter, _union, _union]
        kinds += [_aggregate, _join, _join, _product] if left else []
        make = random.choice(kinds)
        left -= make in (_aggregate, _join, _product)
        node = make(random, f"op{len(nodes)}", there)
        nodes.append(node)
        columns = node.schemas[0].names
        if columns != ("ts", "a", "b"):
            second = "b" if "b" in columns else "a"
            node = Map(f"op{len(nodes)}", node, {"a": "a", "b": second})
            nodes.append(node)
        there += node.outputs
    taken = {each for node in nodes for each in node.inputs}
    loose = [
        each
        for node in nodes
        for each in node.outputs
        if each not in taken and each.number < max(1, len(node.outputs) - 1)
    ]
    used = [node for node in inputs if Output(node) in taken]
    return Query("random", tuple(loose), (*used, *nodes))


def random_streams(random: Random, query: Query, tuples: int = 12) -> dict[str, list[list[tuple]]]:
    """Return one or two streams of each input, with many ties."""
    return {
        node.name: [_stream(random, random.randint(0, tuples)) for _ in range(random.randint(1, 2))]
        for node in query.inputs
    }


def _stream(random: Random, tuples: int) -> list[tuple]:
    times = sorted(random.randint(0, 12) for _ in range(tuples))
    return [(ts, random.randint(-2, 3), random.randint(0, 2)) for ts in times]


def _some(random: Random, there: list[Output]) -> Output:
    """Choose an output, preferring late ones."""
    return there[max(random.randrange(len(there)) for _ in range(2))]


def _map(random: Random, name: str, there: list[Output]) -> Map:
    given = random.choice(
        [
            {"a": "a", "b": "b"},
            {"a": "b", "b": "a"},
            {"a": "a", "b": "(a + b) % 5"},
            {"a": "a % 3", "b": "b"},
            {"ts": "ts + 4", "a": "a", "b": "b"},
        ]
    )
    return Map(name, _some(random, there), given)


def _filter(random: Random, name: str, there: list[Output]) -> Filter:
    where = random.choice([["a > 0"], ["b == 1", "a > 0"], ["a != b"]])
    return Filter(name, _some(random, there), where)


def _union(random: Random, name: str, there: list[Output]) -> Union:
    return Union(name, tuple(_some(random, there) for _ in range(random.randint(2, 3))))


def _aggregate(random: Random, name: str, there: list[Output]) -> Aggregate:
    group_by, given = random.choice(
        [
            (["a"], {"b": "sum(b)"}),
            (["b"], {"a": "max(a)"}),
            ([], {"a": "min(a)", "b": "count()"}),
            (["a", "b"], {"n": "count()"}),
        ]
    )
    window = random.choice([TimeWindow(5, 3), TimeWindow(4, 4), CountWindow(2, 1)])
    return Aggregate(name, _some(random, there), window, given, group_by)


def _join(random: Random, name: str, there: list[Output]) -> Join:
    on, given = random.choice(
        [
            ([("a", "a")], {"a": "left.a", "b": "right.b"}),
            ([("a", "b")], {"a": "right.b", "b": "left.b"}),
            ([("a", "a"), ("b", "b")], {"a": "right.a", "b": "left.b"}),
            ([("b", "a"), ("a", "b")], {"a": "left.a", "b": "right.a"}),
        ]
    )
    return Join(
        name,
        (_some(random, there), _some(random, there)),
        TimeWindow(random.randint(0, 3)),
        given,
        where=random.choice([None, "left.b <= right.b"]),
        time=random.choice(["larger", "larger", "smaller"]),
        on=on,
        method="nested-loop" if on == [("a", "b")] else "hash",
    )


def _product(random: Random, name: str, there: list[Output]) -> Product:
    return Product(
        name,
        (_some(random, there), _some(random, there)),
        TimeWindow(random.randint(0, 2)),
        {"a": "left.a", "b": "right.b"},
        where="(left.a + right.b) % 3 == 0",
        time=random.choice(["larger", "smaller"]),
    )
