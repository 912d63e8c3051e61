"""Memory orders of the trees under threads that no check needs, each with the reason."""

ORDERS = {
    "operators.index.bw_changes grow: load(tree.root) ACQUIRE": (
        "needed where another thread grows the root between the search for the level and this load,"
        " and the new root's head is then read as it was: the few schedules of so long a program"
        " end before that"
    ),
    "operators.index.olc_changes attempt_split: fence() RELEASE": (
        "needed where a third thread still reads a leaf that one has retired below another inner"
        " node, and this one uses again: no program has three threads on a tree of two levels"
    ),
}
