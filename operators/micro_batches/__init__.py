"""Queries on Spark, in micro-batches or in one job: our carriers, and Spark's operators as rivals.

======================  ============================================================================
``bounded``             a plan of StreamCloud as one batch job, over recorded input
``stream``              the same plan as a stream, with state in files that we write
``state-store``         the same, with state in Spark's store
``spark-window``        Spark's ``window()`` over a stream
``spark-window-batch``  the same over recorded input
``pandas-with-state``   a pandas function with state for each key, as a user writes it
``stream-stream-join``  Spark's join of two streams
``row-shuffle``         maps in a row, with a shuffle of rows between each two
======================  ============================================================================

All read the same tuples and must put out the same rows (`family`). Nothing here imports pyspark
before it runs.
"""
