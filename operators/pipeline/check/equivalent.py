"""Automatic mutants of pipelines that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.pipeline.runtime ask: drop state.workers[own + TAKEN] = 0 -> pass": (
        "a slice writes it before it is read again, and without a slice no operator matches"
    ),
    "operators.pipeline.passing relieve: swap begin = now() sender = sender_of(state, place) ->"
    " sender = sender_of(state, place) begin = now()": "a time that is only reported",
    "operators.pipeline.qst choose: drop total += reached -> pass": (
        "a scheduler may send a worker to any operator where it may go: the outputs are the same"
    ),
    "operators.pipeline.state count_turn: constant 1 -> 0": "a number that is only reported",
    "operators.pipeline.blocks.advancing keys: swap make_known(state, number, this, out)"
    " out[OPERATOR] = place -> out[OPERATOR] = place make_known(state, number, this, out)": (
        "other words of the worker's own"
    ),
    "operators.pipeline.board report: swap cost = (7 * look(board, place, COST) + cost) // 8"
    " selectivity = (7 * look(board, place, SELECTIVITY) + selectivity) // 8 -> selectivity = (7 *"
    " look(board, place, SELECTIVITY) + selectivity) // 8 cost = (7 * look(board, place, COST) +"
    " cost) // 8": "two numbers, each from a word of its own",
    "operators.pipeline.blocks.scattering process: drop acted += 1 -> pass": (
        "a worker's progress, which only the watchdog reads"
    ),
    "operators.pipeline.blocks.turns work: swap taken += 1 # One new block a turn: then those that"
    " it meets on the way. number = find(state) if segment > 0 and taken < most else NONE -> number"
    " = find(state) if segment > 0 and taken < most else NONE # One new block a turn: then those"
    " that it meets on the way. taken += 1": (
        "a turn may take one block more: the outputs are the same"
    ),
    "operators.pipeline.blocks.turns work_in_blocks: compare state.ends != 0 -> state.ends == 0"
    " (2)": ("how many blocks a turn takes: the outputs are the same"),
    "operators.pipeline.blocks.turns work_in_blocks: compare number < count -> number <= count": (
        "a turn works on the last segment once more: the outputs are the same"
    ),
    "operators.pipeline.board report: swap note(board, place, COST, max(cost, LEAST_COST))"
    " note(board, place, SELECTIVITY, selectivity) -> note(board, place, SELECTIVITY,"
    " selectivity) note(board, place, COST, max(cost, LEAST_COST))": (
        "two words, both written under the board's lock"
    ),
    "operators.pipeline.blocks.advancing records: drop acted += 1 -> pass": (
        "a worker's progress, which only the watchdog reads"
    ),
    "operators.pipeline.blocks.turns _make_ordered: swap advance = make_advance(advancing,"
    " segment) pass_on = make_pass_on(segment, True, last) -> pass_on = make_pass_on(segment,"
    " True, last) advance = make_advance(advancing, segment)": ("each only makes a function"),
}
