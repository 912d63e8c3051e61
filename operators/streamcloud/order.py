"""The total order of the tuples of each stream of a query, by order keys.

A tuple carries an order key through the query, and all merging, comparing and writing goes by it:
never by the sender of a tuple, since the number of senders depends on the instances. A key is a
row of words, compared from the left. Words are integers; the text of a group is a code that
ascends as the texts do.

==========================  =========================================================
stream                      words of a key
==========================  =========================================================
input                       ts, source (physical streams are counted through all
                            inputs of the query), position in that stream
map, filter                 that of the tuple; of a map that sets a time: the new ts,
                            then that of the tuple
union                       ts, number of the input, the rest of that tuple's key
join, product               ts, side of the later tuple (0 left, 1 right), the rest of
                            the later key, the whole earlier key; with the smaller
                            time: that time, then this
aggregate                   start of the window, the columns of the group; where
                            windows are of count: the key of the tuple that filled it
==========================  =========================================================

Where several inputs meet, in a union or a join, the number of the input decides directly behind the
time. So keys of different kinds are never compared further, two tuples never have one key, even if
one stream comes in by two routes, and a union of unions is in order as one union is.

Of the two tuples of a pair the *later* one, in the order of both sides together, comes first: that
is the order in which one instance puts pairs out, so that later output is behind the tuple taken
last.
"""

from __future__ import annotations

from operators.streamcloud.algebra import (
    SMALLER,
    Aggregate,
    CountWindow,
    Input,
    Map,
    Node,
    Output,
    Product,
    Union,
)

# ts, source, position.
INPUT_WORDS = 3


def key_width(output: Output) -> int:
    """Return the number of words of an output's order keys; of a union, the maximum.

    Examples
    --------
    >>> from operators.streamcloud.algebra import Input, Map
    >>> calls = Input("calls", {"duration": "int64"})
    >>> key_width(Output(Map("minutes", calls, {"minutes": "duration // 60"})))
    3
    """
    return _width(output.node, {})


def _width(node: Node, known: dict[Node, int]) -> int:
    """Return the words of the keys behind an operator; `known` caches the results."""
    if node not in known:
        widths = [_width(taken.node, known) for taken in node.inputs]
        if isinstance(node, Input):
            known[node] = INPUT_WORDS
        elif isinstance(node, Aggregate) and not isinstance(node.window, CountWindow):
            known[node] = 1 + len(node.group_by)
        elif isinstance(node, Product):
            known[node] = sum(widths) + 1 + (node.time == SMALLER)
        elif isinstance(node, Union):
            known[node] = max(widths) + 1
        else:
            known[node] = widths[0] + (isinstance(node, Map) and node.sets_time)
    return known[node]
