"""A proof that moving and renaming code changes nothing: two checkouts compared in five ways.

BASE is a checkout before the change, a folder or a git revision; NEW is the checkout of this file.

``python -m tests.same syntax BASE --renames FILE``
    Every Python file: syntax trees are equal, apart from docstrings, comments, import statements
    and the names in the table. Differences are listed function by function. Seconds.
``python -m tests.same outputs BASE --rows FOLDER``
    Verdicts, tables and pictures drawn from the same raw rows are equal byte for byte. Minutes.
``python -m tests.same replay BASE``
    ``millrace replay`` of every family writes the same bytes and refuses with the same words.
``python -m tests.same digests BASE``
    Each variant of the families with a bench produces the same results at five or six settings.
    Indexes and the structures of the core are run only as parts of these. For joins without
    drifting keys, whose runs differ in length, the oracle's verdicts are compared instead of
    digests.
``python -m tests.same throughput BASE``
    Six benches, BASE and NEW in turns: the ratio of throughputs with a confidence interval. A ratio
    below 0.97 is a difference, and so is one whose interval reaches below it: that cannot tell.

Exit status: 0 nothing differs, 1 something does, 2 the comparison cannot be made, or is of nothing.
"""
