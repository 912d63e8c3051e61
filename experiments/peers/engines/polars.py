"""Polars: data frames in memory, queried lazily on several threads.

Windows are aggregated by panes first, and bands joined by buckets, as in ``queries.sql``.

``group_by_dynamic``, the call that Polars has for sliding windows, is not taken: on 400,000 tuples
panes were as fast (40,000 keys) or fifty times as fast (243 keys), and a peer is to be what
a careful user gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.peers.catalog import Peer, Query
from experiments.peers.queries import frames_calls, frames_shop


def count_windows(
    tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int
) -> Query:
    """Prepare the counting of tuples by window and key; see ``works.windowed_counts``."""
    import polars as pl

    advance = settings["advance"]
    tuples = pl.from_arrow(tables["tuples"])
    earlier = pl.LazyFrame({"before": range(settings["panes"])}, schema={"before": pl.Int64})
    pane = (pl.col("timestamp") // advance).alias("pane")
    panes = tuples.lazy().group_by(pane, "key").agg(pl.len().cast(pl.Int64).alias("value"))
    window = ((pl.col("pane") - pl.col("before")) * advance).alias("window_start")
    query = (
        panes.join(earlier, how="cross")
        .filter(pl.col("pane") >= pl.col("before"))
        .group_by(window, "key")
        .agg(pl.col("value").sum())
    )
    return lambda: query.collect().to_arrow


def band_join(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare the join of two streams by a band; see ``works.band_join``."""
    import polars as pl

    width, window = settings["bucket"], settings["window"]
    r, s = (pl.from_arrow(tables[name]).lazy() for name in "rs")
    bucket = pl.col("x") // width
    r = r.select(pl.col("position").alias("r_position"), pl.col("x").alias("rx"),
                 bucket.alias("bucket"))  # fmt: skip
    s = s.select(
        pl.col("position").alias("s_position"), pl.col("x").alias("sx"),
        pl.concat_list(bucket - 1, bucket, bucket + 1).alias("bucket"),
    ).explode("bucket")  # fmt: skip
    ahead = pl.col("s_position") - pl.col("r_position")
    query = (
        r.join(s, on="bucket")
        .filter(
            ((pl.col("rx") - pl.col("sx")).abs() <= settings["half_width"])
            & ahead.is_between(-window, window - 1)
        )
        .select("r_position", "s_position")
    )
    return lambda: query.collect().to_arrow


def theta_join(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare the join of two streams by two bands; see ``works.theta_join``."""
    import polars as pl

    width, half = settings["bucket"], settings["half_width"]
    r, s = (pl.from_arrow(tables[name]).lazy() for name in "rs")
    bucket = pl.col("a") // width
    r = r.rename({"rank": "r_rank"}).with_columns((pl.col("x") // width).alias("bucket"))
    s = s.rename({"rank": "s_rank", "time": "s_time"}).with_columns(
        pl.concat_list(bucket - 1, bucket, bucket + 1).alias("bucket")
    )
    real = pl.lit(half, dtype=pl.Float32)
    query = (
        r.join(s.explode("bucket"), on="bucket")
        .filter(
            ((pl.col("x") - pl.col("a")).abs() <= half)
            & (pl.col("y") >= pl.col("b") - real)
            & (pl.col("y") <= pl.col("b") + real)
            & ((pl.col("time") - pl.col("s_time")).abs() <= settings["span"])
        )
        .select("r_rank", "s_rank")
    )
    return lambda: query.collect().to_arrow


def answer(
    queries: Mapping[str, Callable[..., Any]],
    tables: Mapping[str, pa.Table],
    settings: Mapping[str, Any],
    threads: int,
) -> Query:
    """Prepare the query that the settings name."""
    import polars as pl

    asked = dict(settings)
    frames = {name: pl.from_arrow(table).lazy() for name, table in tables.items()}
    query = queries[asked.pop("query")](pl, frames, **asked)
    return lambda: query.collect().to_arrow


PEER = Peer(
    id="polars",
    title="Polars",
    package="polars",
    work={
        "windowed_counts": count_windows,
        "band_join": band_join,
        "theta_join": theta_join,
        "shop_queries": partial(answer, frames_shop.QUERIES),
        "call_queries": partial(answer, frames_calls.QUERIES),
    },
    form="data frame",
    environment={"POLARS_MAX_THREADS": "{threads}"},
)
