"""The operators of an instance: compiled loops over batches, one file a kind.

`operator` has the common interface. The expressions of an operator are generated as source text
(`operators.streamcloud.generated`); the loops over tuples are here. A kernel is made once a
process, whatever the number of instances.
"""

from __future__ import annotations

from collections.abc import Mapping

from operators.streamcloud.algebra import NESTED_LOOP, Aggregate, Join, Node, Product
from operators.streamcloud.kernels.aggregate import AlignedAggregate
from operators.streamcloud.kernels.equijoin import JoinOperator
from operators.streamcloud.kernels.members import MembersAggregate
from operators.streamcloud.kernels.operator import Operator
from operators.streamcloud.kernels.product import ProductOperator, compared_by_pairs
from operators.streamcloud.kernels.stateless import STATELESS
from operators.streamcloud.windows import ALIGNED

__all__ = ["Operator", "operator_of"]


def operator_of(node: Node, codes: Mapping[str, int], in_order: bool) -> Operator:
    """Return a new operator for a node of a query.

    Parameters
    ----------
    node : Node
    codes : mapping of str to int
        Of texts.
    in_order : bool
        Whether tuples come in the total order.
    """
    if isinstance(node, Aggregate):
        aligned = getattr(node.window, "start", None) == ALIGNED
        return (AlignedAggregate if aligned else MembersAggregate)(node, codes, in_order)
    if isinstance(node, Join) and node.method == NESTED_LOOP:
        return ProductOperator(compared_by_pairs(node), codes, in_order)
    pairing = {Join: JoinOperator, Product: ProductOperator}
    return (STATELESS | pairing)[type(node)](node, codes, in_order)
