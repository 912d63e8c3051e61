"""The algebra of queries: the operators of a query, checked during construction.

::

    calls ----> long -- long.0 --> minutes --+
                  |                          +--> all --> busy     output of the query
                  +---- long.1 --> zeros ----+

    calls   Input                minutes, zeros   Map
    long    Filter of one        all              Union
            predicate            busy             Aggregate

A query is a graph of frozen records. A record refers to the outputs it takes, each of an operator
that already exists, so that no cycle can be made; the schemas of the record's outputs are derived
in construction. A record that exists is valid: construction checks names, types and windows, and a
`UsageError` names operator, key and column, lists the alternatives, and gives the remedy. Nothing
here depends on threads, on Spark, or on the way a query is run.

Section II-A of the paper has the operators. Departures from it:

* ``# ASSUME:`` windows of time are aligned to multiples of their advance, as everywhere in
  Millrace; the paper's windows, which start at their oldest tuple, are ``start="oldest"``.
* ``# ASSUME:`` a pair of a join bears the larger of its two times, so that joins put out in order.
  The paper's, the smaller, is ``time="smaller"``; it is sorted again behind the operator.
* ``# ASSUME:`` a filter's last output, of the tuples for which no predicate is true, may be left
  unconnected: that is how tuples are dropped. Every other output must be taken.
* ``# ASSUME:`` joins and groups go by int64 and text: rounding makes doubles unequal.

Two records of the same content are two operators: records are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from operators.contract import UsageError
from operators.streamcloud.checks import (
    check_key,
    check_name,
    check_own_names,
    computed,
    entries,
    predicate,
    with_time,
)
from operators.streamcloud.expressions import Called, Computed, Expression, Scope, aggregate_column
from operators.streamcloud.schema import DOUBLE, INT64, TIME, Schema, did_you_mean, listed
from operators.streamcloud.windows import CountWindow, TimeWindow, Window, checked_window

__all__ = [
    "Aggregate", "AggregateColumn", "Called", "CountWindow", "Filter", "Input", "Join", "Map",
    "Node", "Output", "Product", "Query", "Schema", "TimeWindow", "Union", "is_stateful",
]  # fmt: skip

LARGER, SMALLER = TIMES = ("larger", "smaller")
# How a join finds the matching tuples.
HASH, NESTED_LOOP = METHODS = ("hash", "nested-loop")
SIDES = ("left", "right")


class Output(NamedTuple):
    """One output of an operator, as another one takes it."""

    node: Node
    number: int = 0

    @property
    def name(self) -> str:
        """The name in the query: that of the operator, with the number if there are several."""
        several = len(self.node.schemas) > 1
        return f"{self.node.name}.{self.number}" if several else self.node.name

    @property
    def schema(self) -> Schema:
        """The columns of the tuples."""
        return self.node.schemas[self.number]


class AggregateColumn(NamedTuple):
    """A column of an aggregate: ``function(argument)``; count has no argument."""

    name: str
    function: str
    argument: Computed | None

    @property
    def type(self) -> str:
        """The type of the values."""
        if self.argument is None:
            return INT64
        return DOUBLE if self.function == "avg" else self.argument.type


class Node:
    """The base of all operators, and of the inputs of a query.

    Attributes
    ----------
    name : str
        Unique in the query.
    inputs : tuple of Output
        The outputs that the operator takes; left and right of a join.
    schemas : tuple of Schema
        One per output.
    """

    name: str
    inputs: tuple[Output, ...]
    schemas: tuple[Schema, ...]

    @property
    def kind(self) -> str:
        """The kind of operator, as the YAML form has it."""
        return type(self).__name__.lower()

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs, by number."""
        return tuple(Output(self, number) for number in range(len(self.schemas)))

    def __repr__(self) -> str:
        """Return kind and name; with the inputs it would be the whole query."""
        return f"{type(self).__name__}({self.name!r})"

    def _set(self, **fields: Any) -> None:
        """Set fields while the record is made."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _take(self, *names: str) -> Scope:
        """Check the name and the inputs, one output a name; return the scope of their columns."""
        check_name(self.name, self.kind)
        self._set(inputs=_outputs_of(self.name, self.inputs))
        if names and len(self.inputs) != len(names):
            takes = "one input" if len(names) == 1 else f"two inputs, {' and '.join(names)}"
            raise UsageError(f"{self.name}: a {self.kind} takes {takes}, received"
                             f" {len(self.inputs)}")  # fmt: skip
        sides = dict(zip(names, self.inputs, strict=bool(names)))
        return Scope(
            {side: each.schema for side, each in sides.items()},
            {side: each.name for side, each in sides.items()},
        )

    def _schema(self, columns: Iterable[tuple[str, str]]) -> Schema:
        return Schema(columns, f"{self.name}.columns")


@dataclass(frozen=True, eq=False, repr=False)
class Input(Node):
    """A stream that comes from outside.

    Attributes
    ----------
    schema : Schema or mapping of str to str
        A mapping has the names that the columns have outside.
    time : str
        The outside name of the time column; in the query it is ``ts``.
    """

    name: str
    schema: Schema
    time: str = TIME
    inputs: tuple[Output, ...] = field(default=(), init=False)
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Check the name, and put the time first."""
        check_name(self.name, self.kind)
        columns = self.schema
        if not isinstance(columns, Schema):
            if self.time != TIME:
                columns = with_time(f"{self.name}.time", dict(columns), self.time)
            columns = Schema(columns, f"{self.name}.schema")
        self._set(schema=columns, schemas=(columns,))


@dataclass(frozen=True, eq=False, repr=False)
class Map(Node):
    """Computes the columns of a tuple from those of another.

    Attributes
    ----------
    columns : tuple of (str, Expression or Called)
        By name, in order. One that is called ``ts`` is the new time, which may not go backwards;
        else the time stays.
    """

    name: str
    inputs: tuple[Output, ...]
    columns: tuple[tuple[str, Computed], ...]
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Type the expressions against the input."""
        columns = computed(f"{self.name}.columns", self.columns, self._take(""))
        schema = self._schema((name, value.type) for name, value in columns)
        self._set(columns=columns, schemas=(schema,))

    @property
    def sets_time(self) -> bool:
        """Whether the map computes a new time for the tuples."""
        return any(name == TIME for name, _ in self.columns)


@dataclass(frozen=True, eq=False, repr=False)
class Filter(Node):
    """Sends a tuple to the output of the first predicate that is true, else to the last output.

    Attributes
    ----------
    predicates : tuple of (Expression or Called)
        m of them; there are m + 1 outputs.
    """

    name: str
    inputs: tuple[Output, ...]
    predicates: tuple[Computed, ...]
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Type the predicates against the input."""
        scope, where, given = self._take(""), f"{self.name}.where", self.predicates
        given = [given] if isinstance(given, str | Expression | Called) else list(given)
        if not given:
            raise UsageError(f'{where}: a filter has at least one predicate, such as "ts > 0"')
        predicates = tuple(
            predicate(f"{where}.{number}", each, scope) for number, each in enumerate(given)
        )
        schemas = (self.inputs[0].schema,) * (len(predicates) + 1)
        self._set(predicates=predicates, schemas=schemas)


@dataclass(frozen=True, eq=False, repr=False)
class Union(Node):
    """Merges streams of one schema."""

    name: str
    inputs: tuple[Output, ...]
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Compare the schemas."""
        self._take()
        if len(self.inputs) < 2:
            raise UsageError(
                f"{self.name}.inputs: a union has at least two inputs, received {len(self.inputs)}"
            )
        first = self.inputs[0]
        for other in self.inputs[1:]:
            if other.schema != first.schema:
                raise UsageError(
                    f"{self.name}.inputs: {first.name} has {first.schema} and {other.name} has"
                    f" {other.schema}: a union's inputs have one schema; put a map before one"
                )
        self._set(schemas=(first.schema,))


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Node):
    """Computes one tuple from those of each window and group.

    The time of a result is the start of the window or, in a window of count, the time of the tuple
    that filled it. Behind the time come the group's columns, then the aggregate's.

    Attributes
    ----------
    window : TimeWindow or CountWindow
        With an advance. A window of count is one of each group.
    columns : tuple of AggregateColumn
        Given as ``{"calls": "count()", "mean": "avg(minutes)"}``.
    group_by : tuple of str
        Columns of the input; none is one group.
    """

    name: str
    inputs: tuple[Output, ...]
    window: Window
    columns: tuple[AggregateColumn, ...]
    group_by: tuple[str, ...] = ()
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Type the group and the columns against the input."""
        scope, where = self._take(""), f"{self.name}.columns"
        window = checked_window(f"{self.name}.window", self.window, slides=True)
        given = self.group_by
        group_by = (given,) if isinstance(given, str) else tuple(given)
        types = self._group_types(group_by)
        columns = tuple(
            AggregateColumn(each[0], *aggregate_column(f"{where}.{each[0]}", each, scope))
            for each in entries(where, self.columns)
        )
        check_own_names(where, [each.name for each in columns], group_by)
        schema = self._schema([*types, *((each.name, each.type) for each in columns)])
        self._set(window=window, columns=columns, group_by=group_by, schemas=(schema,))

    def _group_types(self, group_by: Sequence[str]) -> list[tuple[str, str]]:
        taken, where = self.inputs[0], f"{self.name}.group_by"
        for column in group_by:
            if column == TIME or group_by.count(column) > 1:
                why = "every window has its time" if column == TIME else "it is there twice"
                raise UsageError(f'{where}: take column "{column}" away: {why}')
        return [(each, check_key(where, each, taken.schema, taken.name)) for each in group_by]


@dataclass(frozen=True, eq=False, repr=False)
class Product(Node):
    """Pairs every tuple of the left with those of the right that are near and match.

    Attributes
    ----------
    window : TimeWindow or CountWindow
        Without an advance.
    columns : tuple of (str, Expression or Called)
        Over ``left.x`` and ``right.y``.
    where : Expression, Called or None
        Which pairs match; None for all.
    time : str
        Which of the two times a pair has, one of ``TIMES``.
    """

    name: str
    inputs: tuple[Output, ...]
    window: Window
    columns: tuple[tuple[str, Computed], ...]
    where: Computed | None = None
    time: str = LARGER
    schemas: tuple[Schema, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        """Type the predicate and the columns against both inputs."""
        scope = self._take(*SIDES)
        if self.time not in TIMES:
            raise UsageError(f'{self.name}.time: "{self.time}" is none of {listed(TIMES)}'
                             f"{did_you_mean(str(self.time), TIMES)}")  # fmt: skip
        window = checked_window(f"{self.name}.window", self.window, slides=False)
        where = self.where
        if where is not None:
            where = predicate(f"{self.name}.where", where, scope)
        columns = computed(f"{self.name}.columns", self.columns, scope)
        check_own_names(f"{self.name}.columns", [name for name, _ in columns])
        schema = self._schema((name, value.type) for name, value in columns)
        self._set(window=window, where=where, columns=columns, schemas=(schema,))


@dataclass(frozen=True, eq=False, repr=False)
class Join(Product):
    """Pairs the tuples of two streams that are near, agree in some columns, and match: an equijoin.

    Attributes
    ----------
    on : tuple of (str, str)
        Pairs of a left and a right column that must be equal; at least one.
    method : str
        How partners are found, one of ``METHODS``: by an index of the window, or by comparing with
        all of it, as the paper's engine did. The pairs, and the instances that find them, are the
        same.
    """

    on: tuple[tuple[str, str], ...] = ()
    method: str = HASH

    def __post_init__(self) -> None:
        """Check the columns that must be equal; everything else as in a product."""
        super().__post_init__()
        self._check_method()
        where, (left, right) = f"{self.name}.on", self.inputs
        given = list(self.on)
        if not given or any(isinstance(pair, str) or len(pair) != 2 for pair in given):
            raise UsageError(f"{where}: give pairs of a left and a right column, such as"
                             f" [[caller, number]], received {given}; without any it would be a"
                             " product")  # fmt: skip
        for mine, other in given:
            types = (
                check_key(where, mine, left.schema, left.name),
                check_key(where, other, right.schema, right.name),
            )
            if types[0] != types[1]:
                raise UsageError(
                    f"{where}: {left.name}.{mine} is {types[0]} and {right.name}.{other} is"
                    f" {types[1]}: columns of one type can be equal; put a map before one"
                )
        self._set(on=tuple((mine, other) for mine, other in given))

    def _check_method(self) -> None:
        where = f"{self.name}.method"
        if self.method not in METHODS:
            raise UsageError(f'{where}: "{self.method}" is none of {listed(METHODS)}'
                             f"{did_you_mean(str(self.method), METHODS)}")  # fmt: skip
        if self.method == NESTED_LOOP and isinstance(self.where, Called):
            raise UsageError(
                f"{where}: a {NESTED_LOOP} join tests all pairs by expressions, and"
                f" {self.where.text} is a function: write it as an expression, or take {HASH}"
            )


def computed_by(node: Node) -> list[Computed | None]:
    """Return the expressions and functions of an operator: of its columns, then its predicates."""
    columns = [each[-1] for each in getattr(node, "columns", ())]
    return [*columns, *getattr(node, "predicates", ()), getattr(node, "where", None)]


def is_stateful(node: Node) -> bool:
    """Say whether an operator's results depend on several tuples."""
    return isinstance(node, Aggregate | Product)


@dataclass(frozen=True, eq=False)
class Query:
    """A query: the outputs, and through them all the operators.

    Attributes
    ----------
    name : str
    outputs : tuple of Output
        Of operators; each is one result.
    declared : sequence of Node
        Inputs and operators in the order that breaks their ties; those that are not named follow in
        the order in which the outputs reach them.
    nodes : tuple of Node
        Inputs first, then operators in topological order, ties as declared.
    """

    name: str
    outputs: tuple[Output, ...]
    declared: tuple[Node, ...] = field(default=(), repr=False)
    nodes: tuple[Node, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        """Sort the operators; refuse duplicate names and unconnected outputs."""
        check_name(self.name, "query")
        where = f"{self.name}.outputs"
        outputs = _outputs_of(where, self.outputs)
        if not outputs:
            raise UsageError(f"{where}: a query has at least one output")
        for each in outputs:
            if isinstance(each.node, Input) or outputs.count(each) > 1:
                why = "is an input" if isinstance(each.node, Input) else "is there twice"
                raise UsageError(f'{where}: "{each.name}" {why}: an output is that of an operator,'
                                 " once")  # fmt: skip
        nodes = _in_order(outputs, self.declared)
        names = [node.name for node in nodes]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"{name}: two operators or inputs bear this name")
        _check_ends(nodes, outputs)
        for attribute, value in (("outputs", outputs), ("nodes", nodes), ("declared", nodes)):
            object.__setattr__(self, attribute, value)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs; sources are numbered in this order."""
        return tuple(node for node in self.nodes if isinstance(node, Input))

    @property
    def operators(self) -> tuple[Node, ...]:
        """All nodes but the inputs, in topological order."""
        return tuple(node for node in self.nodes if not isinstance(node, Input))


def _outputs_of(where: str, given: object) -> tuple[Output, ...]:
    """Return outputs for the given operators or outputs; an operator with one stands for it."""
    several = isinstance(given, list | tuple) and not isinstance(given, Output)
    return tuple(_output(where, each) for each in (given if several else [given]))


def _output(where: str, given: object) -> Output:
    if isinstance(given, Node) and len(given.schemas) > 1:
        names = listed(each.name for each in given.outputs)
        raise UsageError(f"{where}: {given.name} has several outputs, say which: {names}")
    taken = Output(given) if isinstance(given, Node) else given
    if not isinstance(taken, Output) or not isinstance(taken.node, Node):
        raise UsageError(f"{where}: takes outputs of operators, received {given!r}")
    if taken.number not in range(len(taken.node.schemas)):
        names = listed(each.name for each in taken.node.outputs)
        raise UsageError(
            f"{where}: {taken.node.name} has no output {taken.number}; there are: {names}"
        )
    return taken


def _in_order(outputs: Iterable[Output], declared: Iterable[Node]) -> tuple[Node, ...]:
    """Return all nodes in topological order, inputs first, ties as declared."""
    found: dict[Node, None] = {}

    def reach(node: Node) -> None:
        if node not in found:
            for taken in node.inputs:
                reach(taken.node)
            found[node] = None

    declared = list(declared)
    for node in [*declared, *(each.node for each in outputs)]:
        reach(node)
    rank = {node: number for number, node in enumerate(dict.fromkeys([*declared, *found]))}
    waiting = sorted(found, key=lambda node: (not isinstance(node, Input), rank[node]))
    nodes: dict[Node, None] = {}
    while waiting:
        following = next(n for n in waiting if all(taken.node in nodes for taken in n.inputs))
        waiting.remove(following)
        nodes[following] = None
    return tuple(nodes)


def _check_ends(nodes: Iterable[Node], outputs: Iterable[Output]) -> None:
    """Refuse an output that is neither taken by an operator nor an output of the query."""
    taken = {each for node in nodes for each in node.inputs} | set(outputs)
    for node in nodes:
        loose = [each for each in node.outputs if each not in taken]
        if isinstance(node, Filter) and len(loose) < len(node.outputs):
            # The last output of a filter whose others are taken: these tuples are dropped.
            loose = [each for each in loose if each.number < len(node.predicates)]
        if loose:
            raise UsageError(
                f"{node.name}: nothing takes {loose[0].name}, and it is no output of the query: let"
                " an operator take it, list it under outputs, or take it away"
            )
