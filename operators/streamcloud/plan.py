"""A query on instances: stages, their mergers, and the channels between them.

::

    streams of an input                stage                          stage             output
                          instance 0: merger > operators > balancer
         balancer    ->   instance 1: merger > operators > balancer  ->  ...  ->        merger
                          instance 2: ...

A *stage* is a subquery on a number of *instances*, each of which has the same operators and a share
of the tuples. A *merger* stands at each input side of an instance: it brings the tuples of all
senders into one order. A *balancer* stands at the output: it sends each tuple to the instances that
the next stage's *partition* says. From each sender to each receiving instance there is a *channel*;
one pass over channels is a *hop*. *Processors* run instances, one of a stage each; the stages of
one *subcluster* are on the same processors.

A plan says all that a carrier needs, and nothing about the carrier: threads and processes run the
same plan. With one instance of each stage it is the query itself, cut into pieces.

How mergers treat tuples of equal time, so that no result shows the number of instances:

1. Each operator with several inputs takes, of one time, the tuples of the first input first, then
   the second's, each input sorted by order key (`operators.streamcloud.order`).
2. A merger that stands for unions (`Feed.path`) puts the numbers of the unions' inputs into the
   keys, as the unions would.
3. All inputs of an operator inside a stage are on one *clock* (`clocks`): tuples of one time reach
   the operator while the stage works on one and the same time. So an instance works time by time,
   each operator once, in order, and only mergers wait.

``check_invariants`` holds a plan to these rules, and to the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    SMALLER,
    Aggregate,
    Filter,
    Map,
    Node,
    Output,
    Product,
    Query,
    Union,
)
from operators.streamcloud.partition import Grid, Partition
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.windows import CountWindow

QUERY_CLUSTER = "query-cluster"
OPERATOR_CLUSTER = "operator-cluster"
SUBQUERY_CLUSTER = "subquery-cluster"
STRATEGIES = (QUERY_CLUSTER, OPERATOR_CLUSTER, SUBQUERY_CLUSTER)

TRANSPARENT, BEST_EFFORT = "transparent", "best-effort"
MERGERS = (TRANSPARENT, BEST_EFFORT)

# Where channels lead: from outside to a stage, between stages, from a stage to an output.
IN, BETWEEN, OUT = "in", "between", "out"

# The clock of tuples that enter a stage; others have the name of the operator that began them.
ENTRY = ""


@dataclass(frozen=True)
class Feed:
    """The tuples that one stage, or one input of the query, sends into a merger.

    Attributes
    ----------
    sender : str
        The name of a stage or of an input.
    output : Output
        The output of the query's operators that is sent.
    path : tuple of int
        The inputs of unions that the output passes on the way to the merger, which stands for
        these unions; the union next to the taker comes first.
    """

    sender: str
    output: Output
    path: tuple[int, ...] = ()


@dataclass(frozen=True)
class Merger:
    """The entrance of each instance of a stage on one side.

    Attributes
    ----------
    takers : tuple of (Node, int)
        The operators behind it, each with the number of the input. There are several if stateless
        operators take one stream, which then enters once.
    feeds : tuple of Feed
        In the order of their paths. Senders are numbered through them: the instances of the first
        feed's stage, or the streams of the first feed's input, then those of the second, and so on.
    partition : RoundRobin, Hash or Grid
        How each sender splits the tuples.
    """

    takers: tuple[tuple[Node, int], ...]
    feeds: tuple[Feed, ...]
    partition: Partition


@dataclass(frozen=True)
class Stage:
    """A subquery on instances.

    Attributes
    ----------
    name : str
        The name of the main operator: the stateful one, else the first.
    stateful : Aggregate, Join, Product or None
        The operator that determines the split of the input. Operators behind it may have state,
        too, if the same split suits them.
    nodes : tuple of Node
        The operators in topological order.
    mergers : tuple of Merger
        One a side.
    filters : tuple of Filter
        The last operators of the stage, which the balancer has taken over.
    instances : int
    """

    name: str
    stateful: Node | None
    nodes: tuple[Node, ...]
    mergers: tuple[Merger, ...]
    filters: tuple[Filter, ...] = ()
    instances: int = 1

    @property
    def operators(self) -> tuple[Node, ...]:
        """The operators, with those of the balancer."""
        return self.nodes + self.filters

    @property
    def runs_alone(self) -> bool:
        """Whether all tuples belong together: an aggregate without a group."""
        return isinstance(self.stateful, Aggregate) and not self.stateful.group_by


@dataclass(frozen=True)
class Sink:
    """An output of the query: one merger combines the results of the instances.

    Attributes
    ----------
    output : Output
    feeds : tuple of Feed
        As of a merger.
    """

    output: Output
    feeds: tuple[Feed, ...]


@dataclass(frozen=True)
class Channels:
    """All channels of one feed: from each sender to each receiver.

    Attributes
    ----------
    feed : Feed
    receiver : str
        The name of a stage, or of an output.
    side : int
        The number of the receiver's merger.
    senders, receivers : int
    partition : Partition or None
        How tuples are split; None for an output of the query, which has one receiver.
    kind : str
        ``IN``, ``BETWEEN`` or ``OUT``.
    """

    feed: Feed
    receiver: str
    side: int
    senders: int
    receivers: int
    partition: Partition | None
    kind: str

    @property
    def count(self) -> int:
        """The number of channels, with those between instances on one processor."""
        return self.senders * self.receivers


@dataclass(frozen=True)
class Plan:
    """A query on instances.

    Attributes
    ----------
    query : Query
    strategy : str
        One of ``STRATEGIES``.
    merger : str
        One of ``MERGERS``: whether mergers keep the total order or take what comes.
    streams : mapping of str to int
        The number of physical streams of each input of the query.
    stages : tuple of Stage
        Each behind those that send to it.
    sinks : tuple of Sink
        One an output of the query.
    """

    query: Query
    strategy: str
    merger: str
    streams: Mapping[str, int]
    stages: tuple[Stage, ...]
    sinks: tuple[Sink, ...]

    def stage(self, name: str) -> Stage:
        """Return the stage of a name.

        Raises
        ------
        UsageError
            When there is none; the message lists those there are.
        """
        for stage in self.stages:
            if stage.name == name:
                return stage
        names = [stage.name for stage in self.stages]
        raise UsageError(
            f'{self.query.name}: no stage "{name}" in its {self.strategy} plan ({listed(names)})'
            f"{did_you_mean(name, names)}"
        )

    def senders(self, feed: Feed) -> int:
        """Return how many senders a feed has: physical streams, or instances of a stage."""
        if feed.sender in self.streams:
            return self.streams[feed.sender]
        return self.stage(feed.sender).instances

    @cached_property
    def channels(self) -> tuple[Channels, ...]:
        """The channels of each feed: by receiver, side and feed."""
        found = [
            Channels(feed, stage.name, side, self.senders(feed), stage.instances, merger.partition,
                     IN if feed.sender in self.streams else BETWEEN)
            for stage in self.stages
            for side, merger in enumerate(stage.mergers)
            for feed in merger.feeds
        ]  # fmt: skip
        return tuple(found) + tuple(
            Channels(feed, sink.output.name, 0, self.senders(feed), 1, None, OUT)
            for sink in self.sinks
            for feed in sink.feeds
        )

    def channels_into(self, stage: str) -> list[Channels]:
        """Return the channels into a stage, by side and feed."""
        return [each for each in self.channels if each.receiver == stage and each.kind != OUT]

    def channels_from(self, sender: str) -> list[Channels]:
        """Return the channels out of a stage or an input: those that the balancers split."""
        return [each for each in self.channels if each.feed.sender == sender]

    def channels_count(self, kind: str = BETWEEN) -> int:
        """Return how many channels there are of one kind."""
        return sum(each.count for each in self.channels if each.kind == kind)

    def hops(self) -> int:
        """Return the largest number of passes from stage to stage that a tuple makes.

        The ways in from outside and out to an output are in every plan, and do not count.
        """
        before: dict[str, int] = {}
        for stage in self.stages:
            senders = [feed.sender for merger in stage.mergers for feed in merger.feeds]
            before[stage.name] = max(
                (before[each] + 1 for each in senders if each not in self.streams), default=0
            )
        return max(before[feed.sender] for sink in self.sinks for feed in sink.feeds)

    @cached_property
    def processors(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The instances that each processor runs, each as (stage, number)."""
        return tuple(
            tuple((stage.name, number) for stage in stages if number < stage.instances)
            for stages in self._subclusters()
            for number in range(max(stage.instances for stage in stages))
        )

    def _subclusters(self) -> Iterator[tuple[Stage, ...]]:
        if self.strategy == QUERY_CLUSTER:
            yield self.stages
        else:
            yield from ((stage,) for stage in self.stages)

    def fan_out(self) -> int:
        """Return the largest number of channels between stages into which one processor sends."""
        receivers: dict[str, int] = {}
        for each in self.channels:
            if each.kind == BETWEEN:
                sender = each.feed.sender
                receivers[sender] = receivers.get(sender, 0) + each.receivers
        return max(sum(receivers.get(name, 0) for name, _ in runs) for runs in self.processors)


def clocks(stage: Stage) -> dict[Node, str]:
    """Return the clock of each operator's output in a stage.

    A stateless operator, a join that gives pairs the larger time and an aggregate of windows of
    count put out a time while they work on it, so that they keep the clock of their input. Others
    begin a new one: an aggregate of windows of time, which end later, a map that sets the time, a
    join that gives the smaller time.
    """
    found: dict[Node, str] = {}
    for node in stage.operators:
        first = node.inputs[0].node
        found[node] = node.name if begins_a_clock(node) else found.get(first, ENTRY)
    return found


def begins_a_clock(node: Node) -> bool:
    """Return whether an operator puts out other times than the one it works on."""
    if isinstance(node, Map):
        return node.sets_time
    if isinstance(node, Aggregate):
        return not isinstance(node.window, CountWindow)
    return isinstance(node, Product) and node.time == SMALLER


def check_invariants(plan: Plan) -> None:
    """Hold a plan to the query: all inputs of operators and outputs arrive, in order.

    Raises
    ------
    AssertionError
        When the plan is wrong, which is a fault of the compiler.
    """
    makes = {node.name: {node.outputs[0]} for node in plan.query.inputs}
    assert plan.streams.keys() == makes.keys(), "streams are those of the query's inputs"
    for stage in plan.stages:
        assert stage.name not in makes, f"{stage.name} is there twice"
        _check_stage(stage, makes)
        makes[stage.name] = {output for node in stage.operators for output in node.outputs}
    assert [sink.output for sink in plan.sinks] == list(plan.query.outputs), "outputs differ"
    for sink in plan.sinks:
        _check_feeds(sink.output, sink.feeds, makes)


def _check_stage(stage: Stage, makes: Mapping[str, set[Output]]) -> None:
    inside = set(stage.operators)
    assert len(inside) == len(stage.operators), f"{stage.name} has an operator twice"
    assert stage.stateful is None or stage.stateful in inside, f"{stage.name} lost its operator"
    good = stage.instances == 1 or (stage.instances > 1 and not stage.runs_alone)
    assert good, f"{stage.name} cannot have {stage.instances} instances"
    brought: dict[tuple[Node, int], Merger] = {}
    for merger in stage.mergers:
        if isinstance(merger.partition, Grid):
            places = merger.partition.rows * merger.partition.columns
            assert places == stage.instances, f"{stage.name} has a grid of {places} instances"
        for taker in merger.takers:
            assert taker[0] in inside and taker not in brought, f"{taker} is brought twice"
            brought[taker] = merger
    of_clock, ready = clocks(stage), set()
    for node in stage.operators:
        for number, taken in enumerate(node.inputs):
            if (node, number) in brought:
                _check_feeds(taken, brought.pop((node, number)).feeds, makes)
                continue
            assert taken.node in ready, f"nothing brings input {number} of {node}"
            behind = taken.node in stage.filters and node not in stage.filters
            assert not behind, f"the balancer's {taken.node} stands before {node}"
        of_inputs = {
            of_clock[taken.node] if taken.node in ready else ENTRY for taken in node.inputs
        }
        assert len(of_inputs) == 1, f"the inputs of {node} are on several clocks"
        ready.add(node)
    assert not brought, f"nothing takes what is brought for {list(brought)}"


def _check_feeds(taken: Output, feeds: tuple[Feed, ...], makes: Mapping[str, set[Output]]) -> None:
    """Check that feeds bring one output, or in order the inputs of the unions that make it."""
    for feed in feeds:
        made = makes.get(feed.sender, ())
        assert feed.output in made, f"{feed.sender} does not make {feed.output.name}"
    brought = {feed.output for feed in feeds}

    def parts(output: Output, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Output]]:
        if output in brought:
            yield path, output
            return
        assert isinstance(output.node, Union), f"nothing brings {output.name}"
        for number, each in enumerate(output.node.inputs):
            yield from parts(each, (*path, number))

    found = [(feed.path, feed.output) for feed in feeds]
    assert list(parts(taken, ())) == found, f"{taken.name} is brought in another order"
