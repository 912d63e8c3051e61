"""Questions about the designs of the fourth paper, for the front page of a set."""

from figures.which_design import FEW, MANY, Question

MILLION = 1 << 20
QUESTIONS = (
    Question(
        "million",
        "A band join, windows of a million tuples, one thread or two",
        ("12b",),
        setting="window",
        at=MILLION,
        caveat="windows beyond the caches favour merge trees",
        asked="Which join index at a million tuples?",
    ),
    Question(
        "one-thread",
        "A band join on one thread, windows of {at}",
        ("10b",),
        setting="window",
        at=MANY,
    ),
    Question(
        "threads",
        "A band join, windows of {at}, one thread or two",
        ("12b",),
        setting="window",
        at=MANY,
    ),
    Question(
        "short",
        "A band join over short windows ({at}): an index or a scan",
        ("8a",),
        setting="window",
        at=FEW,
        lines=("nested-loop-scalar", "b-plus-tree"),
    ),
    Question(
        "self", "A stream joined with itself, windows of {at}", ("12c",), setting="window", at=MANY
    ),
)
