"""A plan on the carrier of threads, run by the machine of the proving ground.

Rings and control words are those of the production source, with the machine's words instead of
their arrays; a thread is a body of `operators.streamcloud.carriers.threads`. An instance's work on
rows is private: nothing of it is shared, so that it is no step of the machine.

*Idle turns.* Streams may fall silent: the source sends some tuples, and nothing afterwards, neither
an end nor a pause. Then nobody has a reason to write but what lies in the rings and with the
threads, and the turns in which they look must be enough to bring it to the output. A watcher, the
last thread, looks for that, and stops the run. If it never comes, all threads give way to each
other, and the machine says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from operators.check.history import HistoryOperation
from operators.check.scenario import Call, Scenario
from operators.contract import NOT_READY, READY, UsageError, Variant
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, load, store
from operators.core.spsc_ring import READ, RING_WORDS, WRITTEN, Rings, check_invariants
from operators.running.control import STOP, block, make_control
from operators.streamcloud import reference
from operators.streamcloud.carriers import serial, threads
from operators.streamcloud.carriers.bells import NoBell
from operators.streamcloud.coding import decode, encode_inputs
from operators.streamcloud.compiler import Instances
from operators.streamcloud.order import key_width
from operators.streamcloud.parts import Parts, Sent, Target
from operators.streamcloud.plan import BEST_EFFORT, TRANSPARENT, Plan
from operators.streamcloud.reference import Row as Tuple
from operators.streamcloud.rows import Row, pack, words_of
from operators.streamcloud.sources import OutputSink
from operators.streamcloud.yaml_form import read_query

RUN, WATCH = "run", "watch"
# The answer of a thread: it has ended, was stopped, or an expression failed.
ENDED, STOPPED, FAILED = range(3)
# An upper limit on the output of these queries, in tuples.
MOST_OUT = 40


class Case(NamedTuple):
    """A plan, its streams, and the settings of a run.

    Attributes
    ----------
    query : mapping
        In the form of a YAML file, with one output.
    streams : mapping of str to sequence of sequence of rows
        As of `reference.run`.
    instances : int or mapping of str to int
        Of each stage.
    blob, capacity : int
        Tuples that a stream sends at once, rows that a channel holds.
    until : int or None
        The number of tuples after which the run pauses; at the end it continues.
    silent : bool
        Whether the source does not pause then, but sends no more.
    merger : str
    failing : str
        The start of the message of an expression that fails; empty if none does.
    body : int
        The most bytes of a row's tuples, 0 for as many as usual.
    waiting : int or None
        Of a run that pauses, the number of tuples that then wait in mergers.
    dealt : tuple of int
        Of a plan whose instances get tuples in turn, the number of each instance's tuples.
    deep : bool
    """

    query: Mapping[str, Any]
    streams: Mapping[str, Sequence[Sequence[Tuple]]]
    instances: Instances = 2
    blob: int = 1
    capacity: int = 1
    until: int | None = None
    silent: bool = False
    merger: str = TRANSPARENT
    failing: str = ""
    body: int = 0
    waiting: int | None = None
    dealt: tuple[int, ...] = ()
    deep: bool = False


class Running(NamedTuple):
    """The shared memory of the threads, and the plan that they run.

    Attributes
    ----------
    control : int64 array
        As of `running.control`.
    channels : NamedTuple of Rings
        Of each receiver.
    given : int64 array
        The output: the number of tuples, then their words, one tuple behind the other. Plain.
    shown : int64 array
        The number of tuples in the output, for a watcher.
    plan : OnMachine
    """

    control: np.ndarray
    channels: Any
    given: np.ndarray
    shown: np.ndarray
    plan: OnMachine


class _Step:
    """The state behind some steps of an instance, the last step's output, and later steps."""

    def __init__(self, state: bytes, sent: list[Sent] | UsageError) -> None:
        self.state, self.sent = state, sent
        self.following: dict[bytes, _Step] = {}


class _Remembering(Parts):
    """Parts that make each step once: the result of a step depends only on the rows so far.

    Thousands of schedules consist of some dozens of different steps, and one takes as long as a
    hundred steps of the machine.
    """

    def begin(self) -> None:
        """Go back to the beginning."""
        if not hasattr(self, "_first"):
            self._beginning = self.source.save()
            self._first = {
                (place, number): _Step(self.instances[place][number].save(), [])
                for place, number in self.receivers()
                if not self.is_output(place)
            }
        self.source.load(self._beginning)
        self._at = dict(self._first)
        self.tuples = dict.fromkeys(self._first, 0)
        self._load()

    def step(self, place: int, number: int, rows: Sequence[Row]) -> list[Sent]:
        """Let an instance step, or return the rows that it sent for the same step before."""
        self.tuples[place, number] += sum(row.batch.shape[1] for row in rows)
        before = self._at[place, number]
        key = b"".join(map(pack, rows))
        if key not in before.following:
            before.following[key] = self._stepped(place, number, rows, before.state)
        behind = self._at[place, number] = before.following[key]
        if isinstance(behind.sent, UsageError):
            raise behind.sent
        return behind.sent

    def _stepped(self, place: int, number: int, rows: Sequence[Row], state: bytes) -> _Step:
        instance = self.instances[place][number]
        instance.load(state)
        try:
            sent = super().step(place, number, rows)
        except UsageError as error:
            return _Step(b"", error)
        return _Step(instance.save(), sent)

    @property
    def waiting(self) -> int:
        """The tuples that wait in the mergers of instances."""
        self._load()
        return sum(each.merger.waiting for stage in self.instances for each in stage)

    def save(self) -> dict[str, bytes]:
        """Return the state of everything, by name."""
        self._load()
        return super().save()

    def _load(self) -> None:
        """Set all instances to the states behind their steps."""
        for (place, number), at in self._at.items():
            self.instances[place][number].load(at.state)


class _Quiet(threads.Thread):
    """A thread without reports: only the watchdog reads them, and each word would be a step."""

    def report(self, count: int) -> None:
        """Report nothing."""

    def waiting(self, state: int, word: int) -> AbstractContextManager[None]:
        """Report nothing."""
        return nullcontext()

    def stepping(self) -> AbstractContextManager[None]:
        """Report nothing."""
        return nullcontext()


class _Silent(_Quiet):
    """The thread of a source that sends no more, and tells nobody."""

    def pause(self, inboxes: threads.Inboxes, targets: Iterable[Target]) -> None:
        """Tell nothing."""


class _Writing(OutputSink):
    """An output that writes tuples into words of the machine; it shows a watcher how many."""

    def __init__(self, plan: Plan, given: np.ndarray, shown: np.ndarray | None) -> None:
        super().__init__(plan, plan.sinks[0])
        self._given, self._shown = given, shown

    def keep(self, batch: np.ndarray) -> None:
        """Write tuples behind the earlier ones; the first word counts them."""
        words, count = batch.shape
        for at in range(count):
            first = 1 + words * self._given[0]
            if first + words > len(self._given):
                raise RuntimeError(f"more than {MOST_OUT} tuples came out")
            self._given[first : first + words] = batch[:, at].tolist()
            self._given[0] += 1
        if self._shown is not None and count:
            store(self._shown, 0, self._given[0], RELEASE)


class OnMachine:
    """A plan, and the threads of one run of it.

    Parameters
    ----------
    plan : Plan
    case : Case
    """

    def __init__(self, plan: Plan, case: Case) -> None:
        self.case, self.compiled = case, plan
        self.words, self.coding = encode_inputs(plan.query, _columns(plan, case.streams))
        self.parts = _Remembering(plan, self.words, self.coding, case.blob, case.until)
        if case.body:
            instances = (each for stage in self.parts.instances for each in stage)
            for balancer in (*self.parts.source.balancers, *(each.balancer for each in instances)):
                balancer.most_body = case.body
        self.failures: list[str] = []
        self.bodies: list[threads.Body] = []

    def begin(self) -> threads.Inboxes:
        """Reset everything, and return the channels."""
        self.failures = []
        self.parts.begin()
        inboxes = threads.inboxes_of(self.parts, self.case.capacity, NoBell)
        self.bodies = threads.bodies_of(self.parts, inboxes)
        return inboxes

    def restart(self, state: Running) -> None:
        """Reset everything, on the words of the machine."""
        for inbox, rings in zip(self.begin().values(), state.channels, strict=True):
            inbox.rings = rings
        shown = state.shown if self.case.silent else None
        self.parts.sinks = [_Writing(self.compiled, state.given, shown)]

    def before(self) -> tuple[list[Tuple], int]:
        """Return the output of a serial run that pauses, and the time before which it is whole."""
        parts = Parts(self.compiled, self.words, self.coding, self.case.blob, self.case.until)
        serial.run(parts)
        (columns,) = parts.outputs().values()
        return _rows(columns), parts.sinks[0].merger.progress

    def rest(self) -> list[Tuple]:
        """Return the output of a run that continues after the pause of this one."""
        parts = Parts(self.compiled, self.words, self.coding, self.case.blob)
        parts.load(self.parts.save())
        serial.run(parts)
        assert parts.closed, "a run that goes on does not come to its end"
        (columns,) = parts.outputs().values()
        return _rows(columns)

    def rows_of(self, given: np.ndarray) -> list[Tuple]:
        """Return the tuples that were written into words."""
        (output,) = self.compiled.query.outputs
        words, count = words_of(output), int(given[0])
        batch = given[1 : 1 + words * count].reshape(count, words).T
        return _rows(decode(output.schema, key_width(output), batch, self.coding))


def _columns(plan: Plan, streams: Mapping[str, Sequence[Sequence[Tuple]]]) -> dict[str, Any]:
    """Return streams of rows as columns."""
    return {
        node.name: [
            {name: [row[at] for row in rows] for at, name in enumerate(node.schema.names)}
            for rows in streams[node.name]
        ]
        for node in plan.query.inputs
    }


def _rows(columns: Mapping[str, np.ndarray]) -> list[Tuple]:
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))


# --- the scenario ---------------------------------------------------------------------------------


def scenario_of(
    variant: Variant,
    name: str,
    case: Case,
    whole: Callable[[Tuple], bool] | None = None,
    schedules: float = 60,
) -> Scenario:
    """Return a plan's threads as a scenario.

    Parameters
    ----------
    variant : Variant
        A strategy.
    name : str
    case : Case
    whole : callable, optional
        Of a run that pauses, whether a row of the oracle must have come out before the pause; else
        what comes out of a serial run must.
    schedules : float
        As of `Scenario`.
    """
    query = read_query(case.query)
    counts = {each: len(found) for each, found in case.streams.items()}
    plan = variant.operations.compile(query, case.instances, case.merger, counts)
    instances = [(s.name, number) for s in plan.stages for number in range(s.instances)]

    def make() -> Running:
        on_machine = OnMachine(plan, case)
        channels = [inbox.rings for inbox in on_machine.begin().values()]
        several = NamedTuple("Channels", [(f"into_{n}", Rings) for n in range(len(channels))])
        (output,) = query.outputs
        given = np.zeros(1 + MOST_OUT * words_of(output), np.int64)
        control = make_control(len(on_machine.bodies))
        return Running(control, several(*channels), given, np.zeros(1, np.int64), on_machine)

    def perform(state: Running, call: Call) -> int:
        (number,) = call.arguments
        if call.name == WATCH:
            return _watch(state, certain())
        is_source = number == len(state.plan.bodies) - 1
        thread = (_Silent if case.silent and is_source else _Quiet)(state.control, block(number))
        try:
            state.plan.bodies[number].run(thread)
        except UsageError as error:
            # Like a crew, tell all threads to stop.
            state.plan.failures.append(str(error))
            store(state.control, STOP, 1, RELEASE)
            return FAILED
        return STOPPED if thread.stopped() else ENDED

    def finish(state: Running, history: Sequence[HistoryOperation]) -> None:
        failures = state.plan.failures
        if case.failing:
            # If both instances fail at once, either is the first.
            assert failures, "an expression has failed, and nobody says so"
            assert all(each.startswith(case.failing) for each in failures), failures
            return
        assert not failures, failures
        if case.silent:
            # A thread that is stopped may take one step more or not.
            found, most = state.plan.rows_of(state.given), before()[0]
            if case.merger == BEST_EFFORT:
                found, most = sorted(found), sorted(most)
            assert found == most[: len(found)], f"came out: {found}, and it is {most}"
            return
        assert all(each.answer == ENDED for each in history), "a thread was told to stop"
        _check_ends(state, case)
        _compare(state, case, wanted, [] if case.until is None else before()[0])

    def invariants(state: Running) -> None:
        for rings in state.channels:
            check_invariants(rings)

    wanted = [] if case.failing else reference.run(query, case.streams)[query.outputs[0].name]

    @cache
    def before() -> tuple[list[Tuple], int]:
        """Return what comes out before a pause; made late, since a fault must not hide the rest."""
        found, until = OnMachine(plan, case).before()
        return found if whole is None else list(filter(whole, wanted)), until

    def certain() -> int:
        found, until = before()
        # Under best effort, whatever has come is put out.
        return sum(case.merger == BEST_EFFORT or row[0] < until for row in found)

    count = 2 + len(instances)
    calls = [*(Call(RUN, (number,)) for number in range(count))]
    if case.silent:
        calls.append(Call(WATCH, (count,)))
    return Scenario(
        name, make, tuple((call,) for call in calls), perform, finish=finish,
        invariants=invariants, retry=frozenset({NOT_READY}) if case.silent else frozenset(),
        rests=False, deep=case.deep, schedules=schedules,
    )  # fmt: skip


def _watch(state: Running, certain: int) -> int:
    """Stop the run when nothing lies in the rings and what is certain has come out."""
    # ACQUIRE: the tuples were written before.
    if load(state.shown, 0, ACQUIRE) < certain:
        return NOT_READY
    for rings in state.channels:
        for ring in range(0, len(rings.positions), RING_WORDS):
            # RELAXED: a number that is too small makes the watcher look again.
            read = load(rings.positions, ring + READ, RELAXED)
            if read != load(rings.positions, ring + WRITTEN, RELAXED):
                return NOT_READY
    store(state.control, STOP, 1, RELEASE)
    return READY


def _check_ends(state: Running, case: Case) -> None:
    """Check what is left when all threads have ended."""
    for rings in state.channels:
        left = rings.positions[WRITTEN::RING_WORDS] - rings.positions[READ::RING_WORDS]
        assert not left.any(), f"at the end {left} rows were left in the rings"
    known = sum(len(stream) for streams in case.streams.values() for stream in streams)
    assert state.plan.parts.source.total == known, "the source does not know its tuples"
    waiting = state.plan.parts.waiting if case.waiting is not None else None
    assert waiting == case.waiting, f"{waiting} tuples wait in mergers, not {case.waiting}"
    if case.dealt:
        dealt = tuple(state.plan.parts.tuples.values())
        assert dealt == case.dealt, f"instances were sent {dealt} tuples, and not {case.dealt}"


def _compare(state: Running, case: Case, wanted: list[Tuple], before: list[Tuple]) -> None:
    """Compare the output with that of the oracle, and with what comes out before a pause."""
    found = state.plan.rows_of(state.given)
    in_order = sorted if case.merger == BEST_EFFORT else list
    if case.until is not None:
        early, whole = in_order(found), in_order(before)
        assert early == whole, f"came out before the pause: {early}, and it is {whole}"
        found = found + state.plan.rest()
    assert in_order(found) == in_order(wanted), f"came out: {found}, and it is {wanted}"
