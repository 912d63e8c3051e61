"""Questions about the designs of the fifth paper, for the front page of a set."""

from figures.which_design import Question

QUESTIONS = (
    Question(
        "strategy",
        "A query of eight operators on several processors",
        ("7f",),
        caveat="instances on one machine have no network between them",
    ),
    Question(
        "strategy-spark",
        "The same in micro-batches",
        ("7fs",),
        "spark_tps",
        lines=tuple(
            f"stream:query=eight-operators,strategy={name}"
            for name in ("query-cluster", "operator-cluster", "subquery-cluster")
        ),
        caveat="a shuffle of Spark costs far more than a channel",
    ),
)
