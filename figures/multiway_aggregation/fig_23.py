"""Figure 23 of the paper: f-OS over the number of inputs, throughput above, latency below.

The query: first comment with a mail address a window, by song (40,000 keys), windows of 20 by 2
time units. Axes: inputs; input tuples/s from zero; mean latency in ms, logarithmic. The extended
figure shows every measured variant, and median and 99th percentile.

Claims drawn here: those of figure 13, for a function that reads the text.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_23", number=23, query="f-OS", variants=("mq", "mqlf", "tumlsc"))
select = FIGURE.select
draw = FIGURE.draw
