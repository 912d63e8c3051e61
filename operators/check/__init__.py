"""The proving ground: a model checker that runs the production source under a scheduler.

Every shared access goes through ``operators.core.atomics``, so the source that numba compiles also
runs as plain Python on a software machine: `machine.Machine`. Before each atomic the machine
decides which thread goes on; it tracks happens-before, and can delay the arrival of stores, or let
loads read old ones.

========================  ==========================================================================
``shared_memory``         shared arrays: each plain access is compared with the vector clocks
``clocks``                vector clocks, and the edges of happens-before
``machine``               threads, atomics, locks; sequentially consistent
``buffers``               the same with store buffers (TSO, PSO)
``weak_memory``           the same with loads of old stores (RC11); ``sequential_order`` for SEQ_CST
``draws``                 outcomes that no order of steps decides: which store arrives, or is read
``schedules``             which thread runs when: a recorded schedule, priorities, turns; strings
``explore``               every schedule up to a number of preemptions
``dpor``                  the next schedule: bounded partial-order reduction
``pct``                   random schedules: with a stated chance to find a bug, and random walks
``shorten``               a failing random schedule, reduced to the switches that it takes
``endless``               loops that take no step; ``apart`` for what runs without a machine
``progress``              the graph of states: which threads progress when others are stopped
``judge``                 the conditions on a run; ``linearizability`` for the answers
``scenario``              the checked programs: a few threads on one structure
``pairwise``              programs from a table of dimensions: every pair of values occurs
``mutants``               faults that the checks must find, chosen by hand
``automatic``             faults drawn at random from the syntax trees
``reached``               which programs run a function that was changed
``commuting``             statements that it is no fault to swap
``orders``                each memory order weakened, alone and all together
``replaced``              the checks of a changed source, in a separate process
``families``              finds scenarios and mutants in ``operators/<family>/check``
``suite``                 all checks of one variant; ``python -m operators.check`` is the command
========================  ==========================================================================

A result holds for the checked programs, capacities and bounds, and for no others: it is not a
proof. This package names no family; in ``operators``, nothing imports it but those folders.
"""
