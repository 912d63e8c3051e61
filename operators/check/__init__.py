"""The proving ground: the production source of the structures, run under a scheduler of our own.

Every shared access goes through ``operators.core.atomics``, so the source that numba compiles also
runs as plain Python on a machine that is a program: `machine.Machine`. It decides before each
atomic which thread goes on, knows what happened before what, and keeps stores from arriving.

========================  ==========================================================================
``words``                 shared arrays: each plain access is compared with the vector clocks
``machine``               threads, atomics, locks; sequentially consistent
``buffers``               the same with store buffers (TSO, PSO)
``plans``                 who runs when: a recorded schedule, priorities, turns; schedule strings
``explore``               every schedule up to a number of preemptions
``path``                  which one comes next: bounded partial-order reduction
``pct``                   random schedules with a stated chance to find a bug
``progress``              the graph of states: who still gets on when others are stopped
``judge``                 what a run must satisfy; ``linearizability`` for its answers
``scenario``              what is checked: a small program of threads on one structure
``mutants``               faults that the checks must find
``families``              where scenarios and mutants are: in ``operators/<family>/check``
``suite``                 all of it for one variant; ``python -m operators.check`` is the command
========================  ==========================================================================

What is checked holds for these programs, these capacities and these bounds, and for no others: a
proof it is not. This package names no family, and nothing in ``operators`` imports it but those
folders.
"""
