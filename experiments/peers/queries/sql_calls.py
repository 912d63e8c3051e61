"""The queries of the paper on StreamCloud in SQL; see ``works.call_queries``.

Joins of calls meet by buckets of time as wide as a window besides: without them all calls of a
caller would meet, whatever lies between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.peers.queries.sql import Dialect

MINUTE_S = 60


def lengths(sql: Dialect) -> str:
    """Return the minutes of each call, and its end."""
    return f"""
SELECT ts, caller, called, start + duration AS ended,
       {sql.whole("duration", MINUTE_S)} AS minutes, district, x, y
FROM calls
"""


def busy(sql: Dialect, advance: int, panes: int) -> str:
    """Return calls and their mean duration, by window and district."""
    return f"""
WITH panes AS (
    SELECT {sql.whole("ts", advance)} AS pane, district, count(*) AS counted,
           sum(duration) AS seconds
    FROM calls GROUP BY 1, 2
), spread AS (
    SELECT {sql.windows("pane", panes)} AS number, district, counted, seconds FROM panes
)
SELECT number * {advance} AS ts, district, CAST(sum(counted) AS BIGINT) AS calls,
       CAST(sum(seconds) AS DOUBLE) / sum(counted) AS mean
FROM spread WHERE number >= 0 GROUP BY 1, 2
"""


def moves(sql: Dialect, window: int) -> str:
    """Return each two calls of one caller within a window, and how far apart they are."""
    width = window + 1
    return f"""
WITH near AS (
    SELECT ts, caller, start, x, y, {sql.bucket("ts", width)} AS bucket FROM calls
)
SELECT greatest(calls.ts, near.ts) AS met_at, calls.caller AS caller,
       near.start - calls.start AS seconds,
       (calls.x - near.x) * (calls.x - near.x) + (calls.y - near.y) * (calls.y - near.y) AS squared
FROM calls JOIN near
  ON calls.caller = near.caller AND {sql.whole("calls.ts", width)} = near.bucket
WHERE abs(calls.ts - near.ts) <= {window} AND calls.start < near.start
"""


def suspicious(sql: Dialect, window: int, advance: int, panes: int) -> str:
    """Return calls of reported numbers, by window and minutes."""
    width = window + 1
    return f"""
WITH reported AS (
    SELECT ts, number AS suspect, {sql.bucket("ts", width)} AS bucket FROM suspects
), known AS (
    SELECT greatest(calls.ts, reported.ts) AS met_at, {sql.whole("duration", MINUTE_S)} AS minutes
    FROM calls JOIN reported
      ON calls.caller = reported.suspect AND {sql.whole("calls.ts", width)} = reported.bucket
    WHERE abs(calls.ts - reported.ts) <= {window}
), panes AS (
    SELECT {sql.whole("met_at", advance)} AS pane, minutes, count(*) AS counted
    FROM known GROUP BY 1, 2
), spread AS (
    SELECT {sql.windows("pane", panes)} AS number, minutes, counted FROM panes
)
SELECT number * {advance} AS ts, minutes, CAST(sum(counted) AS BIGINT) AS calls
FROM spread WHERE number >= 0 GROUP BY 1, 2
"""


STATEMENTS = {
    "map": lengths,
    "aggregate": busy,
    "join": moves,
    "calls-by-duration": suspicious,
}
