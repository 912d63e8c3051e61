"""Streams R and S of the CellJoin benchmark, and the rates at which ScaleJoin was sent them."""
