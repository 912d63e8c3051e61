"""A proof that moving and renaming code changes nothing: two checkouts compared in five ways.

BASE is a checkout before the change, a folder or a git revision; NEW is the one this file lies in.

``python -m tests.same syntax BASE --renames FILE``
    Every Python file: syntax trees are equal, apart from docstrings, comments, import statements
    and the names in the table. What differs is listed function by function. Seconds.
``python -m tests.same outputs BASE --rows FOLDER``
    Verdicts, tables and pictures drawn from the same raw rows are equal byte for byte. Minutes.
``python -m tests.same replay BASE``
    ``millrace replay`` of every family writes the same bytes and refuses with the same words.
``python -m tests.same digests BASE``
    Each variant of the families that are benched gives out the same results at five settings or
    six. Indexes and structures of the core are run by these only. Of joins without drifting keys,
    whose runs differ in length, the verdicts of the oracle are compared and no digests.
``python -m tests.same throughput BASE``
    Six benches, BASE and NEW in turns: the ratio of throughputs with its interval. A ratio below
    0.97 is a difference, and so is one whose interval reaches below it: that cannot tell.

Exit status: 0 nothing differs, 1 something does, 2 the comparison cannot be made, or is of nothing.
"""
