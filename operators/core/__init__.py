"""The numba core, and the conventions every structure in ``operators`` follows.

*State.* One NamedTuple of arrays and sizes, made by a plain Python ``make_...`` function, which
checks each parameter and is the only place that allocates. Fields are grouped by who writes them;
the comment on a field says its shape, who writes, who reads, and the invariant it carries.

*Indices are the pointers.* A node is a slice of an array; "null" is a negative index.

*Layout.* A word that one thread writes while another reads it often stands on a cache line of its
own (``layout.LINE_WORDS`` apart). Words that only their owner touches are packed together.

*Shared words* are reached through ``atomics`` and nothing else, and each call spells its order. A
sentence above it says what it keeps before what, and which function it pairs with. One kind of word
is shared and plain: a field that its owner fills before an atomic publishes it, and that nobody
changes while it can be reached (a node's timestamp, a ring's record). It is read only behind a load
that acquires the publication.

*Operations* are ``@inlined`` plain functions that allocate nothing and raise nothing: they answer
with a status of ``operators.contract``. They do not wait for what another thread may bring: drivers
do, with ``backoff.wait_a_little``. The one exception is a lock, which MQ and its like are about.

*Slow paths* are functions of their own. Rare branches carry a ``mark``.

*Integers* are int64, shared words always. What is only stored may be narrower, and is widened when
it is read. What is meant to wrap goes through ``integers``.
"""
