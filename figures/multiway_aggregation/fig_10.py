"""Figure 10 of the paper: duration of the threads' operations, K-OI with 20 inputs.

The query: number of comments a window, by song (40,000 keys), windows of 30 by 3 time units. Axes:
the variants; processor time in ns per input tuple, logarithmic, of an input thread's operation (in)
and of the output thread's (out); below it, input tuples/s from zero, measured and expected. The
extended figure is the wide form, with every measured variant.

Claims drawn here: the input threads' operation grows more in WiML than in TuMLSC, since it updates
too.

What differs here: the lower panel is ours, the paper gives the expected rates in words. Its machine
had a core for every thread; with fewer cores than threads the expected rate is that of all threads
sharing them. Dots, as there are more threads than cores, may be hollow; the footer names machine
and data.
"""

from __future__ import annotations

from figures.multiway_aggregation.durations import Durations

FIGURE = Durations(id="fig_10", number=10, query="K-OI", variants=("mq", "mqlf", "wiml"))
select = FIGURE.select
draw = FIGURE.draw
