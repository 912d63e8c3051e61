"""The five streaming queries of TPCx-BB as pipelines: Table 1 of the paper, a file each.

Source: "Scaling Ordered Stream Processing on Shared-Memory Multicores", section 7, Table 1; what
the stages compute follows the benchmark's published queries.

A missing value is -1 in a record. Times are seconds.
"""
