"""PyArrow: tables in memory and the Acero engine, which comes with Millrace's own packages.

Windows are aggregated by panes first, and bands joined by buckets, as in ``duckdb``. A cross join
is not among Acero's: each pane is repeated by index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.peers.catalog import Peer, Query


def count_windows(
    tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int
) -> Query:
    """Prepare the counting of tuples by window and key; see ``works.windowed_counts``."""
    pa.set_cpu_count(threads)
    advance, many = settings["advance"], settings["panes"]
    tuples = tables["tuples"]

    def run():
        # Integer division: timestamps are not negative.
        pane = pc.divide(tuples["timestamp"], advance)
        panes = pa.table({"pane": pane, "key": tuples["key"]})
        panes = panes.group_by(["pane", "key"]).aggregate([([], "count_all")])
        repeated = panes.take(np.tile(np.arange(panes.num_rows), many))
        before = np.repeat(np.arange(many), panes.num_rows)
        window = pc.subtract(repeated["pane"], pa.array(before))
        spread = pa.table(
            {"window": window, "key": repeated["key"], "tuples": repeated["count_all"]}
        ).filter(pc.greater_equal(window, 0))
        summed = spread.group_by(["window", "key"]).aggregate([("tuples", "sum")])
        output = pa.table(
            {
                "window_start": pc.multiply(summed["window"], advance),
                "key": summed["key"],
                "value": summed["tuples_sum"],
            }
        )
        return lambda: output

    return run


def band_join(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare the join of two streams by a band; see ``works.band_join``."""
    pa.set_cpu_count(threads)
    width, window = settings["bucket"], settings["window"]
    given_r, given_s = tables["r"], tables["s"]

    def run():
        r = pa.table(
            {
                "r_position": given_r["position"],
                "rx": given_r["x"],
                "bucket": pc.divide(given_r["x"], width),
            }
        )
        bucket = pc.divide(given_s["x"], width)
        thrice = pa.concat_tables(
            pa.table({"s_position": given_s["position"], "sx": given_s["x"],
                      "bucket": pc.add(bucket, aside)})
            for aside in (-1, 0, 1)
        )  # fmt: skip
        met = r.join(thrice, "bucket", join_type="inner")
        ahead = pc.subtract(met["s_position"], met["r_position"])
        near = pc.less_equal(pc.abs(pc.subtract(met["rx"], met["sx"])), settings["half_width"])
        in_window = pc.and_(pc.greater_equal(ahead, -window), pc.less(ahead, window))
        output = met.filter(pc.and_(near, in_window)).select(["r_position", "s_position"])
        return lambda: output

    return run


def theta_join(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare the join of two streams by two bands; see ``works.theta_join``."""
    pa.set_cpu_count(threads)
    width, half = settings["bucket"], settings["half_width"]
    given_r, given_s = tables["r"], tables["s"].rename_columns(["s_rank", "s_time", "a", "b"])
    real = pa.scalar(half, pa.float32())

    def run():
        r = given_r.rename_columns(["r_rank", "time", "x", "y"])
        r = r.append_column("bucket", pc.divide(r["x"], width))
        bucket = pc.divide(given_s["a"], width)
        thrice = pa.concat_tables(
            given_s.append_column("bucket", pc.add(bucket, aside)) for aside in (-1, 0, 1)
        )
        met = r.join(thrice, "bucket", join_type="inner")
        kept = pc.less_equal(pc.abs(pc.subtract(met["x"], met["a"])), half)
        for each in (
            pc.greater_equal(met["y"], pc.subtract(met["b"], real)),
            pc.less_equal(met["y"], pc.add(met["b"], real)),
            pc.less_equal(pc.abs(pc.subtract(met["time"], met["s_time"])), settings["span"]),
        ):
            kept = pc.and_(kept, each)
        output = met.filter(kept).select(["r_rank", "s_rank"])
        return lambda: output

    return run


PEER = Peer(
    id="arrow",
    title="PyArrow",
    package="pyarrow",
    work={
        "windowed_counts": count_windows,
        "band_join": band_join,
        "theta_join": theta_join,
    },
    form="table in memory",
)
