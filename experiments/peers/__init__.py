"""Peers: what users would take instead of Millrace, measured on the same work and checked alike.

A peer is an engine that this project does not write: a database in the process, a data frame, a
cluster's batch job. Peers are measured only when a run names them (``make figures
PEERS=duckdb,polars``), and nothing else needs one::

    rows of a dataset --+--> [operators: threads in compiled loops]     one tuple after the other
                        |
                        +--> memory of a peer's process --> [a query]   all tuples at once
                                                                |
                     the oracle of the operators' family  <-----+       every run's output

==================  ================================================================================
``engines/<id>``    one module a peer, ending with ``PEER``: a new peer is one new file
``queries``         the works in SQL for every database, and for data frames
``works/<work>``    the input of a kind of work as tables, and the comparison with the oracle
``catalog``         finds peers by name, and says how to get one that is not installed
``process``         a peer's process, as its parent sees it; ``worker`` is that process
``measure``         operators and peers in turns, one repetition a process
``rows``            what is recorded of a run
==================  ================================================================================

A paper that has peers declares what they do in ``experiments/<paper>/peers.py``, which ends with
``COMPARISONS``.

A peer computes a *batch over recorded input*: all of the input lies in its memory, in its own form,
before the clock starts, and its process has done the same work before. The rate is that of the
whole input over the time of one query, up to the whole output in the peer's memory. An operator
takes the same tuples one by one and gives each result out as soon as the stream allows it. So a
figure names the two kinds of rate apart: a batch has no latency, and a stream has no recorded end.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
