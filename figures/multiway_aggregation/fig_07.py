"""Figure 7 of the paper: sorting alone, T-Gate against a skip list, over the number of inputs.

No query: tuples are merged into ready order and counted. Axes: inputs; input tuples/s from zero;
mean latency of a tuple in ms, logarithmic. The extended figure shows our multi-queues beside them,
T-Gate with batches and with 1, 2 and 8 levels (the text lost the paper's), and median and 99th
percentile.

Claims drawn here: the skip list degrades with the inputs while T-Gate gains, and at 20 inputs
T-Gate sorts 1.5 times as many tuples at a lower latency.

What differs here: the skip list is our lock-free one and not Java's; the paper had 24 logical
cores. Points with more threads than cores are hollow, and the footer names the machine.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_07", number=7, query="", variants=("t-gate", "skip-list"))
select = FIGURE.select
draw = FIGURE.draw
