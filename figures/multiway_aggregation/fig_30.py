"""Figure 30 of the paper: TuMLMC on w-OS over the number of update threads.

The query: first consumption reading a window, by meter (243 keys), windows of 20 by 2 time units,
so that a tuple contributes to 10. Axes: update threads; input tuples/s from zero; mean latency in
ms, logarithmic; one series for 2 inputs and one for 20. The extended figure has median and 99th
percentile.

Claims drawn here: those of figure 28.

What differs here: the text lost both numbers of inputs. The paper had 24 logical cores and recorded
data; points with more threads than cores are hollow, and the footer names machine and data. On
fewer cores than threads the ideal is level: update threads share what one had.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_update_threads import ByUpdateThreads

FIGURE = ByUpdateThreads(id="fig_30", number=30, query="w-OS")
select = FIGURE.select
draw = FIGURE.draw
