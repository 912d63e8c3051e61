"""The judge: points from raw rows, and each published statement compared with them.

``points`` selects the rows of a figure, and ``floors`` computes the noise floors. ``published``
reads the statements of a paper as the types of ``claim_types``, with ``fields``. ``comparators``,
``trends``, ``gains`` and ``formulas`` look points up (``lookup``) and make pairs of them
(``pairs``); ``pool`` gives the joint answer of a statement's pairs, ``badges`` adds size, regime
and evidence, ``reasons`` puts it into words. ``findings`` answers a reader's questions, and
``claims`` makes the verdicts. Nothing here measures.
"""
