"""The plan to run: instances by measured costs, and the plan as text."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.replay.streamcloud.request import Request
from operators.streamcloud.compiler import compile_steps
from operators.streamcloud.deployer import deploy
from operators.streamcloud.explain import STANDARD, explain, explain_places, explain_steps
from operators.streamcloud.plan import Plan

if TYPE_CHECKING:
    from operators.streamcloud.coding import Coding


def plan_of(request: Request, streams: Mapping[str, Sequence[np.ndarray]], coding: Coding) -> Plan:
    """Return the plan to run; if processors are shared out, report on stderr how and why.

    Raises
    ------
    UsageError
        When there are too few processors, or an expression fails while costs are measured.
    """
    if request.processors is None:
        return request.plan
    # Loads the compiler.
    from operators.streamcloud.costs import on_processors

    plan, costs, assignment = on_processors(request.plan, request.processors, streams, coding)
    if request.places:
        deploy(plan, request.places)
    for stage in plan.stages:
        name = stage.name
        print(
            f"millrace: {name} x {stage.instances}: {costs.seconds[name] * 1e9:,.0f} ns a tuple, of"
            f" which {costs.tuples[name]:.3g} come for each tuple of the inputs",
            file=sys.stderr,
        )
    print(
        f"millrace: measured over {costs.sample:,} tuples; of {request.processors} processors"
        f" {assignment.idle:.0%} wait for the slowest stage",
        file=sys.stderr,
    )
    return plan


def explained(request: Request) -> str:
    """Return the plan as text: after each pass, with standard operators, and with processors.

    Raises
    ------
    UsageError
        As of ``plan_of``, and when a file used to measure costs is unusable.
    """
    plan = request.plan
    if request.processors is not None:
        from experiments.replay.streamcloud.reading import read_inputs
        from operators.streamcloud.coding import encode_inputs

        streams, coding = encode_inputs(plan.query, read_inputs(request).inputs)
        plan = plan_of(request, streams, coding)
    instances = {stage.name: stage.instances for stage in plan.stages}
    steps = compile_steps(plan.query, plan.strategy, instances, plan.merger, plan.streams)
    text = [explain_steps(steps), f"-- with standard operators only\n{explain(plan, STANDARD)}"]
    if request.places:
        text.append(f"-- processors\n{explain_places(deploy(plan, request.places))}")
    return "\n".join(text)
