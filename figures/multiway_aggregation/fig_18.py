"""Figure 18 of the paper: w-OS over the number of inputs, throughput above, latency below.

The query: first consumption reading a window, by meter (243 keys), windows of 20 by 2 time units,
so that a tuple contributes to 10. Axes: inputs; input tuples/s from zero; mean latency in ms,
logarithmic. The extended figure shows every measured variant, and median and 99th percentile.

Claims drawn here: those of figure 13, for windows of 20 by 2.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_18", number=18, query="w-OS", variants=("mq", "mqlf", "tumlsc"))
select = FIGURE.select
draw = FIGURE.draw
