"""Questions about the designs of the first paper, for the front page of a set."""

from experiments.multiway_aggregation.figures import MOST_INPUTS
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
        at=2,
        caveat=SHARED_CORES,
        asked="Which design for two inputs, where the order matters?",
    ),
    Question(
        "order-many",
        "An aggregate whose order matters, {at} inputs",
        OS,
        setting="inputs",
        at=MOST_INPUTS,
        caveat=SHARED_CORES,
        asked="Which design for twenty inputs, where the order matters?",
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
        "A queue an input: lock-free (MQLF) or with locks (MQ), {at} inputs",
        (*OS, *OI),
        setting="inputs",
        at=MANY,
        lines=("mqlf", "mq"),
        caveat=(
            "a lock costs most where its holder loses the core; which of two lock-free designs is"
            " faster, queues or the ScaleGate of TuMLSC, is another question, answered on the"
            " paper's page"
        ),
        asked="Does lock-freedom matter?",
        meaning={"mqlf": "Yes: ", "mq": "It does not help: "},
    ),
    Question(
        "cost-of-order",
        "The same query with sorting (TuMLSC) and without (WiML), {at} inputs",
        ("15", "16"),
        setting="inputs",
        at=MANY,
        lines=("wiml", "tumlsc"),
        caveat=(
            "the factor is what sorting costs; which of the designs that do not sort is fastest is"
            " the question on order that does not matter"
        ),
        asked="What does ordering cost?",
        meaning={
            "wiml": "Without sorting is ahead: ",
            "tumlsc": "Sorting is ahead: ",
        },
    ),
    Question("sorting", "Sorting alone, {at} sources", ("7",), setting="sources", at=MANY),
)
