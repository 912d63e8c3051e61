"""The forms that figures are drawn in, a module each; a figure's declaration names its form.

A form has ``select(results, paper, figure, extended)``, which returns the table of what is drawn
(``figures.load``), and ``draw(table, figure, footer, extended)``, which returns the picture
of it and computes nothing but scales. What no form can say is a module of ``figures/<paper>`` with
the same two functions.

==============  ===================================================================================
``curves``      quantities over a swept setting, a panel each: throughput above, latencies below
``over_rate``   latency over the offered rate, with each line's maximum throughput
``dots``        quantities of lines that have one place each: a labelled dot for each
``bars``        the same as bars from zero
==============  ===================================================================================
"""
