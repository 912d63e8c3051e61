"""A plan as text: the stages by number, with their inputs, operators and channels.

Two forms of one plan. *Fused*, as a carrier runs it: mergers and balancers are parts of a stage::

    S1 known x 2, processors 0-1
        calls x 1 => known.left      by hash of caller, 2 channels
        suspects x 1 => known.right  by hash of number, 2 channels
        known                        join on caller = number, at most 60 apart: end = left.end

reads: stage 1 is called known and has two instances; the one stream of calls enters it as the left
side of known. And with *standard* operators only (`operators.streamcloud.standard`).
``explain_steps`` has the plan behind each pass of the compiler, ``explain_places`` the processors
of the instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from operators.contract import UsageError
from operators.streamcloud.deployer import Deployment
from operators.streamcloud.describe import described, numbered, split_by, taken_by, titled
from operators.streamcloud.plan import BETWEEN, IN, OUT, Channels, Plan, Stage
from operators.streamcloud.schema import did_you_mean, listed
from operators.streamcloud.standard import standard_operators

FUSED, STANDARD = FORMS = ("fused", "standard")

_INDENT = "    "


class _Line(NamedTuple):
    """One line of a block: a subject, and the text about it."""

    subject: str
    text: str


_Blocks = dict[str, list[_Line]]


def explain(plan: Plan, form: str = FUSED) -> str:
    """Return a plan as text.

    Parameters
    ----------
    plan : Plan
    form : str
        One of ``FORMS``.

    Raises
    ------
    UsageError
        When the form is unknown.
    """
    if form not in FORMS:
        raise UsageError(f'no form "{form}" of a plan ({listed(FORMS)}){did_you_mean(form, FORMS)}')
    blocks = _fused(plan) if form == FUSED else _standard(plan)
    title = (
        f"{plan.query.name}: {plan.strategy}, {plan.merger} mergers,"
        f" {_number(len(plan.stages), 'stage')} on {_number(len(plan.processors), 'processor')}"
    )
    totals = (
        f"hops {plan.hops()}; channels {plan.channels_count(BETWEEN):,} between stages,"
        f" {plan.channels_count(IN):,} in, {plan.channels_count(OUT):,} out; one processor sends"
        f" into {plan.fan_out():,} at the most"
    )
    return "\n".join([title, "", *_aligned(blocks), "", totals, ""])


def explain_steps(steps: Iterable[tuple[str, Plan]]) -> str:
    """Return the plan behind each pass of the compiler, or "unchanged".

    Parameters
    ----------
    steps : iterable of (str, Plan)
        As ``compile_steps`` returns them.
    """
    found, before = [], ""
    for number, (name, plan) in enumerate(steps, start=1):
        text = explain(plan)
        found.append(f"-- {number} {name}\n" + ("unchanged\n" if text == before else text))
        before = text
    return "\n".join(found)


def explain_places(deployment: Deployment) -> str:
    """Return the instances on each processor of a descriptor.

    Parameters
    ----------
    deployment : Deployment
        As ``deploy`` returns it.
    """
    runs = [
        (str(place), ", ".join(f"{stage} {number}" for stage, number in instances))
        for place, instances in zip(deployment.places, deployment.plan.processors, strict=True)
    ]
    runs += [(str(place), "idle") for place in deployment.idle]
    width = max(len(place) for place, _ in runs)
    return "".join(f"{place:<{width}}  {instances}\n" for place, instances in runs)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _aligned(blocks: _Blocks) -> Iterator[str]:
    width = max(len(line.subject) for lines in blocks.values() for line in lines)
    for title, lines in blocks.items():
        yield title
        for line in lines:
            yield f"{_INDENT}{line.subject:<{width}}  {line.text}"


def _fused(plan: Plan) -> _Blocks:
    """Return the lines of each stage and of the outputs."""
    blocks = {titled(plan, stage): list(_stage(plan, stage)) for stage in plan.stages}
    blocks["outputs"] = [
        _Line(f"{_sender(plan, each)} => {each.receiver}", _number(each.count, "channel"))
        for each in plan.channels
        if each.kind == OUT
    ]
    return blocks


def _stage(plan: Plan, stage: Stage) -> Iterator[_Line]:
    for each in plan.channels_into(stage.name):
        yield _Line(
            f"{_sender(plan, each)} => {taken_by(stage.mergers[each.side])}",
            f"{split_by(each.partition, each.receivers)}, {_number(each.count, 'channel')}",
        )
    for node in stage.nodes:
        yield _Line(node.name, described(node))
    for node in stage.filters:
        yield _Line(f"balancer {node.name}", described(node))


def _sender(plan: Plan, channels: Channels) -> str:
    stage = numbered(plan).get(channels.feed.sender)
    name = channels.feed.output.name
    return f"{f'{stage} {name}' if stage else name} x {channels.senders}"


def _standard(plan: Plan) -> _Blocks:
    """Return the lines of each group of standard operators."""
    return {
        title: [_Line(f"{each.kind} {each.name}", each.text) for each in operators]
        for title, operators in standard_operators(plan).items()
    }
