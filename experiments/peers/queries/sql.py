"""The works in SQL, as careful users write them, for every database that speaks it.

Windows are aggregated by *panes* first: every tuple is counted once in its window advance, and the
panes are then added up to windows (Li et al., "No Pane, No Gain", 2005, SIGMOD Record). A band join
is an equality join of *buckets* as wide as the band, each tuple of S in the bucket of its key and
in both neighbours, which a hash join can do; the band itself is a condition on the pairs that meet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.peers.queries import sql_calls, sql_shop


@dataclass(frozen=True)
class Dialect:
    """The words in which databases differ.

    Attributes
    ----------
    quotient : str
        Whole quotient of ``{0}`` and ``{1}``, neither of them negative.
    each : str
        In a list of columns: a row for each value of the list ``{0}``.
    """

    quotient: str
    each: str

    def whole(self, dividend: str, divisor: object) -> str:
        """Return a whole quotient."""
        return self.quotient.format(dividend, divisor)

    def bucket(self, column: str, width: int) -> str:
        """Return the bucket of a column, and in further rows both of its neighbours."""
        own = self.whole(column, width)
        return self.each.format(f"{own} - 1, {own}, {own} + 1")

    def windows(self, pane: str, panes: int) -> str:
        """Return the windows that a pane is part of, a row each; those below 0 do not exist."""
        return self.each.format(", ".join(f"{pane} - {before}" for before in range(panes)))


def windowed_counts(sql: Dialect, advance: int, panes: int) -> str:
    """Return the counting of tuples by window and key; see ``works.windowed_counts``."""
    return f"""
WITH panes AS (
    SELECT {sql.whole("timestamp", advance)} AS pane, key, count(*) AS tuples
    FROM tuples GROUP BY 1, 2
), spread AS (
    SELECT {sql.windows("pane", panes)} AS number, key, tuples FROM panes
)
SELECT number * {advance} AS window_start, key, CAST(sum(tuples) AS BIGINT) AS value
FROM spread WHERE number >= 0 GROUP BY 1, 2
"""


def band_join(sql: Dialect, window: int, half_width: int, bucket: int) -> str:
    """Return the join of two streams by a band; see ``works.band_join``."""
    return f"""
WITH near AS (
    SELECT position, x, {sql.bucket("x", bucket)} AS bucket FROM s
)
SELECT r.position AS r_position, near.position AS s_position
FROM r JOIN near ON {sql.whole("r.x", bucket)} = near.bucket
WHERE abs(r.x - near.x) <= {half_width}
  AND near.position - r.position BETWEEN -{window} AND {window} - 1
"""


def theta_join(sql: Dialect, span: int, half_width: int, bucket: int) -> str:
    """Return the join of two streams by two bands; see ``works.theta_join``."""
    return f"""
WITH near AS (
    SELECT rank, time, a, b, {sql.bucket("a", bucket)} AS bucket FROM s
)
SELECT r.rank AS r_rank, near.rank AS s_rank
FROM r JOIN near ON {sql.whole("r.x", bucket)} = near.bucket
WHERE abs(r.x - near.a) <= {half_width}
  AND r.y >= near.b - CAST({half_width} AS FLOAT)
  AND r.y <= near.b + CAST({half_width} AS FLOAT)
  AND abs(r.time - near.time) <= {span}
"""


def _by_query(statements: Mapping[str, Callable[..., str]]) -> Callable[..., str]:
    """Return the statement of a work whose setting ``query`` names one of several."""
    return lambda sql, query, **settings: statements[query](sql, **settings)


# By work: a function of the dialect and the work's settings.
STATEMENTS: dict[str, Callable[..., Any]] = {
    "windowed_counts": windowed_counts,
    "band_join": band_join,
    "theta_join": theta_join,
    "shop_queries": _by_query(sql_shop.STATEMENTS),
    "call_queries": _by_query(sql_calls.STATEMENTS),
}
