"""Data sets of the experiments: generators, imports, and the format on disk.

A data set is a folder with `dataset.json` and the Parquet files of its tables. One folder here is
one generated data set: `tables.py` ends with `DATASET`, which declares the named tables and the
role in figures (`declare`), and `generate.py` ends with `GENERATOR`, which makes the rows with
Spark (`expressions`). `catalog` finds them; adding a data set means adding a folder, and changes
nothing else. `generate` writes a data set, `imported` converts recorded files to the form of a
role's main table (`recorded` declares further requirements), and `read` loads either kind into
memory, as streams of int64 columns or as typed columns. Only generating needs Java: reading never
starts Spark.

Folders of the same name elsewhere on Python's path extend this package and may hold further data
sets.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
