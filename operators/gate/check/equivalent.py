"""Automatic mutants of gates that no check can kill, with the reasons."""

_BATCH = "operators.gate.t_gate_batch "
_T = "operators.gate.t_gate "
_HEIGHTS = "heights only decide how long a search takes"
_WALK = "the walk goes on from the node before the search, along the same level"

EQUIVALENT = {
    "operators.gate.multi_queue get_next_ready_tuple_peek: swap acquire(state.locks, source)"
    " head = load(state.queues, queue + HEAD, RELAXED) -> head = load(state.queues, queue + HEAD,"
    " RELAXED) acquire(state.locks, source)": "only the reader, the caller, moves the head",
    _BATCH + "height_in_batch: constant 1 -> 0 (3)": _HEIGHTS,
    _BATCH + "height_in_batch: one node_height(gate, source, sequence) + 1 -> node_height(gate,"
    " source, sequence)": _HEIGHTS,
    _BATCH + "link_runs: drop before = gate.private[finger_at(gate, source, 0)] -> pass (2)": _WALK,
    _BATCH + "link_runs: swap search(gate, source, timestamp)"
    " before = gate.private[finger_at(gate, source, 0)] ->"
    " before = gate.private[finger_at(gate, source, 0)] search(gate, source, timestamp)": _WALK,
    _BATCH + "chain_run: constant 1 -> 0": (
        "without a search before it each node gets a compare-and-swap of its own"
    ),
    _T + "search: and private[finger + 1] > before_timestamp or ("
    " private[finger + 1] == before_timestamp and private[finger + 2] > before_source ) ->"
    " (private[finger + 1] > before_timestamp and private[finger + 1] == before_timestamp and"
    " private[finger + 2] > before_source)": "no finger is followed, and the walk is longer",
    _T + "search: drop before = private[finger] -> pass": (
        "the walk begins further back, and reads the position of the node where it ends"
    ),
    _T + "pass_node: and state.nodes[node_at(state, node) + HEIGHT] == state.levels and ("
    " passed - reading[counts + RELEASED] > state.tall_every ) ->"
    " (state.nodes[node_at(state, node) + HEIGHT] == state.levels or"
    " passed - reading[counts + RELEASED] > state.tall_every)": (
        "a reader releases at each tall node then, so that never so many wait at a short one"
    ),
    "operators.gate.skip_list find_on_level: drop after = node_of(link) -> pass": (
        "the next look finds the link changed, by this thread, and the search begins again"
    ),
    "operators.gate.multi_queue_loser_tree get_next_ready_tuple: not timestamp == UNKNOWN ->"
    " not (timestamp == UNKNOWN) (2)": (
        "the next head is then looked up at the next call, and one that is unknown wins every match"
    ),
    "operators.gate.multi_queue_rings ring_size: constant 1 -> 0 (2)": (
        "at most twice as many slots are given back at a time, which is for speed"
    ),
    "operators.gate.t_gate insert_tuple: compare timestamp >= END_TIMESTAMP -> timestamp >"
    " END_TIMESTAMP": (
        "a tuple of exactly that time is beyond the limit of timestamps in the contract"
    ),
}
