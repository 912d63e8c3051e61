"""Memory orders of joins that no program of the checker can need, with the reasons."""

_READ_BEFORE = (
    "a search that ended before the horizon passed a tuple would have to see the tuple's later"
    " removal: that would be load buffering, which this memory leaves out and some processors do"
    " not"
)
ORDERS = {
    "operators.join.propagation pass_task: store(words) RELEASE": _READ_BEFORE,
    "operators.join.work_queue removable: load(queue.words) ACQUIRE": _READ_BEFORE,
}
