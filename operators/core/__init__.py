"""The numba core, and the conventions every structure in ``operators`` follows.

*State.* One NamedTuple of arrays and sizes, made by a plain Python ``make_...`` function, which
checks each parameter and is the only function that allocates. Fields are grouped by their writers;
the comment on a field says the shape, who writes, who reads, and the invariant it carries.

*Indices are the pointers.* A node is a slice of an array; "null" is a negative index.

*Layout.* A word that one thread writes while another reads it often is on a separate cache line
(``layout.LINE_WORDS`` apart), against false sharing. Words private to a thread are packed together.

*Shared words* are reached through ``atomics`` only, and each call spells the memory order. A
sentence above it says which accesses it keeps before which, and which function it pairs with. One
kind of word is shared and plain: a field that the owner fills before an atomic publishes it, and
that no thread changes while it can be reached (a node's timestamp, a ring's record). It is read
only behind a load that acquires the publication.

*Operations* are ``@inlined`` plain functions that allocate nothing and raise nothing: they answer
with a status of ``operators.contract``. They do not wait for another thread: drivers do, with
``backoff.wait_a_little``. The one exception is a lock, the subject of MQ and the like.

*Slow paths* are separate functions. Rare branches carry a ``mark``.

*Integers* are int64, shared words always. Values that are only stored may be narrower, and are
widened when read. Arithmetic that is meant to wrap uses ``integers``.
"""
