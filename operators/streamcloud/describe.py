"""Operators, mergers and stages of a plan in words, for all texts that show a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from operators.streamcloud.algebra import (
    HASH,
    LARGER,
    SIDES,
    Aggregate,
    Filter,
    Join,
    Map,
    Node,
    Product,
    Union,
)
from operators.streamcloud.partition import LEFT, Grid, Hash, Partition
from operators.streamcloud.plan import Merger, Plan, Stage
from operators.streamcloud.windows import ALIGNED, CountWindow, TimeWindow


def described(node: Node) -> str:
    """Return an operator of a query in one line; the first word is its kind."""
    return _DESCRIBED[type(node)](node)


def numbered(plan: Plan) -> dict[str, str]:
    """Return the number of each stage, for references."""
    return {stage.name: f"S{number}" for number, stage in enumerate(plan.stages, start=1)}


def titled(plan: Plan, stage: Stage) -> str:
    """Return a stage with the number, the instances, and the processors that run them."""
    runs = [number for number, each in enumerate(plan.processors) if (stage.name, 0) in each]
    first, last = runs[0], runs[0] + stage.instances - 1
    where = f"processor {first}" if first == last else f"processors {first}-{last}"
    return f"{numbered(plan)[stage.name]} {stage.name} x {stage.instances}, {where}"


def taken_by(merger: Merger) -> str:
    """Return the operators behind a merger, with the side or the number of the input."""
    return ", ".join(_taker(node, number) for node, number in merger.takers)


def _taker(node: Node, number: int) -> str:
    if isinstance(node, Product):
        return f"{node.name}.{SIDES[number]}"
    return node.name if len(node.inputs) == 1 else f"{node.name}.{number}"


def split_by(partition: Partition, receivers: int) -> str:
    """Return how tuples are split over the receivers."""
    if isinstance(partition, Grid):
        way = "along a row" if partition.side == LEFT else "down a column"
        copies = partition.copies(receivers)
        return f"{way} of {partition.rows} x {partition.columns}, to {copies} of {receivers}"
    if isinstance(partition, Hash):
        return f"by hash of {', '.join(partition.columns)}" if partition.columns else "all to one"
    return "in turn"


def _map(node: Map) -> str:
    return f"map {_columns(node.columns)}"


def _filter(node: Filter) -> str:
    return f"filter {' | '.join(each.text for each in node.predicates)} | else"


def _union(node: Union) -> str:
    return f"union of {len(node.inputs)}"


def _aggregate(node: Aggregate) -> str:
    group = f"by {', '.join(node.group_by)}, " if node.group_by else ""
    columns = ", ".join(
        f"{each.name} = {each.function}({each.argument.text if each.argument else ''})"
        for each in node.columns
    )
    return f"aggregate {group}{_window(node.window)}: {columns}"


def _join(node: Join) -> str:
    on = ", ".join(f"{left} = {right}" for left, right in node.on)
    method = "" if node.method == HASH else f" by {node.method}"
    return f"join{method} on {on}, {_pairs(node)}"


def _product(node: Product) -> str:
    return f"product {_pairs(node)}"


def _pairs(node: Product) -> str:
    where = f", where {node.where.text}" if node.where else ""
    time = "" if node.time == LARGER else f", at the {node.time} time"
    return f"{_window(node.window)}{where}{time}: {_columns(node.columns)}"


def _window(window: TimeWindow | CountWindow) -> str:
    of_time = isinstance(window, TimeWindow)
    if window.advance is None:
        return f"at most {window.size} apart" if of_time else f"the last {window.size} tuples"
    if not of_time:
        return f"windows of {window.size} tuples every {window.advance}"
    start = "" if window.start == ALIGNED else f" from the {window.start} tuple"
    return f"windows of {window.size} every {window.advance}{start}"


def _columns(columns: Sequence) -> str:
    return ", ".join(
        name if value.column == name else f"{name} = {value.text}" for name, value in columns
    )


_DESCRIBED: dict[type, Callable[..., str]] = {
    Map: _map,
    Filter: _filter,
    Union: _union,
    Aggregate: _aggregate,
    Join: _join,
    Product: _product,
}
