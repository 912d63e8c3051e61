"""Questions about the designs of the first paper, for the front page of a set."""

from figures.which_design import FEW, MANY, Question

OS = ("13", "14", "18", "19", "23", "24")
OI = ("15", "16", "20", "21", "25", "26")
SHARED_CORES = (
    "the paper has a core a thread; where inputs and merging share cores, what a cheap merge saves"
    " goes to the inputs"
)
QUESTIONS = (
    Question(
        "order-few",
        "An aggregate whose order matters, {at} inputs",
        OS,
        setting="inputs",
        at=FEW,
        caveat=SHARED_CORES,
    ),
    Question(
        "order-many",
        "An aggregate whose order matters, {at} inputs",
        OS,
        setting="inputs",
        at=MANY,
        caveat=SHARED_CORES,
    ),
    Question(
        "no-order-few",
        "An aggregate whose order does not matter, {at} inputs",
        OI,
        setting="inputs",
        at=FEW,
    ),
    Question(
        "no-order-many",
        "An aggregate whose order does not matter, {at} inputs",
        OI,
        setting="inputs",
        at=MANY,
    ),
    Question(
        "locks",
        "Does lock-freedom matter? Lock-free queues or queues with locks, {at} inputs",
        (*OS, *OI),
        setting="inputs",
        at=MANY,
        lines=("mqlf", "mq"),
        caveat="a lock costs most where its holder loses the core",
    ),
    Question(
        "cost-of-order",
        "What does ordering cost? The same query with sorting (TuMLSC) and"
        " without (WiML), {at} inputs",
        ("15", "16"),
        setting="inputs",
        at=MANY,
        lines=("wiml", "tumlsc"),
    ),
    Question("sorting", "Sorting alone, {at} sources", ("7",), setting="sources", at=MANY),
)
