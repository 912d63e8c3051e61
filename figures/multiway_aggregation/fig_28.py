"""Figure 28 of the paper: TuMLMC on k-OS over the number of update threads.

The query: first consumption reading a window, by meter (243 keys), windows of 30 by 3 time units.
Axes: update threads; input tuples/s from zero; mean latency in ms, logarithmic; one series for 2
inputs and one for 20. The extended figure has median and 99th percentile.

Claims drawn here: the throughput rises with the update threads and does not fall beyond the best
number.

What differs here: the text lost both numbers of inputs. The paper had 24 logical cores and recorded
data; points with more threads than cores are hollow, and the footer names machine and data. On
fewer cores than threads the ideal is level: update threads share what one had.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_update_threads import ByUpdateThreads

FIGURE = ByUpdateThreads(id="fig_28", number=28, query="k-OS")
select = FIGURE.select
draw = FIGURE.draw
