"""The numba core, and the conventions every structure in ``operators`` follows.

*State.* One NamedTuple of int64 arrays, made by a plain Python ``make_...`` function that checks
each parameter and is the only place that allocates. Fields are grouped by who writes them; the
comment on a field says its shape, who writes, who reads, and the invariant it carries.

*Indices are the pointers.* A node is a slice of an array; "null" is a negative index.

*Layout.* A word that one thread writes while another reads it often stands on a cache line of its
own (``layout.LINE_WORDS`` apart). Words that only their owner touches are packed together.

*Shared words* are reached through ``atomics`` and nothing else, and each call spells its order. A
sentence above it says what it keeps before what, and which function it pairs with. One kind of word
is shared and plain: a field that its owner fills before an atomic publishes it, and that nobody
changes while it can be reached (a node's timestamp, a ring's record). It is read only behind a load
that acquires the publication.

*Operations* are ``@inlined`` plain functions that allocate nothing, raise nothing and never wait:
they answer with a status of ``operators.contract``. Drivers wait, with ``backoff.wait_a_little``.

*Slow paths* are functions of their own. Rare branches carry a ``mark``.

*Integers* are int64. What is meant to wrap goes through ``integers``.
"""
