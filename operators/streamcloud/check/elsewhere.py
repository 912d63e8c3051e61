"""Modules of StreamCloud that no thread of a program runs, and why the ordinary tests judge them.

A plan is read, planned and generated before its threads begin. A step's result depends only on the
rows so far, and the programs make each step once and look it up afterwards
(`operators.streamcloud.check.programs`): no word of a kernel is a step of the machine.
"""

_READING = "reads and checks a query before there are threads"
_PLANNING = "makes a plan before there are threads"
_STEPPING = "is the inside of a step, which has no word that another thread sees"


def _all(reason: str, modules: str) -> dict[str, str]:
    return {f"operators.streamcloud.{module}": reason for module in modules.split()}


ELSEWHERE = {
    **_all(
        _READING,
        "arithmetic coding exact expressions faults queries schema terms windows yaml_form",
    ),
    **_all(
        _PLANNING,
        "algebra branchless compiler generated kernel_text optimizations order partition plan"
        " subqueries",
    ),
    **_all(
        _STEPPING,
        "kernels.accumulators kernels.aggregate kernels.arguments kernels.equijoin kernels.members"
        " kernels.merging kernels.moving kernels.operator kernels.pairing kernels.panes"
        " kernels.probing kernels.product kernels.reorder kernels.stateless kernels.stores saved",
    ),
    "operators.streamcloud.carriers.threads run": (
        "starts threads of the system; tests/operators/streamcloud/test_carriers.py"
    ),
    "operators.streamcloud.carriers.threads body_of": (
        "by it the crew knows that a run has ended; tests/operators/streamcloud/test_carriers.py"
    ),
    **{
        f"operators.streamcloud.rows {function}": (
            "packs what goes to another process; tests/operators/streamcloud/test_rows.py"
        )
        for function in ("pack", "pack_arrays", "pieces", "unpack", "unpack_arrays")
    },
    "operators.streamcloud.parts take_back": (
        "takes back what an instance did in another process;"
        " tests/operators/streamcloud/test_processes.py"
    ),
}
