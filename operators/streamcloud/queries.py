"""The queries of the paper's evaluation, each a YAML file in the folder ``queries``.

For most of them the paper describes the purpose and not the definition; the definitions chosen here
are marked ``# ASSUME:`` in the files.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from operators.contract import UsageError
from operators.streamcloud.algebra import Query
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.yaml_form import read_query

FOLDER = Path(__file__).with_name("queries")
CALLS = "calls"


class PublishedQuery(NamedTuple):
    """A query of the evaluation.

    Attributes
    ----------
    id : str
    file_name : str
        The id in file names.
    role : str or None
        The data: "calls"; None if the driver makes the tuples.
    figures : tuple of str
        The paper's figures that show it.
    description : str
        The result of the query.
    in_tuples : bool
        Whether windows of time are given in tuples, of which each stream has one a tick.
    """

    id: str
    file_name: str
    role: str | None
    figures: tuple[str, ...]
    description: str
    in_tuples: bool = False

    @property
    def path(self) -> Path:
        """The YAML file."""
        return FOLDER / f"{self.file_name}.yaml"


def _published(
    query_id: str,
    role: str | None,
    figures: tuple[str, ...],
    description: str,
    in_tuples: bool = False,
) -> PublishedQuery:
    return PublishedQuery(query_id, query_id, role, figures, description, in_tuples)


QUERIES = {
    query.id: query
    for query in (
        _published("calls-by-duration", CALLS, ("1",), "calls of suspicious numbers, by minutes"),
        _published("map", CALLS, ("7a",), "the length of each call in minutes, and its end"),
        _published("join", CALLS, ("7b", "10"), "how far apart two calls of one user are"),
        _published(
            "join-by-nested-loop",
            CALLS,
            ("7b", "10"),
            "the same, by comparing all calls of an instance",
        ),
        _published("join-as-product", CALLS, ("7b",), "the same, by comparing all calls in a grid"),
        _published("aggregate", CALLS, ("7c",), "calls and their mean duration by district"),
        _published("product", CALLS, ("7d",), "calls of two streams that meet in time and place"),
        _published(
            "fixed-windows", None, ("7e",), "equal numbers in windows of 20,000 tuples", True
        ),
        _published("eight-operators", None, ("7f", "8", "9"), "eight operators, three stateful"),
        _published("relay", None, (), "three maps in a row, for the cost of a hop"),
        _published("few-keys", None, (), "counts by 243 keys, ten windows a tuple"),
    )
}


def published(query_id: str) -> PublishedQuery:
    """Return a published query.

    Raises
    ------
    UsageError
        When there is none of this id; the message lists the ids.
    """
    if query_id not in QUERIES:
        raise UsageError(
            f'unknown query "{query_id}" ({listed(QUERIES)}){did_you_mean(query_id, QUERIES)}'
        )
    return QUERIES[query_id]


@cache
def query_of(query_id: str) -> Query:
    """Return the query of an id; raises like ``published``.

    Examples
    --------
    >>> [node.kind for node in query_of("calls-by-duration").operators]
    ['join', 'map', 'aggregate']
    """
    return read_query(published(query_id).path)
