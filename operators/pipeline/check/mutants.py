"""Mutants of pipelines: of the runtime, and in blocks of the ring and the runtime on it."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_ring = partial(Mutant, variant="core/block-ring", module="operators.pipeline.block_ring")
_turns = partial(Mutant, variant="core/block-ring", module="operators.pipeline.blocks.turns")

MUTANTS = (
    _ring(
        name="blocks-counted-down-early",
        old="    return open == 1\n",
        new="    return open == 2\n",
        breaks="a block counts as whole while another worker has its last part",
    ),
    _ring(
        name="blocks-counted-down-relaxed",
        old="* LINE_WORDS + OPEN, -1, ACQ_REL)",
        new="* LINE_WORDS + OPEN, -1, RELAXED)",
        breaks="who gathers a block may not see the outputs of the other parts",
    ),
    _ring(
        name="blocks-claimed-by-store",
        old="    return cas(ring.states, word, ready, ready + 1, ACQUIRE)\n",
        new="    load(ring.states, word, ACQUIRE)\n"
        "    store(ring.states, word, ready + 1, RELAXED)\n"
        "    return True\n",
        breaks="two workers claim one block, which is sent on twice",
    ),
    _ring(
        name="blocks-part-taken-by-two",
        old="    return exchange(ring.tokens, token + HELD, 1, ACQUIRE) == 0\n",
        new="    store(ring.tokens, token + HELD, 1, RELAXED)\n"
        "    return load(ring.tokens, token + HELD, ACQUIRE) == 1\n",
        breaks="two workers take one token, and with it one part",
    ),
    _ring(
        name="blocks-sent-relaxed",
        old="        number * ring.phases + 2 * segment,\n        RELEASE,\n",
        new="        number * ring.phases + 2 * segment,\n        RELAXED,\n",
        breaks="a block may be seen at a segment before the records that it has there",
    ),
    _ring(
        name="blocks-slot-taken-early",
        old="    if number - finished(ring) >= ring.most:\n",
        new="    if number - finished(ring) > ring.most:\n",
        breaks="a block is opened in the slot of one that has not left the pipeline",
    ),
    _ring(
        name="blocks-token-given-back-relaxed",
        old="store(ring.tokens, token + HELD, 0, RELEASE)",
        new="store(ring.tokens, token + HELD, 0, RELAXED)",
        breaks="the next holder may not see the operator's state as the last one left it",
    ),
    _turns(
        name="blocks-never-closed",
        old="        if count > 0:\n            fill(",
        new="        if count == state.block:\n            fill(",
        breaks="a block that is not full is never closed, and the stream has no end",
    ),
    _turns(
        name="blocks-overtaken",
        old="            if ordered and left == NONE:\n",
        new="            if ordered:\n",
        breaks="a later block overtakes one that comes back for want of room",
    ),
    _turns(
        name="blocks-sent-before-looked-at",
        old="            send(state.ring, number, segment + 1)\n"
        "            if ordered and left == NONE:\n",
        new="            send(state.ring, number, segment + 1)\n"
        "            left = to_do(state, number, segment)\n"
        "            if ordered and left == NONE:\n",
        breaks="the words of a block are read after it is another worker's",
    ),
    Mutant(
        name="pipeline-any-number-of-workers",
        variant="pipeline/ct",
        module="operators.pipeline.runtime",
        old="            most = stage.partitions\n",
        new="            most = EVERYBODY\n",
        breaks="two workers are sent to a stateful operator",
        canary=True,
    ),
    Mutant(
        name="pipeline-parked-output-forgotten",
        variant="pipeline/ct",
        module="operators.pipeline.passing",
        old="        for back in range(2, len(state.stages) + 1):\n",
        new="        for back in range(3, len(state.stages) + 1):\n",
        breaks="an output without room is not retried although there is room again",
    ),
    Mutant(
        name="pipeline-key-flushed-again",
        variant="pipeline/ct",
        module="operators.pipeline.ending",
        old="            if words[MADE] == 0:\n",
        new="            if words[PUT_OUT] == 0:\n",
        breaks="a key whose first output has no room is flushed once more, from an emptied state",
    ),
)
