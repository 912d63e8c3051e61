"""Figure 25 of the paper: f-OI over the number of inputs, throughput above, latency below.

The query: number of comments with a mail address a window, by song (40,000 keys), windows of 20 by
2 time units. Axes: inputs; input tuples/s from zero; mean latency in ms, logarithmic. The extended
figure shows every measured variant, among them TuMLSC, which the paper runs on OS queries only, and
median and 99th percentile.

Claims drawn here: those of figure 15, for a function that reads the text.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_25", number=25, query="f-OI", variants=("mq", "mqlf", "wiml"))
select = FIGURE.select
draw = FIGURE.draw
