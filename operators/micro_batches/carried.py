"""The common part of our carriers: a plan of the query, as a job on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operators.contract import Look, Parameter, Shown
from operators.micro_batches.family import Ran, Work
from operators.streamcloud.algebra import Query
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.plan import STRATEGIES, SUBQUERY_CLUSTER, TRANSPARENT, Plan

if TYPE_CHECKING:
    from operators.streamcloud.carriers.spark.job import Job

MOST_INSTANCES = 64
PARAMETERS = (
    Parameter("instances", 2, 1, MOST_INSTANCES, "", "of each stage of the plan"),
    Parameter("strategy", SUBQUERY_CLUSTER, meaning="how the query is cut", choices=STRATEGIES),
)
THREADS = {
    "source task": "one a file, as many at once as there are cores",
    "level task": "one an instance of the stages that run together",
}


def refuses_none(query: Query) -> None:
    """Return None: every query is accepted."""


def plan_of(query: Query, strategy: str, instances: int) -> Plan:
    """Return the plan of a query whose inputs are one stream each."""
    streams = {node.name: 1 for node in query.inputs}
    return compile_query(query, strategy, instances, TRANSPARENT, streams)


def job_of(work: Work) -> Job:
    """Return the job that a carrier runs."""
    # Imported late: listing the variants need not load Arrow.
    from operators.streamcloud.carriers.spark.job import Job

    plan = plan_of(work.query, work.parameters["strategy"], work.parameters["instances"])
    files = work.files * len(work.query.inputs)
    return Job(plan, work.coding, work.chunks, work.folder, files, work.around)


def left_by(job: Job, progress: tuple = ()) -> Ran:
    """Return the outcome of a job."""
    from operators.streamcloud.carriers.spark.export import export

    return Ran(lambda: export(job).outputs, in_order=True, progress=progress)


def cut_by(form: str, *looks: Look) -> tuple[Shown, ...]:
    """Return how figures show the query of figure 8, cut by each of the strategies."""
    return tuple(
        Shown(
            f"query=eight-operators,strategy={strategy}",
            f"{strategy.capitalize()}, {form}",
            look,
            {},
        )
        for strategy, look in zip(STRATEGIES, looks, strict=True)
    )


def relayed(strategy: str, title: str, look: Look) -> Shown:
    """Return how figures show three maps in a row, cut by a strategy: for the cost of a hop."""
    return Shown(f"query=relay,strategy={strategy}", title, look, {})
