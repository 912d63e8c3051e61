"""The runs of the paper's figures 8 to 14.

Three families: reorder buffers (12), worklists of partitioned operators (9 and 10), and whole
pipelines, in which a scheduler sends workers to operators (8, 11, 13 and 14)::

    source --> |worklist| --> [operator 1] --> |reorder| --> |worklist| --> [operator 2] --> ...
                     ^             ^                ^
                 11: hybrid    8: which of the   12, 13, 14: lock-based
                 or part-      operators a       or non-blocking
                 itioned       free worker
                 queue         goes to

Sources are saturated: throughput is closed-loop, and latency is the paper's processing latency, of
markers from the 20th to the 80th percentile of a run. A pipeline's run is a whole pass over its
data, since some queries answer only at the end, and the throughput is all tuples over all time.

# ASSUME: the paper's *peak* throughput is that of the best number of workers. Here it is the
# saturated throughput at each number, and figures 14, 8x, 8y, 13x and 14x are at two workers, since
# the machine on which this was written has two cores. The number is fixed, not "as many as cores":
# settings are looked up in results of other machines too, where that would be another number. On
# more cores figure 14 shows two workers, and not the peak.
# ASSUME: an operator of figure 13 costs 100 us in the paper, and 10 in a quick run and 20 in a
# laptop's. Contention at the reorder buffer depends on the number of workers over the work of a
# tuple: two workers meet as often as the paper's sixteen at an eighth of the work. The
# profile `paper` has 100.
# ASSUME: the fifty outputs of a tuple cost as much in the second operator of figure 13, together,
# as the tuple did in the first. The text can also be read as that cost for each of the fifty. Then
# 98 % of the work is in the second operator, of sixteen workers hardly ever two are in the first,
# and its outputs find no room: the sender gives up the flag or the lock, and nobody waits for a
# long send, which is the subject of the figure. The extended form has that reading, too.
# ASSUME: the paper does not say which scheduler figure 13 has. Here it is LP, which sends workers
# to the first operator when the worklist behind it is empty: so the outputs of a tuple find room,
# and several workers are at the first operator at the same time. CT sends workers there in each
# window until that worklist is full.
# ASSUME: the values of sigma (figure 9), the costs of figures 9 and 12, the slots of figures 10 and
# 13 (there room for the outputs of eighty tuples, or they would be sent in parts) and the
# schedulers' parameters (figure 8y) are not in the text.
# ASSUME: the paper's worklists are concurrent queues of C++, which are unbounded, and it gives no
# value of QST's capacity C. Where whole queries run (8, 8x, 8y, 11, 14, 14x) an operator has 4,096
# slots here, and C is a quarter of them. With 256 slots and C = 1024 most operators had a threshold
# that no worklist could reach, and a worklist was full before the turn that filled it had ended.
# ASSUME: figures 9 and 10 have one producer besides the workers; in a pipeline the producer is a
# worker of the previous operator.
# ASSUME: with a saturated source there is no due time, so that the latency from due times that the
# other papers draw is not measured here.
"""

from __future__ import annotations

from dataclasses import replace

from experiments.declare import LINES, MEMORY, Figure, Heading, Paper
from experiments.ordered_processing.axes import (
    BY_ADDED,
    BY_COST,
    BY_QUERY,
    BY_SIGMA,
    BY_SLOTS,
    BY_WORKERS,
    COST,
    GIVEN,
    MORE_SLOTS,
    ONE_AND_TWO,
    ROOMY,
    SENT_WHOLE,
    SHARES_SHOWN,
    UNEVEN,
    WORKERS_OF_ONE,
)
from experiments.ordered_processing.blocks_of_tuples import IN_BLOCKS

SCHEDULERS = ("qst", "lp", "et", "ct")
PARTITIONED, HYBRID = "partitioned", "hybrid"
# Under CT, which section 7 uses whenever it compares something else.
QUEUES = (f"ct:partition={PARTITIONED}", f"ct:partition={HYBRID}")
LOCK_BASED, NON_BLOCKING = "lock-based", "non-blocking"
BUFFERS = (f"ct:reorder={LOCK_BASED}", f"ct:reorder={NON_BLOCKING}")
# Under LP, which empties the worklist downstream before it makes more.
SENDERS = (f"lp:reorder={LOCK_BASED}", f"lp:reorder={NON_BLOCKING}")

THROUGHPUT = "throughput_tps"
MEAN, P50, P99 = "processing_ms_mean", "processing_ms_p50", "processing_ms_p99"
SPEED_UP = "speed_up"
IDEAL = "ideal"
NO_ROOM = "no_room_a_tuple"

DECIDED = ("turns_passed_over", "turns_held_back")

HEADINGS = (
    Heading(
        "schedulers",
        "Which operator a free worker goes to",
        "Four heuristics on five queries of TPCx-BB: push from the source (QST), pull from the end"
        " (LP), most work waiting (ET), lowest throughput (CT).",
    ),
    Heading(
        "partitioning",
        "Partitioned operators",
        "A queue for each partition, or beside them a master queue, whose keys any worker takes.",
    ),
    Heading(
        "reordering",
        "Putting outputs in order",
        "A buffer under a lock that is held while sending, or one whose sender nobody waits for.",
    ),
)

_LIGHT = (
    "With one worker these queries take millions of tuples a second, where the paper tells of"
    " millions with sixteen: a tuple costs a fraction of a microsecond, and handing it from one"
    " core to another costs as much. Figure 14x has the same with dearer operators."
)

_CLOCK = (
    " Query 1's clock runs faster than its data's: 5,000 sales lines fall into an hour, where the"
    " generated five years have 2 (quick) to 150 (paper)."
)

SCHEDULING = Figure(
    id="8",
    title="Five queries, four schedulers: throughput and processing latency by workers",
    caption="schedulers on five queries",
    subject="five queries",
    family="pipeline",
    lines=SCHEDULERS,
    x=BY_WORKERS,
    form="side_by_side",
    heading="schedulers",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, P50, P99, *DECIDED),
    settings={"slots": ROOMY},
    panels=BY_QUERY,
    noted=(*DECIDED, "ingress_us"),
    about=(
        "Throughput is the tuples over the time of a whole pass, with what is put out at its end."
        " CT leaves the operator's own selectivity out of what its throughput is divided by; with"
        " it, as printed, a last operator that puts next to nothing out is never chosen."
        " An operator has 4,096 slots, and a quarter of them is QST's capacity; the paper's"
        " worklists seem to have no bound. The source is saturated: a worker at the first operator"
        " (often under ET, since no worklist is longer than the source) fills the worklist behind"
        " it, and then it is back-pressure that decides, and not the scheduler. Below stands the"
        " share of the turns in which that was so, and the share in which the earliest operator"
        " that could be worked on was passed over, which under QST means that a threshold decided."
        " The extended form has 16,384 slots, too: there each scheduler's own rule decides nearly"
        " always, but for ET's."
        f"{_CLOCK} {_LIGHT}"
    ),
)

WORKER_TIME = Figure(
    id="8x",
    title="Five queries, four schedulers, two workers: where the workers' time goes",
    caption="worker time by operator (ours)",
    subject="five queries",
    family="pipeline",
    lines=SCHEDULERS,
    x=LINES,
    form="stack",
    heading="schedulers",
    quantities=SHARES_SHOWN,
    extended_quantities=SHARES_SHOWN,
    settings={"workers": 2, "slots": ROOMY},
    panels=BY_QUERY,
    noted=("ingress_us",),
    about=(
        "Ours: the paper says of it that it is almost similar, and shows no figure. Feeding the"
        " first operator from the source, the ingress, is in no operator's share; how long it takes"
        f" stands below.{_CLOCK}"
    ),
)

SENSITIVITY = Figure(
    id="8y",
    title="Query 2, two workers: what schedulers are given, less and more of it",
    caption="what schedulers are given (ours)",
    subject="query q2",
    family="pipeline",
    lines=GIVEN,
    x=LINES,
    form="rows",
    heading="schedulers",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, MEAN, *DECIDED),
    settings={"query": "q2", "workers": 2, "slots": ROOMY},
    about=(
        "Ours: slice, CT's window, QST's capacity, ET's view of the source and the slots of an"
        " operator are not given in the paper."
    ),
)

LOAD = Figure(
    id="9",
    title="One partitioned operator under uneven keys: throughput by workers",
    caption="uneven keys",
    subject="uneven keys",
    family="partition",
    lines=(PARTITIONED, HYBRID),
    x=UNEVEN,
    form="side_by_side",
    heading="partitioning",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, MEAN, *MEMORY),
    settings={"work_us": 10},
    panels=BY_SIGMA,
    about=(
        "Keys from a normal distribution around 0, kept where they lie in [-1, 1], in ranges of one"
        " width: as many as workers in the partitioned queue, 100 in the hybrid one. At σ = 0.1 the"
        " largest of 2, 3 and 4 ranges holds 50, 99.9 and 50 % of the keys. Two workers and"
        " the producer are three threads, which share two cores where there are no more."
    ),
)

LATENCY = Figure(
    id="10",
    title="One partitioned operator, uniform keys, two workers and a producer: latency by cost",
    caption="latency by cost, uniform keys",
    subject="uniform keys",
    family="partition",
    lines=(PARTITIONED, HYBRID),
    x=BY_COST,
    form="side_by_side",
    heading="partitioning",
    quantities=(MEAN,),
    extended_quantities=(MEAN, P99, THROUGHPUT),
    settings={"sigma": 0, "workers": 2},
    panels=BY_SLOTS,
    about=(
        "How long an output waits depends on the tuples that may be under way: the slots."
        " Two workers and the producer are three threads, which share two cores where there are no"
        " more."
    ),
)

PARTITIONING = Figure(
    id="11",
    title="Five queries, two partitioning schemes: throughput and processing latency by workers",
    caption="partitioning on five queries",
    subject="five queries",
    family="pipeline",
    lines=QUEUES,
    x=BY_WORKERS,
    form="side_by_side",
    heading="partitioning",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, P50, P99),
    settings={"slots": ROOMY},
    panels=BY_QUERY,
    noted=("turns_held_back",),
    about=f"As in figure 8 an operator has 4,096 slots. {_LIGHT}{_CLOCK}",
)

LIGHT = Figure(
    id="12",
    title="A light stateless operator: speed-up and cost of a tuple by workers",
    caption="reorder buffers, light operator",
    subject="light operator",
    family="reorder",
    lines=(LOCK_BASED, NON_BLOCKING),
    x=WORKERS_OF_ONE,
    form="curves",
    heading="reordering",
    quantities=(SPEED_UP, "worker_us"),
    extended_quantities=(SPEED_UP, "worker_us", THROUGHPUT),
    settings={"work": "constant", "work_us": 20},
    model=IDEAL,
    about=(
        "The lock is a pthread mutex; the extended form has a spin lock too. Work is constant, and"
        " sending short: workers then hardly meet, and the buffers hardly differ. The extended form"
        " has, of ours, exponential work of 10 µs and sends of 5 µs, where they meet. With more"
        " workers than cores the next output in order may be that of a worker that is off its core:"
        " then the 1,024 slots fill, and the others wait for room, with either buffer."
    ),
)

SELECTIVE = Figure(
    id="13",
    title="Selectivity 50, then a partitioned operator: speed-up, and cost of the first operator",
    caption="reorder buffers, selectivity 50",
    subject="selectivity 50",
    family="pipeline",
    lines=SENDERS,
    x=BY_WORKERS,
    form="side_by_side",
    heading="reordering",
    quantities=(SPEED_UP, "first_operator_us"),
    extended_quantities=(SPEED_UP, "first_operator_us", THROUGHPUT),
    settings={**SENT_WHOLE, "slots": ROOMY},
    panels=COST,
    model=IDEAL,
    noted=(NO_ROOM,),
    about=(
        "Under LP, which sends free workers to the second operator first; the paper does not name"
        " its scheduler. The paper's cost is about 100 µs: here 10 in the quick profile, 20 in"
        " laptop's, 100 in the paper's. A tuple costs as much in the first operator as its fifty"
        " outputs together in the second. Below stands how often the outputs of a tuple found no"
        " room in the worklist behind. Above 1 they were sent in parts, and in between the sender"
        " gave up the flag or the lock, so that nobody waited for a long send. So it is in the"
        " extended form's lines of 64 slots under CT, where each of the fifty outputs costs as much"
        " as the tuple."
    ),
)

MORE_IN_FLIGHT = replace(
    SELECTIVE,
    id="13x",
    title="Selectivity 50, two workers: speed-up, and cost of the first operator, by slots",
    caption="selectivity 50 by slots (ours)",
    x=MORE_SLOTS,
    # A single number of slots has no curve.
    absent_from=("quick",),
    settings={**SENT_WHOLE, "workers": 2},
    about=(
        "Ours: how many tuples may be under way in an operator is not given in the paper. 64 slots"
        " have no room for the fifty outputs of a tuple beside those of the one before."
    ),
)

REORDERING = Figure(
    id="14",
    title="Five queries, two reorder buffers, two workers: throughput",
    caption="reorder buffers on five queries",
    subject="five queries",
    family="pipeline",
    lines=BUFFERS,
    x=BY_QUERY,
    form="curves",
    heading="reordering",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"workers": 2, "slots": ROOMY},
    noted=("turns_held_back", NO_ROOM),
    about=(
        "At two workers on any machine: with more cores the peak may be at more workers, which"
        f" figure 8 has for the non-blocking buffer. {_LIGHT}{_CLOCK}"
    ),
)

DEARER = Figure(
    id="14x",
    title="Queries whose operators cost more, two workers: schedulers, queues and buffers",
    caption="dearer operators (ours)",
    subject="dearer operators",
    family="pipeline",
    lines=("ct", "lp", "et", "qst", QUEUES[0], BUFFERS[0]),
    x=BY_ADDED,
    form="side_by_side",
    heading="reordering",
    quantities=(THROUGHPUT, MEAN),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"workers": 2, "slots": ROOMY},
    noted=DECIDED,
    panels=replace(BY_QUERY, values={**BY_QUERY.values, "quick": ("q2",)}),
    about=(
        "Ours: matrix work of so many µs is added to each tuple in each operator, which brings a"
        " query to what a tuple costs in the paper, and the rest is as in figures 8, 11 and 14. CT"
        " has the hybrid queue and the non-blocking buffer; the last two have one thing other."
        f"{_CLOCK}"
    ),
)

SCALED = Figure(
    id="14y",
    title="Query 2 whose operators cost more: throughput by workers, CT and LP",
    caption="scaling with dearer operators (ours)",
    subject="query 2",
    family="pipeline",
    lines=("ct", "lp"),
    x=ONE_AND_TWO,
    form="side_by_side",
    heading="reordering",
    quantities=(THROUGHPUT,),
    extended_quantities=(THROUGHPUT, MEAN),
    settings={"query": "q2", "slots": ROOMY},
    noted=DECIDED,
    panels=BY_ADDED,
    about=(
        "Ours: whether the paper's linear growth comes with the cost of a tuple. Matrix work of so"
        " many µs is added to each tuple in each operator; without it the runs are those of figure"
        " 8."
    ),
)

PAPER = Paper(
    id="ordered_processing",
    title="Scaling Ordered Stream Processing on Shared-Memory Multicores",
    headings=HEADINGS,
    figures=(
        SCHEDULING, WORKER_TIME, SENSITIVITY, LOAD, LATENCY, PARTITIONING, LIGHT, SELECTIVE,
        MORE_IN_FLIGHT, REORDERING, DEARER, SCALED, IN_BLOCKS,
    ),
)  # fmt: skip
