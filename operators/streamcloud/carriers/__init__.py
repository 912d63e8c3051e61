"""Carriers: they move rows between the instances of a plan, and keep the instances' state.

An instance is one step, ``(state, rows) -> (state', rows)``, and the same object on every carrier.
A carrier decides when an instance steps and with which of the waiting rows, and nothing else: by
the contract of a row (`operators.streamcloud.rows`) no bit of the output depends on that, as long
as mergers are transparent.

=============  =====================================================================================
``serial``     one thread, stage after stage; the caller groups rows into steps
``threads``    a thread an instance; channels are bounded queues, and a full one is backpressure
``processes``  the same in several processes; between two of them, rows over one connection
``spark``      Spark, which moves the rows and repeats lost work (`carriers.spark`)
=============  =====================================================================================

The first three run the same `operators.streamcloud.parts`.
"""
