"""Streams R and S of the CellJoin benchmark, and the sending rates of the ScaleJoin experiments."""
