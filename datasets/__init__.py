"""Data sets: what the experiments read, where it comes from and how it is laid out on disk.

A data set is a folder with `dataset.json` and the Parquet files of its tables. One folder here is
one generated data set: `tables.py` ends with `DATASET`, which declares its named tables and the
role it plays for figures (`declare`), and `generate.py` ends with `GENERATOR`, which makes the rows
with Spark (`expressions`). `catalog` finds them; a new data set is a new folder, and nothing else
changes. `generate` writes one, `imported` turns recorded files into the form of a role's main
table (`recorded` says what else a data set asks of them), and `read` brings either into memory, as
streams of int64 columns or as typed columns. Only generating needs Java: reading never starts
Spark.

A folder of the same name elsewhere on Python's path joins in, and may hold data sets of its own.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
