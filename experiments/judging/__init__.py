"""What judges: points from raw rows, and each published statement held against them.

``points`` selects the rows of a figure and says what equal runs differ by. ``published`` reads the
statements of a paper as the types of ``claim_types``, with ``fields``. ``comparators``, ``trends``,
``gains`` and ``formulas`` look points up (``lookup``) and make pairs of them (``pairs``); ``pool``
says what the pairs of a statement say together, ``badges`` what stands beside that, ``reasons``
puts it into words. ``findings`` answers a reader's questions, and ``claims`` makes the verdicts.
Nothing here measures.
"""
