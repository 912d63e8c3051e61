"""Questions about the designs of the third paper, for the front page of a set."""

from figures.which_design import MANY, Question

QUESTIONS = (
    Question(
        "join",
        "Any predicate, one R and one S, {at} threads",
        ("6a",),
        "comparisons_ps",
        "threads",
        MANY,
        caveat="ScaleJoin alone takes more than one R and S",
    ),
    Question(
        "latency",
        "Any predicate, a pair soon after its tuples, windows of {at} s",
        ("7x",),
        "real_time_ms_mean",
        "window_s",
        MANY,
        caveat="handshake's latency grows with the window",
    ),
)
