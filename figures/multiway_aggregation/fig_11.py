"""Figure 11 of the paper: latency over the offered input rate, K-OI with 20 inputs.

The query: number of comments a window, by song (40,000 keys), windows of 30 by 3 time units. Axes:
offered tuples/s of all inputs together; mean latency in ms, logarithmic; a vertical line is a
maximum throughput. The extended figure shows every measured variant, and median and 99th
percentile.

Claims drawn here: WiML has a higher throughput and a lower latency than MQ and MQLF.

What differs here: the paper had 24 logical cores for 21 threads and the injectors; points with more
threads than cores are hollow, and the footer names machine and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_rate import ByRate

FIGURE = ByRate(id="fig_11", number=11, query="K-OI", variants=("mq", "mqlf", "wiml"))
select = FIGURE.select
draw = FIGURE.draw
