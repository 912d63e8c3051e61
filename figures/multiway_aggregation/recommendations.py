"""Which design to pick on the measured machine: a section of the report.

Every statement about speed is computed from the points; only the content of the paper's text is
written down in advance. ``recommendation_rules`` decides which designs are compared, and which are
ahead or alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from experiments import papers
from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging.pairs import halves_of, mean_within
from experiments.judging.points import Point
from experiments.multiway_aggregation.figures import BY_UPDATE_THREADS
from experiments.records import statistics
from experiments.records.statistics import Spread
from figures import page
from figures.load import Results, points_of
from figures.multiway_aggregation.recommendation_rules import (
    FEW,
    KINDS,
    MANY,
    PAPER,
    Choice,
    choices,
    inputs_of,
    named,
    ratio_of,
    title_of,
    value_of,
)
from figures.view import View

# The lock-free multi-queue against the ScaleGate, without and with an aggregate behind them. First
# the paper's multi-queue, then that over single-producer rings, which decides if it was measured.
LOCK_FREE_QUEUES = (
    {"": ("multi-queue-lock-free", "t-gate"), "OS": ("mqlf", "tumlsc")},
    {"": ("multi-queue-rings", "t-gate"), "OS": ("mqlf-rings", "tumlsc")},
)
# Up to this many designs that are alike are named one by one.
MOST_NAMES = 4
# Above the comparison: which question it answers, and which it does not.
_ASKED = (
    "The question here: which of two lock-free ways to merge is faster, a queue for each input or"
    " the ScaleGate of TuMLSC? It is not whether locks cost anything (that is MQLF against MQ), nor"
    " which design to pick (that is above, among the paper's designs)."
)
_OURS = " on rings, which no paper has,"
# The statement of section 7.3 on the same pair, for queries.
_PAPERS_ORDER = "In the paper, on 24 logical cores, TuMLSC has the highest throughput at 20 inputs."


def section(results: Results) -> str:
    """Return the body of the section as HTML; empty when no figure over inputs was measured."""
    found = choices(results)
    if not found:
        return ""
    points = [point for choice in found for point in choice.all]
    told = [f"<p>{escape(_caution(points))}</p>"]
    for kind in KINDS:
        items = []
        for place in (FEW, MANY):
            own = [choice for choice in found if (choice.kind, choice.place) == (kind, place)]
            items += [f"<li>{_advice(own)}{_update_threads(own, results)}</li>"] if own else []
        if items:
            told.append(f"<h3>{escape(_sentence(KINDS[kind]))}</h3><ul>{''.join(items)}</ul>")
    told.append(_queues_against_gate(found, results))
    head = ("query", "inputs", "highest throughput", "million t/s", "over the paper's best there",
            "over the next", "lowest mean latency", "ms")  # fmt: skip
    table = page.table(head, [_row(choice) for choice in found])
    told.append(page.details("Query by query", table))
    return "".join(told)


def heading(results: Results) -> str:
    """Return the question that the section answers, with the number of cores in it."""
    cores = sorted({int(count) for count in results.rows["cores"]})
    words = {1: "one core", 2: "two cores", 4: "four cores"}
    named = " or ".join(words.get(count, f"{count} cores") for count in cores)
    return f"What should a user of {named} pick?"


def _caution(points: Sequence[Point]) -> str:
    states = {state for point in points for state in point.states}
    told = ["Read from what was measured here, and only as good as that; a design that could not"]
    told[0] += " take 70 % of its own throughput at a steady rate is left out."
    if min(point.processes for point in points) < statistics.PROCESSES_FOR_AN_INTERVAL:
        told.append("From fewer than six processes no interval is made: take this as a hint.")
    if "noisy" in states:
        told.append("The machine was noisy.")
    if "oversubscribed" in states:
        told.append("There were more threads than cores wherever inputs were many.")
    return " ".join(told)


def _advice(own: Sequence[Choice]) -> str:
    """Return the advice for choices of one kind and one range of inputs (`own`)."""
    counts = _span(choice.inputs for choice in own)
    inputs = f"{counts} input{'' if counts == '1' else 's'}"
    paper, text = _leading(own, [choice.paper for choice in own])
    told = [f"<b>{escape(inputs)}</b>, of the paper's designs: {text}"]
    most = max(len(choice.all) for choice in own)
    wider = [choice for choice in own if len(choice.all) == most > len(choice.paper)]
    if wider:
        ours, text = _leading(wider, [choice.all for choice in wider])
        if ours == paper:
            told.append(f"None of ours does better: {text}")
        else:
            gains = [ratio_of(choice.all[0], choice.paper[0]) for choice in wider]
            told.append(f"Of all designs measured: {text} The best one has {_times(gains)} the")
            told[-1] += " throughput of the paper's best there."
    return " ".join(told)


def _update_threads(own: Sequence[Choice], results: Results) -> str:
    """Return the gain from the best number of update threads on the same queries and inputs.

    The best number is chosen on some rounds and the ratio is computed on the others; a point with
    a single value is skipped.
    """
    figures = [f for f in papers.paper(PAPER).figures if f.x == BY_UPDATE_THREADS]
    gains, counts = [], []
    for choice in own:
        for figure in figures:
            points = points_of(results, View(figure), "throughput_tps")
            points = [p for p in points if inputs_of(p) == choice.inputs]
            points = [p for p in points if "unsustained" not in p.states]
            halves = halves_of(point.values for point in points)
            if figure.subject == choice.query and halves:
                best = max(points, key=lambda p: mean_within(p.values, halves.choose) or 0.0)
                judged = {at: value for at, value in best.values.items() if at in halves.judge}
                gain = statistics.ratio(judged, choice.paper[0].values)
                if gain:
                    gains.append(gain)
                    counts.append(best.settings["update_threads"])
    if not gains:
        return ""
    return (
        f" TuMLMC, from runs of its own figures, has with its best number of update threads"
        f" ({_span(counts)}) {_times(gains)} the throughput of the paper's best other one there."
    )


def _leading(own: Sequence[Choice], points: Sequence[Sequence[Point]]) -> tuple[str, str]:
    """Return the series that is fastest most often, and the sentence that says so."""
    wins = Counter(
        each for choice, p in zip(own, points, strict=True) for each in choice.winners(p)
    )
    # Ties in wins go to the series with higher throughputs relative to the best at each choice.
    shares = {
        series: sum(value_of(each) / value_of(p[0]) for p in points for each in p
                    if each.variant == series)
        for series in wins
    }  # fmt: skip
    leader = max(wins, key=lambda series: (wins[series], shares[series]))
    gains = []
    for choice, there in zip(own, points, strict=True):
        mine = [each for each in there if each.variant == leader]
        rest = [each for each in there if each.variant != leader]
        if leader in choice.winners(there) and mine and rest:
            gains.append(ratio_of(mine[0], rest[0]))
    beside = ", with no other to compare"
    if gains:
        beside = f", at {_times(gains)} the throughput of the best other one"
    return (
        leader,
        f"<b>{escape(title_of(own[0], leader))}</b> {_won(leader, wins, len(own))}"
        + (f"{beside}{_alike(own, leader, wins)}."),
    )


def _won(leader: str, wins: Counter[str], count: int) -> str:
    alone = len(wins) == 1
    if count == 1:
        return "is the fastest" if alone else "has the highest throughput"
    where = "all" if wins[leader] == count else f"{wins[leader]} of"
    return f"is the fastest{'' if alone else ' or alike with it'} on {where} {count} queries"


def _alike(own: Sequence[Choice], leader: str, wins: Counter[str]) -> str:
    """Return the other series that are the fastest, or cannot be told apart from the leader."""
    count = len(own)
    others = [each for each in wins if each != leader]
    if not others:
        return ""
    if len(others) > MOST_NAMES:
        return f"; {len(others)} others are alike with the fastest"
    titles = [escape(title_of(own[0], each)) for each in others]
    if count == 1:
        return f"; {', '.join(titles)} cannot be told apart from it"
    named = [f"{title} on {wins[each]}" for title, each in zip(titles, others, strict=True)]
    return f"; so {'is' if len(named) == 1 else 'are'} {', '.join(named)}"


def _times(gains: Sequence[Spread]) -> str:
    """Return one ratio with an interval or range, or the span of several."""
    if len(gains) == 1:
        return f"{_ratio(gains[0])} times"
    ends = [f"{extreme(gain.value for gain in gains):.2f}" for extreme in (min, max)]
    return f"{' to '.join(dict.fromkeys(ends))} times"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _ratio(gain: Spread) -> str:
    value = f"{gain.value:.2f}"
    return value if gain.low is None else f"{value} [{gain.low:.2f}, {gain.high:.2f}]"


def _span(counts: Iterable[int]) -> str:
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _row(choice: Choice) -> tuple[object, ...]:
    best, *rest = choice.all
    title = " = ".join(title_of(choice, each) for each in choice.winners(choice.all))
    after = _ratio(ratio_of(best, rest[0])) if rest else None
    quick = choice.latencies[0] if choice.latencies else None
    return (
        choice.query or "none: sorting",
        choice.inputs,
        title,
        value_of(best) / 1e6,
        _ratio(ratio_of(best, choice.paper[0])),
        after,
        title_of(choice, quick.variant) if quick else None,
        value_of(quick) if quick else None,
    )


def _queues_against_gate(found: Sequence[Choice], results: Results) -> str:
    """Return how the lock-free multi-queue and the ScaleGate compare here, and in the paper."""
    told, ahead, behind, whose = [], 0, 0, ""
    for queues_and_gates, owner in zip(LOCK_FREE_QUEUES, ("", _OURS), strict=True):
        sentences, better, worse = _pair_sentences(found, queues_and_gates)
        if sentences:
            told, ahead, behind, whose = told + sentences, better, worse, owner
    if not told:
        return ""
    cores = found[-1].all[0].cores
    if ahead and not behind:
        verdict = (
            f"In native code on {cores} cores a lock-free multi-queue{whose} beats the ScaleGate,"
            " which the paper's machine did not show."
        )
    elif behind and not ahead:
        verdict = f"As in the paper, the ScaleGate beats the lock-free multi-queue{whose} here."
    else:
        verdict = "Neither the ScaleGate nor the lock-free multi-queue is ahead throughout."
    told.append(_PAPERS_ORDER)
    told += _processor_time(results, bool(ahead and not behind))
    details = " ".join(f"{_sentence(each).removesuffix('.')}." for each in told)
    return (
        "<h3>Lock-free queues against the ScaleGate</h3>"
        f"<p>{escape(_ASKED)}</p><p><b>{escape(verdict)}</b></p><p>{escape(details)}</p>"
    )


def _pair_sentences(
    found: Sequence[Choice], queues_and_gates: Mapping[str, tuple[str, str]]
) -> tuple[list[str], int, int]:
    """Return sentences on each kind of pair, and how often the queues are ahead and behind."""
    told, ahead, behind = [], 0, 0
    for kind, (queues, gate) in queues_and_gates.items():
        pairs = []
        for choice in found:
            there = {point.variant: point for point in choice.all}
            if (choice.kind, choice.place) == (kind, MANY) and {queues, gate} <= there.keys():
                pairs.append((choice, there[queues], there[gate]))
        if not pairs:
            continue
        better = [choice.ahead(one, other) for choice, one, other in pairs]
        worse = [choice.ahead(other, one) for choice, one, other in pairs]
        ahead, behind = ahead + sum(better), behind + sum(worse)
        gains = [ratio_of(one, other) for _, one, other in pairs]
        names = title_of(pairs[0][0], queues), title_of(pairs[0][0], gate)
        where = KINDS[kind] if not kind else f"{len(pairs)} {KINDS[kind]}"
        counts = "" if not kind else f": ahead on {sum(better)}, behind on {sum(worse)}"
        inputs = _span(choice.inputs for choice, _, _ in pairs)
        told.append(
            f"{where}, {inputs} inputs: {names[0]} has {_times(gains)} the throughput of"
            f" {names[1]}{counts}"
        )
    return told, ahead, behind


def _processor_time(results: Results, ahead: bool) -> list[str]:
    """Return the processor times of the same pair, and the explanation if they support it.

    `ahead` says whether there is anything to explain: the queues are ahead.
    """
    told = []
    times = {}
    pair = LOCK_FREE_QUEUES[0]["OS"]
    figure = papers.figure(PAPER, "8")
    for variant in pair:
        sides = [
            [p for p in points_of(results, View(figure), name) if p.variant == variant]
            for name in (INPUT, OUTPUT)
        ]
        if all(sides):
            times[variant] = tuple(value_of(side[0]) for side in sides)
    if len(times) == 2:
        queues, gate = (times[variant] for variant in pair)
        names = [named(variant, "aggregation") for variant in pair]
        told.append(
            f"A tuple takes an input thread {queues[0]:,.0f} ns of processor time and the output"
            f" thread {queues[1]:,.0f} ns in {names[0]}, {gate[0]:,.0f} and {gate[1]:,.0f} ns in"
            f" {names[1]} (figure 8)"
        )
        if ahead and sum(queues) < sum(gate) and queues[1] > gate[1]:
            told.append(
                "So the ScaleGate takes work from the one thread that reads, and costs more of it"
                " in all: threads that share few cores pay the sum, threads with a core each only"
                " the busiest one's part"
            )
    return told
