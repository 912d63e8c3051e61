"""Figure 15 of the paper: k-OI over the number of inputs, throughput above, latency below.

The query: number of consumption readings a window, by meter (243 keys), windows of 30 by 3 time
units. Axes: inputs; input tuples/s from zero; mean latency in ms, logarithmic. The extended figure
shows every measured variant, among them TuMLSC, which the paper runs on OS queries only, and median
and 99th percentile.

Claims drawn here: MQ and MQLF fall while their latency rises; WiML's throughput rises while its
latency stays level.

What differs here: the paper had 24 logical cores and recorded data; points with more threads than
cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_inputs import ByInputs

FIGURE = ByInputs(id="fig_15", number=15, query="k-OI", variants=("mq", "mqlf", "wiml"))
select = FIGURE.select
draw = FIGURE.draw
