"""The forms of recorded data that `datasets.imported` reads, one file a form.

A form turns one file into blocks of `rows.Rows`: texts by role, with the line each row came
from. What a text means is decided in two places only, `numbers.py` (exact decimals) and
`times.py` (ticks); why a row is set aside, in `rejected.py`; what is a duplicate and what becomes
of it, in `datasets.imported`.

Spark is not used here: a recorded set is read once, its order in the file is part of its
meaning, and a million rows take seconds with pyarrow and numpy.
"""
