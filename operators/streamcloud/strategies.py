"""The three strategies of the paper that cut a query into stages.

They differ in the compiler's passes alone (`operators.streamcloud.compiler`); mergers, operators,
balancers and carriers are the same.

query-cluster
    Every instance runs the whole query, and tuples go over before each stateful operator.
operator-cluster
    Each operator has instances for itself, so that every tuple goes over between any two operators.
subquery-cluster
    The query is cut before each stateful operator, and each part has instances for itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from operators.contract import Look, Shown, Variant
from operators.streamcloud.algebra import Query
from operators.streamcloud.compiler import Instances, compile_query
from operators.streamcloud.family import StreamcloudOperations
from operators.streamcloud.plan import (
    OPERATOR_CLUSTER,
    QUERY_CLUSTER,
    SUBQUERY_CLUSTER,
    TRANSPARENT,
    Plan,
)


def _strategy(strategy: str, title: str, look: Look, shown: tuple[Shown, ...] = ()) -> Variant:
    def compile_by(
        query: Query,
        instances: Instances,
        merger: str = TRANSPARENT,
        streams: Mapping[str, int] | None = None,
    ) -> Plan:
        return compile_query(query, strategy, instances, merger, streams)

    return Variant(
        id=strategy,
        family="streamcloud",
        title=title,
        paper="streamcloud",
        section="III-B",
        operations=StreamcloudOperations(compile_by),
        order="total with transparent mergers; as it comes with best-effort ones",
        progress="blocking",
        threads={
            "source": "one, which sends the streams of all inputs",
            "instance": "one each; of each stage as many as `instances`",
            "output": "one each",
        },
        capacity="a channel holds a few rows of `blob` tuples; a full one pushes back",
        look=look,
        shown=shown,
    )


VARIANTS = (
    _strategy(
        QUERY_CLUSTER,
        "Query-cluster",
        Look("orange", "^", "dashed"),
        (
            Shown("processors=30", "Query-cluster on 30", Look("#b37c00", "<"), {}),
            Shown("query=relay", "Function call", Look("orange", "^"), {}),
        ),
    ),
    # The kinds of a hop, in a query that has little else.
    _strategy(
        OPERATOR_CLUSTER,
        "Operator-cluster",
        Look("purple", "v", "dense"),
        (
            Shown("query=relay,blob=1", "Ring of tuples", Look("#7a3f63", ">"), {}),
            Shown("query=relay", "Ring of blobs", Look("purple", "v"), {}),
            Shown(
                "query=relay,carrier=processes,processors=3,nodes=3",
                "Socket of blobs",
                Look("grey", "s"),
                {},
            ),
        ),
    ),
    _strategy(SUBQUERY_CLUSTER, "Subquery-cluster", Look("blue", "o", "solid")),
)
