"""The queries of the paper on StreamCloud for data frames of Polars; see ``works.call_queries``.

Each function takes the module ``polars``, which only the peer's process imports, and lazy frames.
Joins meet by buckets of time besides, and windows are made of panes, as in ``sql_calls``.
"""

from __future__ import annotations

from typing import Any

from experiments.peers.queries.sql_calls import MINUTE_S

Frame = Any


def _near(pl: Any, frame: Frame, width: int) -> Frame:
    """Return a row for a tuple's bucket and for each of its neighbours."""
    own = pl.col("ts") // width
    return frame.with_columns(pl.concat_list(own - 1, own, own + 1).alias("bucket")).explode(
        "bucket"
    )


def _met(pl: Any, calls: Frame, other: Frame, on: str, window: int) -> Frame:
    """Return the pairs of calls and other tuples that are at most a window apart."""
    calls = calls.with_columns((pl.col("ts") // (window + 1)).alias("bucket"))
    met = calls.join(
        _near(pl, other, window + 1), left_on=["caller", "bucket"], right_on=[on, "bucket"],
        suffix="_2",
    )  # fmt: skip
    return met.filter((pl.col("ts") - pl.col("ts_2")).abs() <= window)


def _spread(pl: Any, panes: Frame, count: int, advance: int) -> Frame:
    """Return a row for each window that a pane is part of, with its start as ``ts``."""
    earlier = pl.LazyFrame({"before": range(count)}, schema={"before": pl.Int64})
    number = pl.col("pane") - pl.col("before")
    return (
        panes.join(earlier, how="cross")
        .filter(number >= 0)
        .with_columns((number * advance).alias("ts"))
    )


def lengths(pl: Any, tables: dict[str, Frame]) -> Frame:
    """Return the minutes of each call, and its end."""
    return tables["calls"].select(
        "ts", "caller", "called", (pl.col("start") + pl.col("duration")).alias("ended"),
        (pl.col("duration") // MINUTE_S).alias("minutes"), "district", "x", "y",
    )  # fmt: skip


def busy(pl: Any, tables: dict[str, Frame], advance: int, panes: int) -> Frame:
    """Return calls and their mean duration, by window and district."""
    pane = (pl.col("ts") // advance).alias("pane")
    counted = tables["calls"].group_by(pane, "district")
    counted = counted.agg(pl.len().cast(pl.Int64).alias("calls"), pl.col("duration").sum())
    windows = _spread(pl, counted, panes, advance).group_by("ts", "district")
    return windows.agg(
        pl.col("calls").sum(),
        (pl.col("duration").sum() / pl.col("calls").sum()).alias("mean"),
    )


def moves(pl: Any, tables: dict[str, Frame], window: int) -> Frame:
    """Return each two calls of one caller within a window, and how far apart they are."""
    calls = tables["calls"].select("ts", "caller", "start", "x", "y")
    met = _met(pl, calls, calls, "caller", window)
    across, up = (pl.col(name) - pl.col(f"{name}_2") for name in "xy")
    return met.filter(pl.col("start") < pl.col("start_2")).select(
        pl.max_horizontal("ts", "ts_2").alias("met_at"),
        "caller",
        (pl.col("start_2") - pl.col("start")).alias("seconds"),
        (across * across + up * up).alias("squared"),
    )


def suspicious(pl: Any, tables: dict[str, Frame], window: int, advance: int, panes: int) -> Frame:
    """Return calls of reported numbers, by window and minutes."""
    calls = tables["calls"].select("ts", "caller", "duration")
    met = _met(pl, calls, tables["suspects"], "number", window)
    pane = (pl.max_horizontal("ts", "ts_2") // advance).alias("pane")
    counted = met.group_by(pane, (pl.col("duration") // MINUTE_S).alias("minutes"))
    counted = counted.agg(pl.len().cast(pl.Int64).alias("calls"))
    windows = _spread(pl, counted, panes, advance).group_by("ts", "minutes")
    return windows.agg(pl.col("calls").sum())


QUERIES = {
    "map": lengths,
    "aggregate": busy,
    "join": moves,
    "calls-by-duration": suspicious,
}
