"""The five streaming queries of TPCx-BB as pipelines: Table 1 of the paper, one file each.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 7, Table 1; the
stages follow the benchmark's published queries.

A missing value in a record is -1. Times are in seconds.
"""
