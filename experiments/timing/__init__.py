"""What times: it is handed a bench and says what it saw, in the words of ``experiments.records``.

``bench`` is the protocol; ``threads`` makes a bench of compiled loops that ``operators.running``
starts and watches; ``stability`` judges a run, ``machine`` watches the machine beside it,
``isolation`` keeps others away. ``rate_search`` and ``runner`` put runs together. Nothing here
knows a family, a paper or a verdict.
"""
