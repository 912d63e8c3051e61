"""What judges: points from raw rows, and each published statement held against them.

``points`` selects the rows of a figure, ``evidence`` says how large a difference must be,
``comparators``, ``trends`` and ``gains`` compare, ``reasons`` puts it into words, ``claims`` makes
the verdict. Nothing here measures.
"""
