"""Queries that tests share: the form of the handbook, and a query with every feature."""

from __future__ import annotations

from functools import cache

import yaml
from hypothesis import strategies as st

from operators.streamcloud.algebra import Query
from operators.streamcloud.yaml_form import read_query

BUSY = """\
query: busy-districts
inputs:
  calls:    {time: ts, schema: {ts: int64, caller: int64, called: int64, duration: int64,
                                district: int64}}
  suspects: {time: ts, schema: {ts: int64, number: int64}}
operators:
  long:      {filter: {input: calls, where: ["duration >= 60"]}}
  minutes:   {map: {input: long.0, columns: {district: district, minutes: "duration // 60"}}}
  other:     {map: {input: long.1, columns: {district: district, minutes: 0}}}
  known:     {join: {left: calls, right: suspects, on: [[caller, number]], window: {time: 60},
                     where: "left.duration > 0",
                     columns: {district: left.district, caller: left.caller}}}
  pairs:     {product: {left: calls, right: calls, window: {time: 60},
                        where: "left.caller != right.caller",
                        columns: {a: left.caller, b: right.caller}}}
  all:       {union: {inputs: [minutes, other]}}
  busy:      {aggregate: {input: all, group_by: [district], window: {time: 60, advance: 10},
                          columns: {calls: "count()", mean: "avg(minutes)"}}}
outputs: [busy, known, pairs]
"""

# Small windows and few values, for many ties and pairs.
EVERYTHING = """\
query: everything
inputs:
  a: {time: at, schema: {k: int64, at: int64, x: double, name: text}}
  b: {schema: {ts: int64, k: int64, x: double, name: text}}
operators:
  split:    {filter: {input: a, where: ["k > 1", "x < 1"]}}
  late:     {map: {input: split.0, columns: {ts: "ts // 2 * 2", k: k, x: "x * 2", name: name}}}
  near:     {join: {left: late, right: b, on: [[k, k], [name, name]], window: {time: 2},
                    time: smaller,
                    columns: {k: left.k, x: left.x - right.x, name: right.name}}}
  self:     {product: {left: split.2, right: split.2, window: {count: 3},
                       columns: {k: left.k, x: right.x, name: left.name}}}
  inner:    {union: {inputs: [split.1, self]}}
  outer:    {union: {inputs: [near, inner, inner]}}
  means:    {aggregate: {input: outer, group_by: [name, k], window: {time: 5, advance: 2},
                         columns: {n: "count()", mean: "avg(x)", least: "min(x)",
                                   last: "max(name)"}}}
  counted:  {aggregate: {input: outer, group_by: k, window: {count: 2, advance: 1},
                         columns: {x: "first(x)", name: "first(name)"}}}
  anchored: {aggregate: {input: b, window: {time: 3, advance: 3, start: oldest},
                         columns: {k: "sum(k)", x: "sum(x)", name: "min(name)"}}}
  mixed:    {union: {inputs: [counted, anchored_k]}}
  anchored_k: {map: {input: anchored, columns: {k: k, x: x, name: name}}}
outputs: [means, outer, mixed, near, self]
"""
# By output: the number of words of the order keys.
EVERYTHING_WORDS = {"means": 3, "outer": 10, "mixed": 11, "near": 9, "self": 7}


@cache
def everything() -> Query:
    """Return the query of ``EVERYTHING``."""
    return read_query(yaml.load(EVERYTHING, yaml.BaseLoader))


def streams(names: str = "ab", most: int = 12) -> st.SearchStrategy[dict]:
    """Return streams of ``EVERYTHING``: one or two physical ones an input, with many ties."""
    row = st.tuples(
        st.integers(0, 9), st.integers(0, 3), st.sampled_from([0.0, 0.5, 1e16, -1e16]),
        st.sampled_from(["", "v", "\u00e4"]),
    )  # fmt: skip
    stream = st.lists(row, max_size=most).map(lambda rows: sorted(rows, key=lambda row: row[0]))
    return st.fixed_dictionaries({name: st.lists(stream, min_size=1, max_size=2) for name in names})
