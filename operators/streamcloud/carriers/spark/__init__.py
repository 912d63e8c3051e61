"""Plans on Spark: workers run the instances, and Spark moves the rows and repeats lost work.

pyspark is imported inside of functions only, so that other backends work without it.

===============  ===================================================================================
``levels``       a plan as a chain of Spark's stages
``wire``         a row as a record of Spark's
``chunks``       recorded streams as files
``steps``        the functions that workers run
``job``          the common part of all forms, and the chain of steps
``bounded``      all existing chunks, in one batch job; no state
``stream``       chunks as they come, in micro-batches; states are files (``state_files``)
``state_store``  the same, with states in Spark's state store
``export``       the rows that Spark has committed, as columns of the outputs
``running``      the entry point: one of these forms, over a folder of chunks or over arrays
===============  ===================================================================================
"""
