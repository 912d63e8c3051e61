"""Timing: a bench is run and the observations become columns of ``experiments.records``.

``bench`` is the protocol; ``threads`` makes a bench of compiled loops that ``operators.running``
starts and watches; ``stability`` judges a run, ``machine`` observes the machine meanwhile,
``isolation`` keeps other measurements away. ``rate_search`` and ``runner`` put runs together.
Nothing here knows a family, a paper or a verdict.
"""
