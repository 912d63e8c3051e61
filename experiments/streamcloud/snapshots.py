"""What a query, its plans and its instances look like, in plain values: free of operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# --- a query and its plans ------------------------------------------------------------------------


class Taken(NamedTuple):
    """What flows into an operator, or out of the query.

    Attributes
    ----------
    name : str
        Of the operator or input that it comes from.
    columns : tuple of str
        Of its schema, in order.
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
        What it does.
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
        Inputs first; each behind what it takes.
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
        What its mergers stand for, what its instances run, what its balancers have taken over.
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
        How tuples are split, in a word or two; empty where there is one receiver.
    count : int
        Of channels.
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
        Of channels those between stages.
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
    """What one sender has sent that was not given out.

    Attributes
    ----------
    waiting : tuple of str
        Tuples.
    progress : str
        Below which time it sends no more; "end" when it has closed, empty when it told nothing.
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
        Tuples in its window; None where there is none.
    gone : tuple of str
        Those that this step let go, whether they were in the window before or came with it.
    """

    name: str
    senders: tuple[SenderLook, ...]
    window: tuple[str, ...] | None
    gone: tuple[str, ...]


class MergerStep(NamedTuple):
    """An instance behind one step.

    Attributes
    ----------
    came : str
        What it was given.
    sides : tuple of SideLook
    certain : str
        The least progress of all senders; as of a sender.
    made : tuple of str
        What came out in this step.
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
    told : str
        What it shows.
    steps : tuple of MergerStep
    missing : tuple of str
        What one instance of the query puts out, fed in order, and this one did not.
    """

    told: str
    steps: tuple[MergerStep, ...]
    missing: tuple[str, ...]


# --- a Cartesian product --------------------------------------------------------------------------


@dataclass(frozen=True)
class GridSnapshot:
    """Who compares what of a Cartesian product.

    Attributes
    ----------
    instances, rows, columns : int
    left, right : tuple of str
        The tuples of each side; those that go to the same instances stand together.
    compared : tuple of tuple of tuple of int
        By left and right tuple, the instances that put their pair out.
    sent : tuple of int
        To how many instances a left and a right tuple goes.
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
        Of each stage.
    throughput_tps : float
    valid : bool
        Whether what came out was that of one instance.
    crowded : bool
        Whether there were more threads than cores.
    """

    strategy: str
    instances: int
    throughput_tps: float
    valid: bool
    crowded: bool


@dataclass(frozen=True)
class Lost:
    """What a run put out whose rows came late.

    Attributes
    ----------
    merger : str
    behind : int
        By how many rows of a sender at the most.
    wanted, missing, other : int
        Rows that one instance puts out; of these, those that did not come out; and rows that came
        out and are none of these.
    """

    merger: str
    behind: int
    wanted: int
    missing: int
    other: int
