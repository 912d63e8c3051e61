"""A query, its plans and its instances in plain values: for pictures, free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# --- a query and its plans ------------------------------------------------------------------------


class Taken(NamedTuple):
    """A flow into an operator, or out of the query.

    Attributes
    ----------
    name : str
        Name of the sending operator or input.
    columns : tuple of str
        Columns of the schema, in order.
    """

    name: str
    columns: tuple[str, ...]


class OperatorBox(NamedTuple):
    """An operator of a query, or an input.

    Attributes
    ----------
    name, kind : str
        The kind of an input is "input".
    text : str
        A description of the operator.
    stateful : bool
    taken : tuple of Taken
        By input.
    """

    name: str
    kind: str
    text: str
    stateful: bool
    taken: tuple[Taken, ...]


@dataclass(frozen=True)
class QueryDrawn:
    """An abstract query.

    Attributes
    ----------
    name : str
    operators : tuple of OperatorBox
        Inputs first; each operator after its inputs.
    outputs : tuple of (str, Taken)
        By name.
    """

    name: str
    operators: tuple[OperatorBox, ...]
    outputs: tuple[tuple[str, Taken], ...]


class StageDrawn(NamedTuple):
    """A subquery on instances.

    Attributes
    ----------
    name : str
    unions, operators, filters : tuple of str
        The unions that mergers replace, the operators that instances run, the filters that
        balancers have taken over.
    instances : int
    """

    name: str
    unions: tuple[str, ...]
    operators: tuple[str, ...]
    filters: tuple[str, ...]
    instances: int


class WayDrawn(NamedTuple):
    """The channels from all senders of one kind to all instances of a stage.

    Attributes
    ----------
    sender, receiver : str
        An input or a stage; a stage or an output.
    kind : str
        "in", "between" stages, or "out".
    split : str
        How tuples are split, in a word or two; empty with one receiver.
    count : int
        Number of channels.
    """

    sender: str
    receiver: str
    kind: str
    split: str
    count: int


@dataclass(frozen=True)
class PlanDrawn:
    """A query on instances.

    Attributes
    ----------
    query : QueryDrawn
    strategy : str
    shared : bool
        Whether each processor runs an instance of every stage.
    stages : tuple of StageDrawn
    ways : tuple of WayDrawn
    processors, hops, channels : int
        Channels are those between stages.
    """

    query: QueryDrawn
    strategy: str
    shared: bool
    stages: tuple[StageDrawn, ...]
    ways: tuple[WayDrawn, ...]
    processors: int
    hops: int
    channels: int


# --- an instance, step by step --------------------------------------------------------------------


class SenderLook(NamedTuple):
    """The watermark of one sender, and the tuples that the merger has not given out yet.

    Attributes
    ----------
    waiting : tuple of str
        Tuples.
    progress : str
        The watermark: it sends no tuple below this time; "end" once closed, empty at first.
    """

    waiting: tuple[str, ...]
    progress: str


class SideLook(NamedTuple):
    """One side of an instance, or of an output.

    Attributes
    ----------
    name : str
    senders : tuple of SenderLook
    window : tuple of str or None
        Tuples in the window; None without a window.
    gone : tuple of str
        Tuples that this step expired, from the window or on arrival.
    """

    name: str
    senders: tuple[SenderLook, ...]
    window: tuple[str, ...] | None
    gone: tuple[str, ...]


class MergerStep(NamedTuple):
    """An instance after one step.

    Attributes
    ----------
    came : str
        The received tuple.
    sides : tuple of SideLook
    certain : str
        The merger's watermark, the least of all senders; in the form of a sender's progress.
    made : tuple of str
        The output of this step.
    """

    came: str
    sides: tuple[SideLook, ...]
    certain: str
    made: tuple[str, ...]


@dataclass(frozen=True)
class MergerSteps:
    """An instance, or an output, step by step.

    Attributes
    ----------
    title : str
        Title of the demonstration.
    steps : tuple of MergerStep
    missing : tuple of str
        Output of one instance that is fed in order, as far as this one lacks it.
    """

    title: str
    steps: tuple[MergerStep, ...]
    missing: tuple[str, ...]


# --- a Cartesian product --------------------------------------------------------------------------


@dataclass(frozen=True)
class GridSnapshot:
    """The comparisons of a Cartesian product, by instance.

    Attributes
    ----------
    instances, rows, columns : int
    left, right : tuple of str
        The tuples of each side; those that go to the same instances are adjacent.
    compared : tuple of tuple of tuple of int
        By left and right tuple, the instances that put their pair out.
    sent : tuple of int
        Number of instances that receive a left and a right tuple.
    """

    instances: int
    rows: int
    columns: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    compared: tuple[tuple[tuple[int, ...], ...], ...]
    sent: tuple[int, int]


# --- short runs -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class StrategyRun:
    """One short run of a query.

    Attributes
    ----------
    strategy : str
    instances : int
        Instances of each stage.
    throughput_tps : float
    valid : bool
        Whether the output was that of one instance.
    oversubscribed : bool
        Whether the machine was oversubscribed: more threads than cores.
    """

    strategy: str
    instances: int
    throughput_tps: float
    valid: bool
    oversubscribed: bool


@dataclass(frozen=True)
class Lost:
    """The output of a run whose rows came late.

    Attributes
    ----------
    merger : str
    behind : int
        Maximum number of a sender's rows by which a step lags.
    wanted, missing, other : int
        Rows of the output of one instance; the missing ones among them; and rows of the output that
        are not among them.
    """

    merger: str
    behind: int
    wanted: int
    missing: int
    other: int


@dataclass(frozen=True)
class CarrierRun:
    """One run of a query by a carrier.

    Attributes
    ----------
    carrier : str
        "threads", or on Spark "bounded" or "stream".
    batches : int
        Number of batches of a stream.
    killed : int or None
        Batches committed when an executor was killed; None if none was.
    rows : int
        Number of output rows.
    digest : str
        Digest of the whole output.
    refused : str
        Why it did not run; empty if it did.
    """

    carrier: str
    batches: int = 0
    killed: int | None = None
    rows: int = 0
    digest: str = ""
    refused: str = ""
