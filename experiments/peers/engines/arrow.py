"""PyArrow: tables in memory and the Acero engine, which comes with Millrace's own packages.

Windows are aggregated by panes first, and bands joined by buckets, as in ``queries.sql``. Acero has
no cross join: each pane is repeated by index. Nor has it functions over the sorted rows of a group,
without which nobody would write the queries of sessions (``works.shop_queries``) for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.peers.catalog import Peer, Query
from experiments.peers.queries.sql_calls import MINUTE_S


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
        summed = _spread(panes, many).group_by(["window", "key"])
        summed = summed.aggregate([("count_all", "sum")])
        output = pa.table(
            {
                "window_start": pc.multiply(summed["window"], advance),
                "key": summed["key"],
                "value": summed["count_all_sum"],
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
        s = given_s.select(["position", "x"]).rename_columns(["s_position", "sx"])
        met = r.join(_near(s, "sx", width), "bucket", join_type="inner")
        ahead = pc.subtract(met["s_position"], met["r_position"])
        near = pc.less_equal(pc.abs(pc.subtract(met["rx"], met["sx"])), settings["half_width"])
        in_window = pc.and_(pc.greater_equal(ahead, -window), pc.less(ahead, window))
        output = met.filter(pc.and_(near, in_window)).select(["r_position", "s_position"])
        return lambda: output

    return run


def _spread(panes: pa.Table, many: int) -> pa.Table:
    """Return a row for each window that a pane is part of, with its number as ``window``."""
    repeated = panes.take(np.tile(np.arange(panes.num_rows), many))
    before = np.repeat(np.arange(many), panes.num_rows)
    window = pc.subtract(repeated["pane"], pa.array(before))
    return repeated.append_column("window", window).filter(pc.greater_equal(window, 0))


def _near(table: pa.Table, column: str, width: int) -> pa.Table:
    """Return a row for a tuple's bucket and for each of its neighbours."""
    own = pc.divide(table[column], width)
    return pa.concat_tables(
        table.append_column("bucket", pc.add(own, aside)) for aside in (-1, 0, 1)
    )


def theta_join(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare the join of two streams by two bands; see ``works.theta_join``."""
    pa.set_cpu_count(threads)
    width, half = settings["bucket"], settings["half_width"]
    given_r, given_s = tables["r"], tables["s"].rename_columns(["s_rank", "s_time", "a", "b"])
    real = pa.scalar(half, pa.float32())

    def run():
        r = given_r.rename_columns(["r_rank", "time", "x", "y"])
        r = r.append_column("bucket", pc.divide(r["x"], width))
        met = r.join(_near(given_s, "a", width), "bucket", join_type="inner")
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


def call_query(tables: Mapping[str, pa.Table], settings: Mapping[str, Any], threads: int) -> Query:
    """Prepare one of the queries of calls; see ``works.call_queries``."""
    pa.set_cpu_count(threads)
    asked = dict(settings)
    query = CALL_QUERIES[asked.pop("query")]

    def run():
        output = query(tables, **asked)
        return lambda: output

    return run


def _lengths(tables: Mapping[str, pa.Table]) -> pa.Table:
    calls = tables["calls"]
    return pa.table(
        {
            **{name: calls[name] for name in ("ts", "caller", "called")},
            "ended": pc.add(calls["start"], calls["duration"]),
            "minutes": pc.divide(calls["duration"], MINUTE_S),
            **{name: calls[name] for name in ("district", "x", "y")},
        }
    )


def _busy(tables: Mapping[str, pa.Table], advance: int, panes: int) -> pa.Table:
    calls = tables["calls"].select(["district", "duration"])
    counted = calls.append_column("pane", pc.divide(tables["calls"]["ts"], advance))
    counted = counted.group_by(["pane", "district"])
    spread = _spread(counted.aggregate([([], "count_all"), ("duration", "sum")]), panes)
    summed = spread.group_by(["window", "district"])
    summed = summed.aggregate([("count_all", "sum"), ("duration_sum", "sum")])
    many, seconds = summed["count_all_sum"], summed["duration_sum_sum"]
    return pa.table(
        {
            "ts": pc.multiply(summed["window"], advance),
            "district": summed["district"],
            "calls": many,
            "mean": pc.divide(seconds.cast(pa.float64()), many.cast(pa.float64())),
        }
    )


def _met(calls: pa.Table, other: pa.Table, on: str, window: int) -> pa.Table:
    """Return calls and other tuples of one number at most a window apart, with ``met_at``."""
    bucketed = calls.append_column("bucket", pc.divide(calls["ts"], window + 1))
    near = _near(other, "ts", window + 1)
    met = bucketed.join(near, ["caller", "bucket"], [on, "bucket"], "inner", right_suffix="_2")
    apart = pc.abs(pc.subtract(met["ts"], met["ts_2"]))
    met = met.append_column("met_at", pc.max_element_wise(met["ts"], met["ts_2"]))
    return met.filter(pc.less_equal(apart, window))


def _moves(tables: Mapping[str, pa.Table], window: int) -> pa.Table:
    calls = tables["calls"].select(["ts", "caller", "start", "x", "y"])
    met = _met(calls, calls, "caller", window)
    met = met.filter(pc.less(met["start"], met["start_2"]))
    across, up = (pc.subtract(met[name], met[f"{name}_2"]) for name in "xy")
    return pa.table(
        {
            "met_at": met["met_at"],
            "caller": met["caller"],
            "seconds": pc.subtract(met["start_2"], met["start"]),
            "squared": pc.add(pc.multiply(across, across), pc.multiply(up, up)),
        }
    )


def _suspicious(tables: Mapping[str, pa.Table], window: int, advance: int, panes: int) -> pa.Table:
    calls = tables["calls"].select(["ts", "caller", "duration"])
    met = _met(calls, tables["suspects"], "number", window)
    columns = {
        "pane": pc.divide(met["met_at"], advance),
        "minutes": pc.divide(met["duration"], MINUTE_S),
    }
    counted = pa.table(columns).group_by(["pane", "minutes"]).aggregate([([], "count_all")])
    summed = _spread(counted, panes).group_by(["window", "minutes"])
    summed = summed.aggregate([("count_all", "sum")])
    return pa.table(
        {
            "ts": pc.multiply(summed["window"], advance),
            "minutes": summed["minutes"],
            "calls": summed["count_all_sum"],
        }
    )


CALL_QUERIES = {
    "map": _lengths,
    "aggregate": _busy,
    "join": _moves,
    "calls-by-duration": _suspicious,
}

PEER = Peer(
    id="arrow",
    title="PyArrow",
    package="pyarrow",
    work={
        "windowed_counts": count_windows,
        "band_join": band_join,
        "theta_join": theta_join,
        "call_queries": call_query,
    },
    form="table in memory",
)
