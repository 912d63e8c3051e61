"""Memory orders of joins that no program of the checker needs, with the reasons."""

_READ_BEFORE = (
    "a search that ended before the horizon passed a tuple would have to see the tuple's later"
    " removal: that would be load buffering, which this memory leaves out and some processors do"
    " not"
)
_OLD_INDEX = (
    "needed where a search acquires an edge and reads the index as it was before the edge moved:"
    " the version of a subindex at both ends of the search, and an entry between them, are three"
    " old reads, and a schedule has two"
)
ORDERS = {
    "operators.join.merging thaw: store(words) RELEASE": _OLD_INDEX,
    "operators.join.merging enter_some: store(queue.words) RELEASE": _OLD_INDEX,
    "operators.join.propagation pass_task: store(words) RELEASE": _READ_BEFORE,
    "operators.join.work_queue removable: load(queue.words) ACQUIRE": _READ_BEFORE,
    "operators.join.work_queue removable: load(queue.words) ACQUIRE (2)": (
        "needed where a removal reads the inner nodes on its way as they were before the insertion"
        " of the tuple: no program has threads on a tree of several leaves"
    ),
    "operators.join.work_queue holds_too_many: load(queue.words) ACQUIRE": (
        "needed where a task takes the slot from which a merge has entered a held tuple: that takes"
        " as many held tuples as a ring has slots, 128, and programs have sixteen"
    ),
}
