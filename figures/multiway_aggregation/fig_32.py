"""Figure 32 of the paper: TuMLMC on f-OS over the number of update threads.

The query: first comment with a mail address a window, by song (40,000 keys), windows of 20 by 2
time units. Axes: update threads; input tuples/s from zero; mean latency in ms, logarithmic; one
series for 2 inputs and one for 20. The extended figure has median and 99th percentile.

Claims drawn here: those of figure 28, for a function that reads the text.

What differs here: the text lost both numbers of inputs. The paper had 24 logical cores and recorded
data; points with more threads than cores are hollow, and the footer names machine and data. On
fewer cores than threads the ideal is level: update threads share what one had.
"""

from __future__ import annotations

from figures.multiway_aggregation.by_update_threads import ByUpdateThreads

FIGURE = ByUpdateThreads(id="fig_32", number=32, query="f-OS")
select = FIGURE.select
draw = FIGURE.draw
