"""An instance of a stage: mergers, operators and balancer as one step.

::

    rows --> mergers --> operators, one after the other --> balancer --> rows
                W              all times below W

``step`` is all of it: ``(state, rows) -> (state', rows)``. The output depends on the rows that came
in and on nothing else: on no clock, on no task, not on the batching of rows into steps. Carriers
(`operators.streamcloud.carriers`) move the rows and keep the state (``save``, ``load``), and do
nothing else.

The watermark W is the least progress of all senders. All operators of a stage work on the times
below it, once each, in order; each reports the time up to which the output is complete. That is on
another clock if the operator puts out other times than those it works on (`plan.clocks`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from operators.streamcloud.algebra import Node, Output
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.kernels import Operator, operator_of
from operators.streamcloud.merger import Given, Transparent, merger_of
from operators.streamcloud.plan import TRANSPARENT, Plan
from operators.streamcloud.rows import END, Row, empty_batch, joined, words_of
from operators.streamcloud.saved import Log, Saved, pack_saved, unpack_saved


@dataclass
class Work:
    """The work of an instance so far: for figures, as far as it does not depend on the machine.

    Attributes
    ----------
    steps, rows_in, rows_out : int
    tuples_in, tuples_out : int
        A tuple that goes to several instances counts for each.
    bytes_out : int
        Of the rows that were sent, with their heads.
    comparisons : int
        Pairs of tuples that joins and products compared.
    late : int
        Tuples that best effort lost because one of their windows had ended.
    """

    steps: int = 0
    rows_in: int = 0
    rows_out: int = 0
    tuples_in: int = 0
    tuples_out: int = 0
    bytes_out: int = 0
    comparisons: int = 0
    late: int = 0

    def __add__(self, other: Work) -> Work:
        """Return the work of both."""
        return Work(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Work)))


class Instance:
    """One instance of a stage.

    Parameters
    ----------
    plan : Plan
    stage : str
        The name of one of the plan's stages.
    number : int
        The number of the instance in the stage.
    codes : mapping of str to int
        Of all texts: those in columns, and those in expressions.

    Attributes
    ----------
    merger : Transparent
        Of all sides; or `BestEffort`.
    operators : list of (Node, Operator)
        In the order of the stage.
    balancer : Balancer

    Raises
    ------
    UsageError
        When a kernel cannot take a function of the user.
    """

    def __init__(
        self, plan: Plan, stage: str, number: int, codes: Mapping[str, int] | None = None
    ) -> None:
        self.plan, self.stage, self.number = plan, plan.stage(stage), number
        self._codes = dict(codes or {})
        self.merger = merger_of(
            plan,
            [merger.feeds for merger in self.stage.mergers],
            whole=any(len(node.inputs) > 1 for node in self.stage.operators),
        )
        self.operators: list[tuple[Node, Operator]] = [
            (node, operator_of(node, self._codes, plan.merger == TRANSPARENT))
            for node in self.stage.operators
        ]
        self.balancer = Balancer(plan, stage, number)
        self._progress: dict[Output, int] = dict.fromkeys(self._sent(), 0)
        self._words = {output: words_of(output) for output in self._progress}
        self._wiring, self._leaving = self._wired()
        self._steps = self._rows_in = self._tuples_in = 0

    def step(self, rows: Sequence[Row]) -> list[list[Row]]:
        """Take rows, and return the rows that are sent because of them.

        Parameters
        ----------
        rows : sequence of Row
            For this instance, of any senders. Under best effort their order matters.

        Returns
        -------
        list of list of Row
            As of `balancer.Balancer.send`.

        Raises
        ------
        UsageError
            When an expression fails: operator, tuple and cause.
        """
        sent: dict[Output, list[np.ndarray]] = {output: [] for output in self._progress}
        for given in self.merger.take(rows):
            self.work_on(given, sent)
        self._steps += 1
        self._rows_in += len(rows)
        self._tuples_in += sum(row.batch.shape[1] for row in rows)
        whole = {output: joined(found, self._words[output]) for output, found in sent.items()}
        return self.balancer.send(whole, self._progress)

    def _wired(self) -> tuple[list[tuple[Operator, list[int]]], list[tuple[Output, int]]]:
        """Return the batches that each operator takes, and those that leave the instance.

        Batches are numbered: those of the sides, then the outputs of each operator in turn.
        """
        brought = {
            taker: side for side, merger in enumerate(self.stage.mergers) for taker in merger.takers
        }
        places: dict[Output, int] = {}
        count, wiring = len(self.stage.mergers), []
        for node, operator in self.operators:
            taken = [
                brought[node, number] if (node, number) in brought else places[output]
                for number, output in enumerate(node.inputs)
            ]
            wiring.append((operator, taken))
            places.update(zip(node.outputs, range(count, count + len(node.outputs)), strict=True))
            count += len(node.outputs)
        return wiring, [(output, places[output]) for output in self._progress]

    def _sent(self) -> list[Output]:
        channels = self.plan.channels_from(self.stage.name)
        return list(dict.fromkeys(each.feed.output for each in channels))

    def work_on(self, given: Given, sent: dict[Output, list[np.ndarray]]) -> None:
        """Let each operator work on the times below a floor, and add what leaves to `sent`."""
        batches = list(given.batches)
        floors = [given.floor] * len(batches)
        for operator, taken in self._wiring:
            # All inputs of an operator are on one clock.
            floor = min([floors[place] for place in taken])
            outputs, own = operator.process([batches[place] for place in taken], floor)
            batches += outputs
            floors += [own] * len(outputs)
        for output, place in self._leaving:
            sent[output].append(batches[place])
            # Under best effort a later time may come first: a promise is never withdrawn.
            self._progress[output] = max(self._progress[output], floors[place])

    @property
    def progress(self) -> dict[Output, int]:
        """The last promises: later tuples of an output have a time of at least this."""
        return dict(self._progress)

    @progress.setter
    def progress(self, promised: Mapping[Output, int]) -> None:
        self._progress = {output: promised[output] for output in self._progress}

    @property
    def closed(self) -> bool:
        """Whether ``END`` has been promised on all outputs."""
        return all(progress == END for progress in self._progress.values())

    @property
    def work(self) -> Work:
        """The work since construction; work before a load does not count."""
        operators = [operator for _, operator in self.operators]
        return Work(
            steps=self._steps,
            rows_in=self._rows_in,
            tuples_in=self._tuples_in,
            rows_out=self.balancer.rows,
            tuples_out=self.balancer.tuples,
            bytes_out=self.balancer.bytes,
            comparisons=sum(each.comparisons for each in operators),
            late=sum(each.late for each in operators),
        )

    def save(self) -> bytes:
        """Return the state as bytes, equal for equal states however they came about."""
        return pack_saved(self.saved())

    def saved(self) -> list[np.ndarray | Log]:
        """Return the state, parts of it as views, which are valid until the next step."""
        found: list[np.ndarray | Log] = [np.array(list(self._progress.values()), dtype=np.int64)]
        for part in self._keeping():
            saved = part.save()
            found += [np.array([len(saved)], dtype=np.int64), *saved]
        return found

    def load(self, state: bytes) -> None:
        """Continue from a state that an instance of the same plan, stage and number has saved."""
        self.restore(unpack_saved(state))

    def restore(self, saved: Saved) -> None:
        """Continue from a state in parts, whose arrays the instance takes over."""
        progress, *rest = saved
        self._progress = dict(zip(self._progress, progress.tolist(), strict=True))
        for part in self._keeping():
            (count,), *rest = rest
            part.load(rest[:count])
            rest = rest[count:]

    def _keeping(self) -> list[Transparent | Balancer | Operator]:
        """Return the parts that have a state."""
        return [self.merger, self.balancer, *(operator for _, operator in self.operators)]

    def compile(self) -> None:
        """Compile all kernels, on a copy that is thrown away."""
        other = Instance(self.plan, self.stage.name, self.number, self._codes)
        other.merger.compile()
        for node, operator in other.operators:
            operator.process([empty_batch(words_of(each)) for each in node.inputs], END)
        other.balancer.compile()
        other.load(other.save())
