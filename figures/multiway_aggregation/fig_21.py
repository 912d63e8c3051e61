"""Figure 21 of the paper: W-OI over the number of inputs, throughput above, latency below.

The query: average consumption a window, by meter (243 keys), windows of 40 by 2 time units, so that
a tuple contributes to 20. Axes: inputs; input tuples/s from zero; mean latency in ms, logarithmic.
The extended figure shows every measured variant, among them TuMLSC, which the paper runs on OS
queries only, and median and 99th percentile.

Claims drawn here: those of figure 20, and, against it, that more windows a tuple cost throughput
and latency.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_21", number=21, query="W-OI", variants=("mq", "mqlf", "wiml"))
select = FIGURE.select
draw = FIGURE.draw
