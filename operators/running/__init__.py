"""Runs operators: on threads that enter compiled kernels, and in a Spark session.

Nothing here depends on a family. An operator is a state and ``@inlined`` operations, which return a
status of `operators.contract` and never wait; this package calls them from threads and decides how
the threads wait. Running an operator on threads takes three steps::

    loops:    make_input_loop(add, close)      offers the tuples of a stream
              make_steps_loop(process)         takes steps until the END
              make_driver(turn, ...)           the same loop, for threads with more state or results
    threads:  Role("input 0", loop, arguments), one per thread
    a run:    run_threads.run(roles, ...)      an Outcome: times, progress, records of the threads

A runner without threads, such as a batch job, calls the operations directly, or a loop from
``make_visit``: `tests/operators/running/toys` has one of each kind, each in a separate folder.

==================  ================================================================================
``control``         the shared words of a run's threads: start, stop, progress, failures
``drivers``         the loops of threads: one factory for all, and one for input threads
``schedule``        due times of tuples: at once, at a rate, or at given times
``run_threads``            starts the threads of a run, watches them, and ends them in every case
``handover``        passes output to Python while the threads run
``library``         shared parts of the families' functions over arrays
``pinning``         the number of cores, and binding threads to cores
``interrupts``      keeps a Ctrl-C during compilation; treats SIGTERM and SIGHUP as Ctrl-C
``whole``           atomic replacement of files
``outputs``         outputs that appear atomically, each written by one run at a time
``calibration``     time of a unit of work and of a clock reading on this machine
``spark_session``   starts Spark, on the installed or the packaged ``java``
``spark_settings``  settings of Spark, each with the reason
``spark_errors``    known failures of Spark, with remedies
``spark_executors`` waits for a cluster's executors, and detects their loss
``spark_paths``     paths in the form that Spark expects
``cluster``         a Spark cluster on this machine; ``standing_cluster`` is one that stays
``pack``            code and kernels as an archive for remote executors
==================  ================================================================================
"""
