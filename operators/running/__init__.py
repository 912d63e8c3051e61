"""What runs operators: threads that call compiled kernels, and the Spark session.

Nothing here knows a family. ``control`` has the words that the threads of a run share, ``crew``
starts the threads and watches them, ``drivers`` makes their loops, ``handover`` passes what comes
out to the caller while they run; ``library`` has what the families' functions over arrays share;
``pinning`` binds threads to cores, ``interrupts`` turns signals into the end of a run,
``calibration`` says how long a unit of work takes. ``spark_session`` starts Spark, on the ``java``
that there is or that the set-up brings.
"""
