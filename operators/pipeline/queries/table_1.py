"""The five queries of the paper's Table 1 and the parametric one, and the data of each."""

from __future__ import annotations

from typing import NamedTuple

SALES, CLICKS = "sales", "clicks"


class Query(NamedTuple):
    """A row of Table 1, or the parametric query.

    Attributes
    ----------
    id : str
    file_name : str
        The id in files.
    role : str or None
        The role of the data: "sales" or "clicks"; None where the driver makes the tuples.
    stages : str
        SL stateless, PS partitioned stateful, SF stateful.
    description : str
        The result of the query, in words.
    """

    id: str
    file_name: str
    role: str | None
    stages: str
    description: str


QUERIES = {
    query.id: query
    for query in (
        Query("q1", "q1", SALES, "SL PS PS SF", "the 100 pairs of items sold together most often,"
              " every hour"),
        Query("q2", "q2", CLICKS, "SL PS SL PS SF", "the 30 pairs of items viewed together most"
              " often in a session"),
        Query("q3", "q3", CLICKS, "SL PS PS", "for each item the 30 viewed most often before it was"
              " bought"),
        Query("q4", "q4", CLICKS, "SL PS SL SF", "pages of the sessions that left a cart behind, on"
              " average"),
        Query("q15", "q15", SALES, "SL SL PS", "categories with flat or declining sales"),
    )
}  # fmt: skip
PARAMETRIC = Query("parametric", "parametric", None, "SL PS", "two operators of chosen cost, sizes"
                   " and selectivity")  # fmt: skip
