"""The subqueries of a query: operators that run together.

Source: "StreamCloud: A Large Scale Data Streaming System", section III-B.

A subquery is a stateful operator and the stateless ones behind it, up to the next stateful ones or
the end of the query. The stateless operators before all stateful ones are one more, the *prefix*::

    calls --> map --> filter --> join --> filter --> aggregate --> map
              '-- prefix --'     '-- subquery --'    '--- subquery ---'

Tuples need to move between instances before a stateful operator only, so these are the fewest
pieces that a query can be cut into.

A union of outputs of one subquery is a part of it. A union of outputs of several is *at the
beginning* of each subquery behind it: at the end of the former, none of them would have all of the
union's tuples.

# ASSUME: the paper does not say where stateless operators behind a union of several subqueries
# belong. They belong to none of these, so they are a separate stateless subquery, which the union
# begins. Behind a union of inputs and of the prefix they are in the prefix.
# ASSUME: a union of several subqueries that reaches both sides of a join or product begins one as
# well: each side has a different partition, so that the union cannot be in front of both. The same
# holds for a union that is an output of the query and takes an input of it directly.
# ASSUME: a union is a part of a subquery only if all inputs are on one clock (`plan.clocks`). If
# one of them comes later, as behind a map that sets the time, it takes a merger to wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from operators.streamcloud.algebra import Input, Node, Output, Query, Union, is_stateful
from operators.streamcloud.plan import ENTRY, begins_a_clock

# No operator has these names.
_PREFIX, _OUTSIDE = "(prefix)", "(outside)"


@dataclass(frozen=True)
class Subquery:
    """Operators that run together.

    Attributes
    ----------
    name : str
        Of the stateful operator, of the union that begins it, or of the first of the prefix.
    stateful : Aggregate, Join, Product or None
    nodes : tuple of Node
        The operators in topological order. Each operator of a query is in one subquery at the
        most.
    unions : tuple of Union
        Those at the beginning. They may be at the beginning of others, too.
    """

    name: str
    stateful: Node | None
    nodes: tuple[Node, ...]
    unions: tuple[Union, ...] = ()


def subqueries(query: Query) -> tuple[Subquery, ...]:
    """Return the subqueries of a query in topological order."""
    owners = _Owners(query)
    members: dict[str, list[Node]] = {}
    for node, owner in owners.of.items():
        members.setdefault(owner, []).append(node)
    place = {node.name: number for number, node in enumerate(query.nodes)} | {_PREFIX: -1}
    found = []
    for owner in sorted(members, key=place.__getitem__):
        nodes = sorted(members[owner], key=lambda node: place[node.name])
        unions = {each for node in nodes for taken in node.inputs for each in owners.unions(taken)}
        found.append(
            Subquery(
                name=nodes[0].name if owner == _PREFIX else owner,
                stateful=nodes[0] if is_stateful(nodes[0]) else None,
                nodes=tuple(nodes),
                unions=tuple(sorted(unions, key=lambda node: place[node.name])),
            )
        )
    return tuple(found)


def operators_alone(query: Query) -> tuple[Subquery, ...]:
    """Return each operator of a query as a subquery."""
    return tuple(
        Subquery(node.name, node if is_stateful(node) else None, (node,))
        for node in query.operators
    )


class _Owners:
    """The subquery of each operator; unions at a beginning are in none.

    Attributes
    ----------
    of : dict of Node to str
    """

    def __init__(self, query: Query) -> None:
        self.of: dict[Node, str] = {}
        self._clock: dict[Node, str] = {}
        self._begun: dict[Node, str] = {}
        for node in query.operators:
            self._place(node)
        for output in query.outputs:
            if output.node not in self.of and self._comes_from_outside(output):
                self._own(output.node)

    def unions(self, output: Output) -> Iterator[Node]:
        """Yield the unions at a beginning that an output comes through, the last one first."""
        if isinstance(output.node, Union) and output.node not in self.of:
            yield output.node
            for taken in output.node.inputs:
                yield from self.unions(taken)

    def _place(self, node: Node) -> None:
        if is_stateful(node):
            self._part_sides(node)
            self._put(node, node.name, ENTRY)
        elif isinstance(node, Union):
            origins = self._origins_of(node)
            (owner, clock), *others = origins
            if not others and owner != _OUTSIDE:
                self._put(node, owner, clock)
        else:
            before = node.inputs[0].node
            if before in self.of:
                self._put(node, self.of[before], self._clock[before])
            elif isinstance(before, Input):
                self._put(node, _PREFIX, ENTRY)
            else:
                self._put(node, self._begin(before), ENTRY)

    def _put(self, node: Node, owner: str, clock: str) -> None:
        self.of[node] = owner
        self._clock[node] = node.name if begins_a_clock(node) else clock

    def _begin(self, union: Node) -> str:
        """Return the subquery that a union begins: the prefix, if all inputs are there in time."""
        if union not in self._begun:
            in_prefix = self._origins_of(union) <= {(_OUTSIDE, ENTRY), (_PREFIX, ENTRY)}
            self._begun[union] = _PREFIX if in_prefix else union.name
        return self._begun[union]

    def _own(self, union: Node) -> None:
        self._put(union, self._begin(union), ENTRY)

    def _part_sides(self, node: Node) -> None:
        """Take unions from the beginning that reach several inputs of an operator."""
        while len(node.inputs) > 1:
            left, right = (list(self.unions(taken)) for taken in node.inputs)
            both = [union for union in left if union in right]
            if not both:
                return
            self._own(both[0])

    def _origins_of(self, union: Node) -> set[tuple[str, str]]:
        """Return the subqueries and the clocks of a union's inputs."""
        return {each for taken in union.inputs for each in self._origins(taken)}

    def _origins(self, output: Output) -> set[tuple[str, str]]:
        node = output.node
        if node in self.of:
            return {(self.of[node], self._clock[node])}
        return {(_OUTSIDE, ENTRY)} if isinstance(node, Input) else self._origins_of(node)

    def _comes_from_outside(self, output: Output) -> bool:
        if isinstance(output.node, Input):
            return True
        if output.node in self.of:
            return False
        return any(self._comes_from_outside(taken) for taken in output.node.inputs)
