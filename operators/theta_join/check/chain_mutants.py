"""Mutants of the handshake joins."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_shake = partial(Mutant, variant="theta_join/handshake", module="operators.theta_join.handshake")
_quick = partial(
    Mutant,
    variant="theta_join/handshake-low-latency",
    module="operators.theta_join.handshake_low_latency",
)
_fed = partial(
    Mutant,
    variant="theta_join/handshake-low-latency",
    module="operators.theta_join.chain_driver",
)
_chain = partial(Mutant, variant="theta_join/handshake", module="operators.theta_join.chain_core")

_HANDSHAKE = (
    _shake(
        name="handshake-acknowledged-for-all",
        old="core.s.words[FIRST] += 1\n",
        new="core.s.words[FIRST] = core.words[SENT]\n",
        breaks="an acknowledgement removes tuples of S that are still in flight",
    ),
    _shake(
        name="handshake-never-acknowledged",
        old="core.s.words[FIRST] += 1\n",
        new="core.s.words[FIRST] += 0\n",
        breaks="a tuple of S stays where it was handed on, and meets others once more",
    ),
    _shake(
        name="handshake-not-looked-at-under-way",
        old="        words[SENT] = position + 1\n        done = True\n",
        new="        words[SENT] = window.words[FIRST] = position + 1\n        done = True\n",
        breaks="a tuple of S is gone when it is handed on, and misses those that pass it",
    ),
    _shake(
        name="handshake-handed-on-while-taking",
        old="                if right < chain.cores:\n"
        "                    if not send(chain.ways, way_of(chain, R, right), ACKNOWLEDGED, 0):\n"
        '                        mark("handshake: no room to acknowledge")\n'
        "                        break\n",
        new="                if right < chain.cores:\n"
        "                    if not send(chain.ways, way_of(chain, R, right), ACKNOWLEDGED, 0):\n"
        '                        mark("handshake: no room to acknowledge")\n'
        "                        break\n"
        "                    hand_on_r(chain, core)\n",
        breaks="the acknowledgement goes out before its tuple is compared, tuples of R behind it",
    ),
    _shake(
        name="handshake-end-looked-at-late",
        old="            ended = load(chain.ended, core * LINE_WORDS, ACQUIRE) != 0\n"
        "            place = front(chain.pairs, core)\n",
        new="            place = front(chain.pairs, core)\n"
        "            ended = load(chain.ended, core * LINE_WORDS, ACQUIRE) != 0\n",
        breaks="pairs that were sent between the look into a ring and at its end are lost",
    ),
    _shake(
        name="handshake-expired-stays",
        old="core.words[HORIZON + 1 - side] = max(core.words[HORIZON + 1 - side], word)\n",
        new="core.words[HORIZON + side] = max(core.words[HORIZON + side], word)\n",
        breaks="what has expired of one stream is taken for the other's",
    ),
    _chain(
        name="chain-end-relaxed",
        old="    store(chain.ended, core.number * LINE_WORDS, 1, RELEASE)\n",
        new="    store(chain.ended, core.number * LINE_WORDS, 1, 0)\n",
        breaks="a core's end may be seen before its last pair",
    ),
)

_LOW_LATENCY = (
    _quick(
        name="low-latency-not-looked-at-under-way",
        old="        ask(core, chain, place, R, WITH_FLYING, core.flying.words[NEXT])\n",
        new="        ask(core, chain, place, R, WITH_FLYING, core.flying.words[FIRST])\n",
        breaks="tuples that pass one another between two cores do not meet",
    ),
    _quick(
        name="low-latency-acknowledged-for-all",
        old="        core.flying.words[FIRST] += 1\n",
        new="        core.flying.words[FIRST] = core.flying.words[NEXT]\n",
        breaks="an acknowledgement removes tuples of S that are still in flight",
    ),
    _quick(
        name="low-latency-compared-on-the-way",
        old="        ask(core, chain, place, S, WITH_R, core.words[ENDED_AT + R])\n",
        new="        ask(core, chain, place, S, WITH_R, core.r.words[NEXT])\n",
        breaks="a tuple of S meets one of R at home whose way has not ended, and again elsewhere",
    ),
    _quick(
        name="low-latency-compared-with-s-on-the-way",
        old="        ask(core, chain, place, R, WITH_S, core.words[ENDED_AT + S])\n",
        new="        ask(core, chain, place, R, WITH_S, core.s.words[NEXT])\n",
        breaks="a tuple of R meets one of S at home whose way has not ended, and again elsewhere",
    ),
    _quick(
        name="low-latency-news-behind-a-tuple",
        old=" or not tell_ended(chain, core, R, 1):\n",
        new=":\n",
        breaks="the news that a tuple of R has ended comes behind a tuple of S that met it nowhere",
    ),
    _quick(
        name="low-latency-news-of-s-behind-a-tuple",
        old=" or not tell_ended(chain, core, S, 1):\n",
        new=":\n",
        breaks="the news that a tuple of S has ended comes behind a tuple of R that met it nowhere",
    ),
    _quick(
        name="low-latency-kept-everywhere",
        old="        if position % chain.cores == core.number:\n",
        new="        if position >= 0:\n",
        breaks="each core keeps every tuple, so that it is met in all of them",
    ),
    _quick(
        name="low-latency-marked-before-sent",
        old="        status = emit(chain, core)\n        if status != READY:\n"
        "            return status\n        tell_how_far(chain, core)\n",
        new="        tell_how_far(chain, core)\n        status = emit(chain, core)\n"
        "        if status != READY:\n            return status\n",
        breaks="a core says that it is past tuples whose pairs it has yet to send",
    ),
    _quick(
        name="low-latency-mark-relaxed",
        old="        store(chain.marks, at, core.words[DONE + side], RELEASE)\n",
        new="        store(chain.marks, at, core.words[DONE + side], 0)\n",
        breaks="how far a core is may be seen before the pairs that it has sent",
    ),
    _quick(
        name="low-latency-rings-emptied-first",
        old="            look(chain, own)\n            emptied = empty_rings(chain, own)\n",
        new="            emptied = empty_rings(chain, own)\n            look(chain, own)\n",
        breaks="pairs that were sent before the look at the marks are not in the heap",
    ),
    _quick(
        name="low-latency-done-before-it-is",
        old="        words[DONE + side] = peek(records, place + RANK) + 1\n",
        new="        words[DONE + side] = peek(records, place + RANK) + 2\n",
        breaks="a core says that it is past the tuple behind the one that it has done",
    ),
)

_FED = (
    _fed(
        name="punctuation-one-too-far",
        old="send(chain.ways, back, PUNCTUATION, words[NEXT_RANK])",
        new="send(chain.ways, back, PUNCTUATION, words[NEXT_RANK] + 1)",
        breaks="a silent stream is told to be past its next tuple, which comes after its pairs",
    ),
)

MUTANTS = (*_HANDSHAKE, *_LOW_LATENCY, *_FED)
