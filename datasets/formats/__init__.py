"""The formats of recorded data that `datasets.imported` reads, one file per format.

A reader turns one file into blocks of `rows.Rows`: texts by role, with the line of each row. The
texts are interpreted in two modules only, `numbers.py` (exact decimals) and `times.py` (ticks); the
reasons for rejecting a row are in `rejected.py`, and the handling of duplicates is in
`datasets.imported`.

On one machine Spark is not used: a recorded set is read once, the order in the file matters, and a
million rows take seconds with pyarrow and numpy. With many files and a cluster, `on_cluster` reads
them on executors.
"""
