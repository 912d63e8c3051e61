"""Which design to pick on the machine that was measured: a section of the report.

Every word of it about speed is read from the points; nothing is written down beforehand but what
the paper's text says. Two designs count as different when their ratio is beyond the bound that the
judge uses too (``experiments.judging.evidence``); else they are *alike*, and both are named.

Designs are compared inside one figure and at one number of inputs, where all did the same work.
*Few* inputs is the lowest number at which our own variants were measured too, if there is one below
the highest; else the lowest of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from experiments import papers
from experiments.families.aggregation.columns import INPUT, OUTPUT
from experiments.judging import evidence
from experiments.judging.points import Point, at_maximum
from experiments.multiway_aggregation.figures import BY_INPUTS, BY_SOURCES, BY_UPDATE_THREADS
from figures import page, style
from figures.load import Results, comparable, points_of

PAPER = "multiway_aggregation"
FEW, MANY = "few", "many"
KINDS = {
    "": "sorting alone",
    "OS": "order-sensitive queries (OS)",
    "OI": "order-insensitive queries (OI)",
}
# The lock-free multi-queue against the ScaleGate, without and with an aggregate behind them: the
# paper's, and that over single-producer rings, which decides where it was measured.
LOCK_FREE_QUEUES = (
    {"": ("multi-queue-lock-free", "t-gate"), "OS": ("mqlf", "tumlsc")},
    {"": ("multi-queue-rings", "t-gate"), "OS": ("mqlf-rings", "tumlsc")},
)
# So many designs that are alike are named one by one.
MOST_NAMES = 4
# What section 7.3 says of the same pair, for queries.
_PAPERS_ORDER = "In the paper, on 24 logical cores, TuMLSC has the highest throughput at 20 inputs."


@dataclass(frozen=True)
class Choice:
    """The designs of one figure at one number of inputs.

    Attributes
    ----------
    figure, query, kind : str
        `query` is empty for sorting alone, `kind` is a key of ``KINDS``.
    place : str
        FEW or MANY.
    inputs : int
    paper : tuple of Point
        Throughputs of the paper's designs there, highest first; never empty.
    all : tuple of Point
        Those of ours too.
    latencies : tuple of Point
        Mean latencies that are no backlog, lowest first.
    floor : float or None
        What equal runs differ by.
    """

    figure: str
    query: str
    kind: str
    place: str
    inputs: int
    paper: tuple[Point, ...]
    all: tuple[Point, ...]
    latencies: tuple[Point, ...]
    floor: float | None

    def winners(self, points: Sequence[Point]) -> list[str]:
        """Return the series of the highest throughput, and those that are alike with it."""
        best = points[0]
        return [best.variant, *(p.variant for p in points[1:] if not self.ahead(best, p))]

    def ahead(self, one: Point, other: Point) -> bool:
        """Say whether `one` is believed to be higher than `other`."""
        bound = evidence.bound_of((one, other), self.floor)
        return evidence.ordered(one, other, "higher", bound)[3] == evidence.HOLDS


def choices(results: Results) -> list[Choice]:
    """Return the choices that the figures over inputs show, by figure and number of inputs."""
    found = []
    for figure in papers.paper(PAPER).figures:
        points = points_of(results, PAPER, figure, "throughput_tps", extended=True)
        points = [point for point in points if comparable(point.variant)]
        if figure.x not in (BY_INPUTS, BY_SOURCES) or not points:
            continue
        slow = at_maximum(points_of(results, PAPER, figure, "latency_ms_mean", extended=True))
        query = str(figure.settings.get("query", ""))
        kind = query.rpartition("-")[2]
        for place, inputs in _places(points).items():
            there = sorted((p for p in points if _inputs(p) == inputs), key=_value, reverse=True)
            of_paper = tuple(p for p in there if p.variant in figure.lines)
            quick = [p for p in slow if _inputs(p) == inputs and "saturated" not in p.states]
            quick = sorted((p for p in quick if comparable(p.variant)), key=_value)
            if of_paper:
                about = (figure.id, query, kind, place, inputs)
                floor = results.floor
                found.append(Choice(*about, of_paper, tuple(there), tuple(quick), floor))
    return found


def _inputs(point: Point) -> int:
    """Return the number of inputs of a point; those of a gate are its sources."""
    return point.settings.get("inputs", point.settings.get("sources"))


def _title(choice: Choice, variant: str) -> str:
    """Return the name of a series as figures show it."""
    return _named(variant, "aggregation" if choice.query else "gate")


def _named(variant: str, family: str) -> str:
    return style.look_of(family, variant).title


def _places(points: Sequence[Point]) -> dict[str, int]:
    series = Counter(_inputs(point) for point in points)
    most = max(series)
    lower = [count for count in sorted(series) if count < most]
    if not lower:
        return {MANY: most}
    # Of equal numbers of series the first, which is the lowest number of inputs.
    return {FEW: max(lower, key=lambda count: series[count]), MANY: most}


def _value(point: Point) -> float:
    return point.middle[0]


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
    told = ["Read from what was measured here, and only as good as that."]
    if "coarse" in states:
        told.append("Points are coarse, single short runs: take this as a hint.")
    if "noisy" in states:
        told.append("The machine was noisy.")
    if "oversubscribed" in states:
        told.append("There were more threads than cores wherever inputs were many.")
    return " ".join(told)


def _advice(own: Sequence[Choice]) -> str:
    """Return what to pick where all of `own` are of one kind and place."""
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
            gains = [evidence.ratio(choice.all[0], choice.paper[0]) for choice in wider]
            told.append(f"Of all designs measured: {text} The best one has {_times(gains)} the")
            told[-1] += " throughput of the paper's best there."
    return " ".join(told)


def _update_threads(own: Sequence[Choice], results: Results) -> str:
    """Return what the best number of update threads gives on the same queries and inputs."""
    figures = [f for f in papers.paper(PAPER).figures if f.x == BY_UPDATE_THREADS]
    gains, counts = [], []
    for choice in own:
        for figure in figures:
            points = points_of(results, PAPER, figure, "throughput_tps")
            points = [point for point in points if _inputs(point) == choice.inputs]
            if figure.subject == choice.query and points:
                best = max(points, key=_value)
                gains.append(evidence.ratio(best, choice.paper[0]))
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
    # Of equally many wins that with the higher throughputs, each over the best one there.
    shares = {
        series: sum(_value(each) / _value(p[0]) for p in points for each in p
                    if each.variant == series)
        for series in wins
    }  # fmt: skip
    leader = max(wins, key=lambda series: (wins[series], shares[series]))
    gains = []
    for there in points:
        mine = [each for each in there if each.variant == leader]
        rest = [each for each in there if each.variant != leader]
        gains += [evidence.ratio(mine[0], rest[0])] if mine and rest else []
    beside = f", at {_times(gains)} the next" if gains else ", with no other to compare"
    return (
        leader,
        f"<b>{escape(_title(own[0], leader))}</b> {_won(leader, wins, len(own))}"
        + (f"{beside}{_alike(own, leader, wins)}."),
    )


def _won(leader: str, wins: Counter[str], count: int) -> str:
    alone = len(wins) == 1
    if count == 1:
        return "is the fastest" if alone else "has the highest throughput"
    where = "all" if wins[leader] == count else f"{wins[leader]} of"
    return f"is the fastest{'' if alone else ' or alike with it'} on {where} {count} queries"


def _alike(own: Sequence[Choice], leader: str, wins: Counter[str]) -> str:
    """Return who else is the fastest, or cannot be told apart from it."""
    count = len(own)
    others = [each for each in wins if each != leader]
    if not others:
        return ""
    if len(others) > MOST_NAMES:
        return f"; {len(others)} others are alike with the fastest"
    titles = [escape(_title(own[0], each)) for each in others]
    if count == 1:
        return f"; {', '.join(titles)} cannot be told apart from it"
    named = [f"{title} on {wins[each]}" for title, each in zip(titles, others, strict=True)]
    return f"; so {'is' if len(named) == 1 else 'are'} {', '.join(named)}"


def _times(gains: Sequence[tuple[float, float | None, float | None]]) -> str:
    """Return one ratio with its interval, or the span of several."""
    if len(gains) == 1:
        return f"{_ratio(gains[0])} times"
    ends = [f"{extreme(gain[0] for gain in gains):.2f}" for extreme in (min, max)]
    return f"{' to '.join(dict.fromkeys(ends))} times"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _ratio(gain: tuple[float, float | None, float | None]) -> str:
    value, low, high = gain
    return f"{value:.2f}" if low is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def _span(counts: Iterable[int]) -> str:
    found = sorted(set(counts))
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _row(choice: Choice) -> tuple[object, ...]:
    best, *rest = choice.all
    title = " = ".join(_title(choice, each) for each in choice.winners(choice.all))
    after = _ratio(evidence.ratio(best, rest[0])) if rest else None
    quick = choice.latencies[0] if choice.latencies else None
    return (
        choice.query or "none: sorting",
        choice.inputs,
        title,
        _value(best) / 1e6,
        _ratio(evidence.ratio(best, choice.paper[0])),
        after,
        _title(choice, quick.variant) if quick else None,
        _value(quick) if quick else None,
    )


def _queues_against_gate(found: Sequence[Choice], results: Results) -> str:
    """Return how the lock-free multi-queue and the ScaleGate compare here, and in the paper."""
    told, ahead, behind = [], 0, 0
    for queues_and_gates in LOCK_FREE_QUEUES:
        sentences, better, worse = _pairs_told(found, queues_and_gates)
        if sentences:
            told, ahead, behind = told + sentences, better, worse
    if not told:
        return ""
    cores = found[-1].all[0].cores
    if ahead and not behind:
        verdict = (
            f"In native code on {cores} cores a lock-free multi-queue beats the ScaleGate, which"
            " the paper's machine did not show."
        )
    elif behind and not ahead:
        verdict = "As in the paper, the ScaleGate beats the lock-free multi-queue here."
    else:
        verdict = "Neither the ScaleGate nor the lock-free multi-queue is ahead throughout."
    told.append(_PAPERS_ORDER)
    told += _processor_time(results, bool(ahead and not behind))
    details = " ".join(f"{_sentence(each).removesuffix('.')}." for each in told)
    return (
        "<h3>Lock-free queues against the ScaleGate</h3>"
        f"<p><b>{escape(verdict)}</b></p><p>{escape(details)}</p>"
    )


def _pairs_told(
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
        gains = [evidence.ratio(one, other) for _, one, other in pairs]
        names = _title(pairs[0][0], queues), _title(pairs[0][0], gate)
        where = KINDS[kind] if not kind else f"{len(pairs)} {KINDS[kind]}"
        counts = "" if not kind else f": ahead on {sum(better)}, behind on {sum(worse)}"
        inputs = _span(choice.inputs for choice, _, _ in pairs)
        told.append(
            f"{where}, {inputs} inputs: {names[0]} has {_times(gains)} the throughput of"
            f" {names[1]}{counts}"
        )
    return told, ahead, behind


def _processor_time(results: Results, ahead: bool) -> list[str]:
    """Return how long the threads work in the same pair; the reason, where that bears it out.

    `ahead` says whether there is something to explain: the queues are ahead.
    """
    told = []
    times = {}
    pair = LOCK_FREE_QUEUES[0]["OS"]
    figure = papers.figure(PAPER, "8")
    for variant in pair:
        sides = [
            [p for p in points_of(results, PAPER, figure, name) if p.variant == variant]
            for name in (INPUT, OUTPUT)
        ]
        if all(sides):
            times[variant] = tuple(_value(side[0]) for side in sides)
    if len(times) == 2:
        queues, gate = (times[variant] for variant in pair)
        names = [_named(variant, "aggregation") for variant in pair]
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
