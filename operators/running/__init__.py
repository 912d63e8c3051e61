"""What runs operators: threads that enter compiled kernels, and the Spark session.

Nothing here knows a family. An operator is a state and ``@inlined`` operations that answer with a
status of `operators.contract` and never wait; what is here turns them into threads and decides how
these wait. To run an operator on threads takes three steps::

    loops:    make_input_loop(add, close)      offers the tuples of a stream
              make_steps_loop(process)         takes steps until the END
              make_driver(turn, ...)           the same loop, where a thread keeps or leaves more
    threads:  Role("input 0", loop, arguments), one a thread
    a run:    crew.run(roles, ...)             an Outcome: times, progress, what threads noted

A way to run that has no threads, as a batch job, takes the operations themselves, or a loop of
``make_visit``: `tests/operators/running/toys` has both kinds, each in a folder of its own.

==================  ================================================================================
``control``         the words that the threads of a run share: start, stop, progress, failures
``drivers``         the loops that threads run: one maker for all, and that of input threads
``schedule``        when tuples are due: at once, at a rate, or at given times
``crew``            starts the threads of a run, watches them, and ends them whatever happens
``handover``        passes what comes out to Python while the threads run
``library``         what the families' functions over arrays share
``pinning``         how many cores there are, and binding threads to them
``interrupts``      keeps a Ctrl-C that falls into the compiler
``calibration``     what a unit of work and a reading of the clock take on this machine
``spark_session``   starts Spark, on the ``java`` that there is or that the set-up brings
==================  ================================================================================
"""
