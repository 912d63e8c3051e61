"""Put together the state of a stage's instances, and split it over another number of them.

::

    instance 0   a c d               whole               instance 0   a
    instance 1   b e      -->      a b c d e     -->     instance 1   b d
                                                         instance 2   c e

The tuples of one side, or of one operator, are put together in the total order, each once: in a
grid the instances of a row have the same ones. They are split as the balancers before the stage
will split later tuples, so that tuples that have to meet are on one instance. Of an aggregate,
panes or groups are split instead of tuples.

If several operators of a stage keep tuples, all of them are split by the values that were hashed
before the stage. The columns that carry these values are known: they are the reason why the
operators are one stage (`operators.streamcloud.optimizations.carriers_in`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from operators.streamcloud.algebra import SMALLER, Aggregate, Join, Map, Node, Output, Product
from operators.streamcloud.kernels.aggregate import in_runs, panes_of
from operators.streamcloud.kernels.moving import choose
from operators.streamcloud.kernels.operator import Operator
from operators.streamcloud.optimizations import carriers_in
from operators.streamcloud.order import key_width
from operators.streamcloud.partition import LEFT, Grid, Hash, Partition, RoundRobin
from operators.streamcloud.plan import Stage
from operators.streamcloud.rows import as_batch, joined
from operators.streamcloud.saved import Log, Saved
from operators.streamcloud.windows import ALIGNED, TimeWindow

# --- tuples -----------------------------------------------------------------------------------


def whole(batches: Sequence[np.ndarray], partition: Partition, width: int) -> np.ndarray:
    """Return the tuples of all instances in the total order, each once.

    Parameters
    ----------
    batches : sequence of int64 array (words, tuples)
        By instance.
    partition : RoundRobin, Hash or Grid
        The partition that split them.
    width : int
        Words of their order keys.
    """
    count, step = len(batches), 1
    if isinstance(partition, Grid):
        # The first instance of each row, or column.
        count, step = (count, partition.columns) if partition.side == LEFT else (partition.parts, 1)
    found = joined(batches[:count:step], batches[0].shape[0])
    # The last key of lexsort is the primary one.
    return as_batch(found[:, np.lexsort(found[:width][::-1])])


def split(
    batch: np.ndarray, partition: Partition, places: Sequence[int], instances: int
) -> list[np.ndarray]:
    """Return the tuples of each instance, in their order.

    Parameters
    ----------
    batch : int64 array (words, tuples)
    partition : RoundRobin, Hash or Grid
    places : sequence of int
        The words that are hashed (`places_in`).
    instances : int
    """
    chosen = _chosen(batch, partition, places, instances)
    return [
        as_batch(batch[:, chosen == _part_of(partition, instance)]) for instance in range(instances)
    ]


def places_in(output: Output, partition: Partition, width: int) -> list[int]:
    """Return the words of an output's tuples that are hashed.

    Parameters
    ----------
    output : Output
    partition : RoundRobin, Hash or Grid
    width : int
        Words of the order keys, which in a merger of unions are more than the output's.
    """
    if isinstance(partition, Grid):
        # Differs from the balancer's hash if a union is between: but any row will do, as long as
        # all instances of the row have the tuple.
        return list(range(width))
    names = output.schema.names
    columns = partition.columns if isinstance(partition, Hash) else ()
    return [width + names.index(name) - 1 if names.index(name) else 0 for name in columns]


def _chosen(
    batch: np.ndarray, partition: Partition, places: Sequence[int], instances: int
) -> np.ndarray:
    """Return the part that each tuple goes to."""
    parts = partition.parts if isinstance(partition, Grid) else instances
    chosen = np.empty(batch.shape[1], dtype=np.int64)
    choose(
        as_batch(batch), np.array(places, dtype=np.int64), isinstance(partition, RoundRobin), 0,
        parts, chosen, np.zeros(parts, dtype=np.int64),
    )  # fmt: skip
    return chosen


def _part_of(partition: Partition, instance: int) -> int:
    if not isinstance(partition, Grid):
        return instance
    by_row = partition.side == LEFT
    return instance // partition.columns if by_row else instance % partition.columns


# --- how a stage is split -----------------------------------------------------------------------


class Splits:
    """How tuples are split inside a stage.

    Parameters
    ----------
    stage : Stage

    Attributes
    ----------
    instances : int
    """

    def __init__(self, stage: Stage) -> None:
        self.instances = stage.instances
        self._carriers = carriers_in(stage)

    def taken_by(self, node: Node, side: int) -> Partition:
        """Return the partition of the tuples that an aggregate, a join or a product takes."""
        if isinstance(node, Aggregate):
            keys = [(name,) for name in node.group_by]
        elif isinstance(node, Join):
            keys = list(node.on)
        else:
            return Grid.of(self.instances, side)
        for number, taken in enumerate(node.inputs):
            if taken.node in self._carriers:
                # In the order in which they were hashed: each value is in one of the keys.
                keys = [
                    next(key for key in keys if key[number] in names)
                    for names in self._carriers[taken.node]
                ]
                break
        return Hash(tuple(key[side] for key in keys))

    def put_out_by(self, node: Node) -> Partition:
        """Return the partition of an operator's output.

        Where the output does not carry all hashed values, no operator behind it in the stage
        depends on it.
        """
        found = self._carriers.get(node)
        if found is None or not all(found):
            return RoundRobin()
        return Hash(tuple(min(names) for names in found))


# --- operators ------------------------------------------------------------------------------------


def shared(
    node: Node, operators: Sequence[Operator], was: Splits, becomes: Splits
) -> list[list[np.ndarray | Log]]:
    """Return the state of an operator for each of another number of instances.

    Parameters
    ----------
    node : Node
        The operator in the query.
    operators : sequence of Operator
        One per old instance; all have worked on the same times.
    was, becomes : Splits

    Raises
    ------
    RuntimeError
        When instances have not worked on the same times.
    """
    how = _how(node)
    saved = [operator.save() for operator in operators]
    return [[] for _ in range(becomes.instances)] if how is None else how(node, saved, was, becomes)


def is_aligned(node: Node) -> bool:
    """Say whether an operator is an aggregate over aligned windows of time."""
    if not isinstance(node, Aggregate) or not isinstance(node.window, TimeWindow):
        return False
    return node.window.start == ALIGNED


_Shared = list[list[np.ndarray | Log]]


def _how(node: Node) -> Callable[[Node, Sequence[Saved], Splits, Splits], _Shared] | None:
    """Return the function that shares the state of an operator; None if it has none."""
    if isinstance(node, Aggregate):
        return _panes if is_aligned(node) else _members
    if isinstance(node, Product):
        return _windows
    return _map if isinstance(node, Map) else None


def _waiting(
    node: Node, waiting: Sequence[np.ndarray], was: Splits, becomes: Splits
) -> list[np.ndarray]:
    """Return the tuples that wait in an operator to be put out."""
    (made,) = node.outputs
    width, partition = key_width(made), becomes.put_out_by(node)
    found = whole(waiting, was.put_out_by(node), width)
    return split(found, partition, places_in(made, partition, width), becomes.instances)


def _map(node: Map, saved: Sequence[Saved], was: Splits, becomes: Splits) -> _Shared:
    # Tuples that wait on one instance may be before the last time of another.
    last = np.array([min(int(each[0][0]) for each in saved)], dtype=np.int64)
    waiting = _waiting(node, [each[1] for each in saved], was, becomes)
    return [[last.copy(), each] for each in waiting]


def _windows(node: Product, saved: Sequence[Saved], was: Splits, becomes: Splits) -> _Shared:
    found: _Shared = [[] for _ in range(becomes.instances)]
    for side, taken in enumerate(node.inputs):
        # The least will do: the next tuple purges the ones that are too old for it.
        purged = min(int(each[2 * side][0]) for each in saved)
        width, partition = key_width(taken), becomes.taken_by(node, side)
        live = whole([each[2 * side + 1].words for each in saved], was.taken_by(node, side), width)
        places = places_in(taken, partition, width)
        shares = split(live, partition, places, becomes.instances)
        for mine, share in zip(found, shares, strict=True):
            mine += [np.array([purged], dtype=np.int64), Log(0, share)]
    if node.time == SMALLER:
        waiting = _waiting(node, [each[4] for each in saved], was, becomes)
        for mine, share in zip(found, waiting, strict=True):
            mine.append(share)
    return found


def _of_groups(node: Aggregate, becomes: Splits) -> list[int]:
    """Return the columns of a group that are hashed, by number."""
    return [node.group_by.index(name) for name in becomes.taken_by(node, 0).columns]


def _panes(node: Aggregate, saved: Sequence[Saved], was: Splits, becomes: Splits) -> _Shared:
    following = {int(each[0][0]) for each in saved}
    if len(following) > 1:
        raise RuntimeError(
            f"{node.name}: its instances have put out windows up to {sorted(following)}: a row is"
            " on the way"
        )
    found = [panes_of(each) for each in saved]
    panes, cells = (np.concatenate(each) for each in zip(*found, strict=True))
    keys = as_batch(cells[:, : len(node.group_by)].T)
    chosen = _chosen(keys, becomes.taken_by(node, 0), _of_groups(node, becomes), becomes.instances)
    order = np.lexsort([*keys[::-1], panes])
    mine = [order[chosen[order] == instance] for instance in range(becomes.instances)]
    return [in_runs(*following, panes[each], cells[each]) for each in mine]


def _members(node: Aggregate, saved: Sequence[Saved], was: Splits, becomes: Splits) -> _Shared:
    groups = np.concatenate([each[0] for each in saved])
    entries = np.concatenate([each[1] for each in saved])
    keys = as_batch(groups[:, : len(node.group_by)].T)
    chosen = _chosen(keys, becomes.taken_by(node, 0), _of_groups(node, becomes), becomes.instances)
    counts = groups[:, -2]
    begins = np.cumsum(counts) - counts
    # Groups are sorted by key; lexsort needs one key at least.
    order = np.lexsort([np.zeros(len(groups), dtype=np.int64), *keys[::-1]])
    found: _Shared = []
    for instance in range(becomes.instances):
        mine = order[chosen[order] == instance]
        places = [np.arange(begins[each], begins[each] + counts[each]) for each in mine]
        found.append([groups[mine], entries[np.concatenate([np.arange(0), *places])]])
    return found
