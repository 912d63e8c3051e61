"""What carries rows between the instances of a plan, and keeps what these remember.

An instance is one step, ``(state, rows) -> (state', rows)``, and the same object on every carrier.
A carrier decides when an instance steps and with which of the rows that are there for it, and
nothing else: by the contract of a row (`operators.streamcloud.rows`) no bit of the output depends
on that, as long as mergers are transparent.

=============  =====================================================================================
``serial``     one thread, stage after stage; the caller says which rows come together
``threads``    a thread an instance; channels are bounded rings, and a full one pushes back
``processes``  the same in several processes; between them, rows over one connection each
=============  =====================================================================================

All run the same `operators.streamcloud.parts`.
"""
