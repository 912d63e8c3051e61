"""Figure 14 of the paper: K-OS over the number of inputs, throughput above, latency below.

The query: first comment a window, by song (40,000 keys), windows of 30 by 3 time units. Axes:
inputs; input tuples/s from zero; mean latency in ms, logarithmic. The extended figure shows every
measured variant, and median and 99th percentile. A series with a tenth of the query time unit shows
what more output a tuple costs; it does other work and is tied with none.

Claims drawn here: those of figure 13, and, against it, that more keys give more output and change
throughput and latency.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_14", number=14, query="K-OS", variants=("mq", "mqlf", "tumlsc"))
select = FIGURE.select
draw = FIGURE.draw
