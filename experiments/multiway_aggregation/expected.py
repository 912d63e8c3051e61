"""The throughput expected from the durations of the threads' operations, as in section 7.3.

The input threads run in parallel, the output thread alone, and the slower side is the bottleneck.
On a machine with fewer cores than threads all of them share the cores: the processor time of a
tuple, on both sides together, is then another bound, which the paper's machine did not have.
"""

from __future__ import annotations


def expected_tps(input_ns: float, output_ns: float, inputs: int, cores: int) -> float:
    """Return the expected throughput, tuples/s of all inputs together.

    Parameters
    ----------
    input_ns : float
        Processor time of an input thread's operation per tuple, ns.
    output_ns : float
        Processor time of the output thread's operations per input tuple, ns.
    inputs : int
        Input threads.
    cores : int
        Cores of the machine.

    Examples
    --------
    With a core for every thread the output thread is the bottleneck; on one core the sum counts:

    >>> expected_tps(200.0, 500.0, inputs=20, cores=24)
    2000000.0
    >>> expected_tps(400.0, 600.0, inputs=20, cores=1)
    1000000.0
    """
    bounds = [inputs / input_ns, 1.0 / output_ns]
    if inputs + 1 > cores:
        bounds.append(cores / (input_ns + output_ns))
    return 1e9 * min(bounds)
