"""Pipelines in blocks: a serial number for many tuples, and segments of operators.

The same meaning as the tuple-wise runtime (`operators.pipeline.runtime`), for queries whose tuples
cost less than a cache line that changes cores: there a hop from operator to operator costs two to
five tenths of a microsecond a tuple with two workers, here about a microsecond a block.

``layout`` divides a pipeline into segments; ``state`` has the words of a run; ``advancing`` takes a
block through a segment; ``scattering`` does so in parts; ``turns`` sends workers to segments; and
``run`` starts them. `operators.pipeline.block_ring` says which block is where.
"""
