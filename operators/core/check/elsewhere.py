"""Modules and functions that no thread of a program runs: the ordinary tests judge them."""

_COMPILING = "compiles a kernel, or finds it again; programs run interpreted"
_FINDING = "finds and describes what there is, before there are threads"
_MAKING = "makes arrays before there are threads"
_WATCHING = "counts marks and asserts in interpreted runs: a part of the checks"
_READING = (
    "is about whole histograms, before or after a run; tests/operators/core/test_histogram.py"
)
_MACHINE_CODE = "does nothing interpreted, or the same by other means"

ELSEWHERE = {
    **{
        f"operators.core.{module}": _COMPILING
        for module in ("c_library", "inside_numba.lowering", "jit", "kernel_keys", "sources")
    },
    **{
        f"operators.core.{module}": _MACHINE_CODE
        for module in ("chosen_lanes", "noise", "prefetch", "user_functions")
    },
    **{
        f"operators.core.histogram {function}": _READING
        for function in ("count", "forget", "largest", "last_value_of", "mean", "merge", "smallest")
    },
    "operators.core.vectors _element": _COMPILING,
    "operators.core.layout": _MAKING,
    "operators.core.marks": _WATCHING,
    "operators.contract": _FINDING,
    "operators.declaring": _FINDING,
    "operators.registry": _FINDING,
}
