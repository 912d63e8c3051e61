"""Figure 13 of the paper: k-OS over the number of inputs, throughput above, latency below.

The query: first consumption reading a window, by meter (243 keys), windows of 30 by 3 time units.
Axes: inputs; input tuples/s from zero; mean latency in ms, logarithmic. The extended figure shows
every measured variant, and median and 99th percentile.

Claims drawn here: MQ and MQLF fall linearly while their latency rises, TuMLSC stays level and has
the highest throughput and the lowest latency at 20 inputs.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_13", number=13, query="k-OS", variants=("mq", "mqlf", "tumlsc"))
select = FIGURE.select
draw = FIGURE.draw
