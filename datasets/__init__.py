"""Data sets: what the experiments read, where it comes from and how it is laid out on disk.

A data set is a folder with `dataset.json` and Parquet files `part-*.parquet`, sorted by time when
read in the order of their names. One file here generates one data set with Spark
(`soundcloud`, `smart_meter`), `imported` turns recorded files into the same form, and `read`
brings either into memory as streams of int64 columns. Only generating needs Java: reading never
starts Spark.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
