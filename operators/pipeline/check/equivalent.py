"""Automatic mutants of pipelines that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.pipeline.runtime ask: drop state.workers[own + TAKEN] = 0 -> pass": (
        "a slice writes it before it is read again, and without a slice no operator matches"
    ),
    "operators.pipeline.passing relieve: swap begin = now() sender = sender_of(state, place) ->"
    " sender = sender_of(state, place) begin = now()": "a time that is only reported",
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
    " (2)": "how many blocks a turn takes: the outputs are the same",
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
    " True, last) advance = make_advance(advancing, segment)": "each only makes a function",
    "operators.pipeline.state records_due: one int(passed / period_ns) + 1 -> int(passed /"
    " period_ns)": "a source at a pace sends each record a period later: a time",
    "operators.pipeline.runtime run_slice: drop leave(stage, worklist, worker) -> pass": (
        "who was given no tuple holds nothing, who has a slice behind has left, and after a"
        " stop nobody goes on"
    ),
    "operators.pipeline.blocks.turns work_in_blocks: constant 0 -> 1 (2)": (
        "from which end a worker begins to look: the outputs are the same"
    ),
    "operators.pipeline.blocks.scattering divide: swap out[INDEX] = index begin ="
    " first_word(state, number, index) -> begin = first_word(state, number, index) out[INDEX]"
    " = index": "two words of the worker's own, one of them for messages",
    "operators.pipeline.blocks.turns fill: compare (begin + records) // state.marker_every >"
    " begin // state.marker_every -> (begin + records) // state.marker_every >= begin //"
    " state.marker_every": (
        "a block with no marker has a time then, and is finished with none all the same"
    ),
    "operators.pipeline.blocks.noting end_timing: constant 0 -> 1": "a time that is only reported",
    "operators.pipeline.blocks.turns work: constant 1 -> 0 (2)": (
        "how many blocks a turn takes: the outputs are the same"
    ),
    "operators.pipeline.blocks.scheduled to_open: swap fed = load(state.words, FED, RELAXED)"
    " known = opened(state.ring) -> known = opened(state.ring) fed = load(state.words, FED,"
    " RELAXED)": "two hints to a scheduler, each of which may be out of date",
    "operators.pipeline.blocks.advancing enter: compare made > 0 -> made >= 0": (
        "of no outputs the loop passes none on"
    ),
    "operators.pipeline.blocks.advancing records_of: compare at < end -> at <= end": (
        "where the words of a record begin that is not there"
    ),
    "operators.pipeline.passing pass_on: drop stage.words[NO_ROOM] += 1 -> pass": (
        "a number that is only reported"
    ),
    "operators.pipeline.runtime post: constant 1 -> 0 (2)": (
        "numbers of choices, which are only reported"
    ),
    "operators.pipeline.blocks.scheduled work_by_scheduler: constant 1 -> 0": (
        "how many blocks a turn takes that only flush: the outputs are the same"
    ),
    "operators.pipeline.stage processed: drop partitioned.processed(stage.partitioned,"
    " worker) -> pass": "it does nothing: a worker keeps the partition",
    "operators.pipeline.blocks.advancing records: swap began = begin_timing(number)"
    " make_known(state, number, this, out) -> make_known(state, number, this, out) began ="
    " begin_timing(number)": "a time that is only reported",
    "operators.pipeline.blocks.advancing keys: constant 1 -> 0 (2)": (
        "a worker's progress, which only the watchdog reads"
    ),
    "operators.pipeline.blocks.advancing records: swap note(state, number, at, made)"
    " end_timing(state, worker, this, began) -> end_timing(state, worker, this, began)"
    " note(state, number, at, made)": "a time that is only reported",
    "operators.pipeline.runtime post: constant 1 -> 0": (
        "how often operators were left out, which is only reported"
    ),
    "operators.pipeline.blocks.scattering divide: swap held.key_of[slot * held.takes + index] ="
    " key part = partition_of(stage, key, state.ranged) -> part = partition_of(stage, key,"
    " state.ranged) held.key_of[slot * held.takes + index] = key": (
        "a word of the block, and a number from words that nobody writes in a run"
    ),
    "operators.pipeline.blocks.turns work_in_blocks: constant 1 -> 0": (
        "how many blocks are enough is asked after the first one: none is as one"
    ),
    "operators.pipeline.stage take: drop out[0] = 0 -> pass": (
        "tables, of which a partition has a part, are of partitioned operators alone"
    ),
    "operators.pipeline.serial leave: constant 0 -> 1 (2)": "only answers below 0 are looked at",
    "operators.pipeline.runtime ask: drop state.workers[own + OUTPUTS] = 0 -> pass": (
        "a slice writes it before it is read again, and without a slice no operator is there to"
        " report of"
    ),
    "operators.pipeline.blocks.turns work_in_blocks: drop status = READY -> pass": (
        "whether a turn found work decides only how long a worker waits for the next"
    ),
    "operators.pipeline.blocks.turns work: drop taken += 1 -> pass (2)": (
        "a turn may take more blocks: the outputs are the same"
    ),
    "operators.pipeline.blocks.by_columns records: drop out[TOGETHER] = count -> pass": (
        "a word for the message of a failure; tests/operators/pipeline/test_columns.py"
    ),
    "operators.pipeline.blocks.advancing records: drop out[INDEX] = at -> pass": (
        "a word for the message of a failure; tests/operators/pipeline/test_blocks.py"
    ),
}
