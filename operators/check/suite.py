"""All checks of one variant, in four sizes.

================  =================================================================================
``SHARE``         in every run of the tests
``PLAIN``         ``millrace check``
``DEEP``          ``millrace check --deep``: one preemption more, and the scenarios marked deep
``ORDERS``        few schedules, on the memories that show a missing order: ``--orders``; and
                  ``MORE_ORDERS``, where those show nothing
================  =================================================================================

Bounds rise one by one, so the first failing schedule has the fewest preemptions. TSO is left to
PSO, which allows more, and to ``DEEP``.
"""

from __future__ import annotations

import ast
import importlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from operators import registry
from operators.check import progress
from operators.check.assertions import idle
from operators.check.awaits import waited_in, waits_of
from operators.check.explore import Explorer
from operators.check.families import bounds_of, declared_for, scenarios, uncovered
from operators.check.pct import random_schedules
from operators.check.reached import Reached
from operators.check.scenario import Failure, Scenario
from operators.check.shorten import shorten
from operators.contract import Variant
from operators.core.sources import import_closure

SEED = 20_261_121
# The schedules of each program that a search for one failure begins with: most faults show in any.
FIRST_LOOK = 6
# The most calls of each thread in a graph of states: one call more multiplies the number of
# states several times.
MOST_CALLS = 3
# In a scenarios module: by variant and assertion the reason why it can fail on no state.
CANNOT_FAIL = "CANNOT_FAIL"


@dataclass(frozen=True)
class Size:
    """The bounds of a check.

    Attributes
    ----------
    preemptions : dict
        By kind of memory, the largest number.
    random : int
        Random schedules on each kind of memory, half by priorities and half random walks, shared
        among a structure's scenarios.
    graphs : int
        How many scenarios get a graph of states; a blocking structure gets graphs until one shows
        the blocking.
    states : int
        The most states of a graph; of a longer program only the first calls are taken.
    all_states : float
        The most states of all graphs of a structure together; the report names the programs that
        get none. Those of ``SHARE`` get theirs always.
    seconds : float
        Of processor time, for all explorations of a structure; an exploration leaves unused time to
        the later ones. One that exceeds its share is cut off, and the report says so; but one that
        ``PLAIN`` has as well takes its steps first.
    schedules : float
        The most schedules of one exploration; the cut is at the same schedule each time.
    steps : float
        The most steps of one exploration, once it has the schedules of ``SHARE``.
    most : dict
        By kind of memory a smaller number of schedules: where a load draws among old stores, an
        exploration has many times the schedules.
    deep : bool
        Whether scenarios marked deep are run.
    """

    preemptions: Mapping[str, int]
    random: int
    graphs: int
    states: int
    all_states: float = math.inf
    seconds: float = math.inf
    schedules: float = math.inf
    steps: float = math.inf
    most: Mapping[str, int] = field(default_factory=dict)
    deep: bool = False


# The schedules before the cut are no sample: an exploration changes the last choice first, so the
# first hundreds of schedules preempt late. The random schedules cover all kinds. With these every
# mark is passed, and no mutant of the catalogue survives ``--mutants``, which asks a plain check
# about those that are left.
SHARE = Size({"sc": 2, "pso": 1, "rc11": 0}, random=120, graphs=2, states=1_000, schedules=50)
PLAIN = Size(
    {"sc": 2, "pso": 1, "rc11": 1}, random=3_000, graphs=100, states=4_000,
    all_states=10_000, steps=40_000, most={"rc11": 150},
)  # fmt: skip
DEEP = Size(
    {"sc": 3, "pso": 2, "tso": 1, "rc11": 2}, random=6_000, graphs=100, states=8_000,
    all_states=20_000, seconds=30, deep=True,
)  # fmt: skip
# Where an order is weakened: only races and old stores show it.
ORDERS = Size({"sc": 1, "rc11": 1}, random=600, graphs=0, states=0, schedules=60)
# Once more, for an order that these do not miss.
MORE_ORDERS = replace(ORDERS, random=1_200, schedules=600)


@dataclass
class Finding:
    """A failure of a scenario, or of a variant whose scenarios cannot be made.

    Attributes
    ----------
    scenario : str
        The scenario's name, or ``family/id`` of the variant.
    check, message : str
        As in `Failure`.
    schedule : str
        Replays the failure; empty if it came before the first step. The message then lists the
        program.
    """

    scenario: str
    check: str
    message: str
    schedule: str


@dataclass
class Report:
    """The extent of a check of one variant, and the findings.

    Attributes
    ----------
    findings : list of Finding
        At most one a scenario.
    marks : dict
        By mark the shortest schedule that passes it.
    cut : list of str
        Explorations that exceeded their time or number of schedules, and graphs that were too
        large.
    uncovered : list of str
        Values of a table of dimensions that no program has, with the reasons.
    rests : int
        States between calls on which invariants were judged, and states at the end.
    assertions : dict
        By assertion of the invariants, on how many of these states it could have failed.
    idle_assertions : list of str
        Those that could have failed on none, unless the family declares it.
    unwaited : list of str
        Loops that wait for other threads and that no graph of states has gone round.
    blocking : str
        For a blocking variant, a schedule after which stopping a thread stops the others.
    """

    family: str
    variant: str
    scenarios: int = 0
    schedules: int = 0
    steps: int = 0
    states: int = 0
    rests: int = 0
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    marks: dict[str, str] = field(default_factory=dict)
    missing_marks: list[str] = field(default_factory=list)
    # Not a Counter: ``dataclasses.asdict`` would count its pairs.
    assertions: dict[str, int] = field(default_factory=dict)
    idle_assertions: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    uncovered: list[str] = field(default_factory=list)
    unwaited: list[str] = field(default_factory=list)
    blocking: str = ""


Say = Callable[[str], None]


def check_variant(
    variant: Variant, size: Size, say: Say = lambda text: None, first_only: bool = False
) -> Report:
    """Run all scenarios of a variant on every memory, then check progress and marks.

    Parameters
    ----------
    variant : Variant
    size : Size
    say : callable
        Called with each stage of the check, a line at a time.
    first_only : bool
        End at the first finding. A few random schedules of every program then come before all
        others: a fault shows in some program at once, and seldom in the first. Where the source
        says that a function was changed (``reached``), the other schedules are those of the
        programs that have run it by then, and marks, which are passed elsewhere, are not missed.
    """
    for name, known in (("SHARE", SHARE), ("PLAIN", PLAIN)):
        if size == known:
            size = replace(size, **bounds_of(variant, name))
    report = Report(variant.family, variant.id)
    started = time.perf_counter()
    lengths: dict[str, tuple[int, int]] = {}
    try:
        chosen = [s for s in scenarios(variant) if size.deep or not s.deep]
    except Failure as failure:
        report.findings.append(_found(f"{variant.family}/{variant.id}", failure))
        report.seconds = time.perf_counter() - started
        return report
    report.uncovered = uncovered(variant)
    allowance = _Allowance(size, len(chosen), report.cut)
    searched = _look_at_all(chosen, report, say) if first_only else chosen
    for scenario in searched if not report.findings else ():
        report.scenarios += 1
        try:
            random = -(-size.random // len(chosen))
            if not size.deep:
                random = int(min(random, scenario.schedules))
            for explorer in _check_scenario(scenario, size, random, say, allowance):
                _add(report, explorer, lengths)
        except Failure as failure:
            report.findings.append(_found(scenario.name, failure))
            if first_only:
                break
    if not (first_only and report.findings):
        if size.graphs:
            _check_progress(variant, chosen, size, report, say)
        if searched == chosen:
            report.missing_marks = sorted(marks_of(variant) - set(report.marks))
        report.idle_assertions = idle(
            report.assertions, declared_for(variant, CANNOT_FAIL).get(variant.id, {})
        )
    report.seconds = time.perf_counter() - started
    return report


def _look_at_all(chosen: list[Scenario], report: Report, say: Say) -> list[Scenario]:
    """Run a few schedules of each program, until one fails.

    Returns
    -------
    list of Scenario
        Those to search further: that have run what was changed, if any has; and those of one
        thread, whose only schedule is still to be run.
    """
    searched, reached = [], False
    for scenario in chosen:
        say(f"{scenario.name}: a first look")
        before = Reached.times
        try:
            explorer = Explorer(scenario)
            if len(scenario.programs) == 1:
                searched.append(scenario)
                continue
            _run_at_random(explorer, FIRST_LOOK)
        except Failure as failure:
            report.findings.append(_found(scenario.name, failure))
            break
        if Reached.times > before:
            searched.append(scenario)
            reached = True
    return searched if reached else chosen


def _found(name: str, failure: Failure) -> Finding:
    return Finding(name, failure.check, failure.message, failure.schedule)


def _add(report: Report, explorer: Explorer, lengths: dict[str, tuple[int, int]]) -> None:
    tally = explorer.tally
    report.schedules += tally.schedules
    report.steps += tally.steps
    if explorer.scenario.invariants is not None:
        report.rests += len(explorer.judge.rests) + len(explorer.judge.states)
        for each, states in explorer.judge.assertions.counts.items():
            report.assertions[each] = report.assertions.get(each, 0) + states
    for mark, (turns, steps, schedule) in tally.marks.items():
        if mark not in lengths or (turns, steps) < lengths[mark]:
            lengths[mark] = turns, steps
            report.marks[mark] = schedule


class _Allowance:
    """The time that all explorations of a structure share, and the most schedules of each.

    The most steps of each divide the time of a check by what its programs cost: where one has too
    many schedules, the others still have all of theirs.
    """

    def __init__(self, size: Size, scenarios: int, cut: list[str]) -> None:
        self._ends = time.process_time() + size.seconds
        self._most, self._by_memory = size.schedules, size.most
        self._steps = size.steps
        self._deep = size.deep
        self._left = scenarios * sum(most + 1 for most in size.preemptions.values())
        self._cut = cut

    def spend(self, explorer: Explorer, preemptions: int, what: str) -> None:
        """Run every schedule of a program, as far as the limits on time and number allow."""
        tally = explorer.tally
        least = PLAIN.steps if preemptions <= PLAIN.preemptions.get(explorer.memory, -1) else 0
        most = self._most if self._deep else min(self._most, explorer.scenario.schedules)
        most = min(most, self._by_memory.get(explorer.memory, most))
        began, spent = tally.steps, False
        now = time.process_time()
        ends = now + (self._ends - now) / self._left
        self._left -= 1
        with closing(explorer.every_schedule(preemptions)) as schedules:
            for number, _ in enumerate(schedules, 1):
                if number > most:
                    self._cut.append(f"{what}, after {most:g} schedules")
                elif spent and number > SHARE.schedules:
                    self._cut.append(f"{what}, after {number} schedules, by their steps")
                elif time.process_time() > ends and tally.steps - began > least:
                    self._cut.append(f"{what}, after {number} schedules, by their time")
                else:
                    spent = tally.steps - began > self._steps
                    continue
                break


def _check_scenario(
    scenario: Scenario, size: Size, random: int, say: Say, allowance: _Allowance
) -> Iterator[Explorer]:
    """Explore a scenario on each memory, the quickest first; yield each finished explorer."""
    for memory, most in size.preemptions.items():
        explorer = Explorer(scenario, memory)
        for preemptions in range(most + 1):
            what = f"{scenario.name}: {memory}, {preemptions} preemptions"
            say(what)
            allowance.spend(explorer, preemptions, what)
        # One thread has one schedule.
        if len(scenario.programs) > 1:
            say(f"{scenario.name}: {memory}, {random} random schedules")
            _run_at_random(explorer, random)
        yield explorer


def _run_at_random(explorer: Explorer, count: int) -> None:
    """Run schedules by priorities and as many random walks; shorten the first that fails."""
    try:
        for walk in (False, True):
            for _ in random_schedules(
                explorer.scenario, count=-(-count // 2), seed=SEED, explorer=explorer, walk=walk
            ):
                pass
    except Failure as failure:
        raise shorten(explorer, failure) from failure


# --- progress ------------------------------------------------------------------------------------


def _check_progress(
    variant: Variant, chosen: list[Scenario], size: Size, report: Report, say: Say
) -> None:
    graphs, states = 0, 0
    without: list[str] = []
    waited: set[str] = set()
    # A thread alone waits for nobody.
    drawn = [each for each in chosen if each.graph and len(each.programs) > 1]
    # A blocking structure needs one graph that shows it: some programs share no lock.
    blocking = variant.progress == "blocking"
    always = {each.name for each in spread(drawn, SHARE.graphs)}
    for scenario in drawn if blocking else spread(drawn, size.graphs):
        if report.blocking:
            break
        if any(f.scenario == scenario.name for f in report.findings):
            continue
        if states >= size.all_states and not blocking and scenario.name not in always:
            without.append(scenario.name)
            continue
        say(f"{scenario.name}: the graph of its states")
        try:
            graph, made = _largest_graph(scenario, size, upwards=not blocking)
            states += made
            if graph is None:
                report.cut.append(
                    f"{scenario.name}: the graph of its more than {size.states} states"
                )
                continue
            graphs += 1
            waited |= waited_in(graph.turns)
            report.states += len(graph.nodes)
            if variant.progress == "lock-free":
                progress.check_lock_free(graph)
            elif variant.progress == "obstruction-free":
                progress.check_obstruction_free(graph)
            else:
                report.blocking = progress.find_blocking(graph) or ""
        except Failure as failure:
            report.findings.append(_found(scenario.name, failure))
    if without:
        report.cut.append(
            f"the graphs of {len(without)} programs, beyond {size.all_states} states of others:"
            f" {', '.join(without)}"
        )
    report.unwaited = sorted(waits_of(variant) - waited)
    if blocking and not report.blocking and graphs:
        message = "declared blocking, but no thread that is stopped stops the others"
        report.findings.append(Finding(chosen[0].name, "progress", message, ""))
    if not graphs and not report.findings:
        message = (
            f"declared {variant.progress}, but every program has more than {size.states} states"
        )
        report.findings.append(Finding(chosen[0].name, "progress", message, ""))


def spread(chosen: list[Scenario], count: int) -> list[Scenario]:
    """Return `count` scenarios spread evenly over the list, which begins with the simplest."""
    every = max(1, len(chosen) // count)
    return chosen[every // 2 :: every][:count]


def _largest_graph(
    scenario: Scenario, size: Size, upwards: bool
) -> tuple[progress.Graph | None, int]:
    """Return the graph of a scenario, or of its first calls if it has too many states.

    Upwards, from one call a thread on, at most one graph is made in vain; where all graphs together
    have a limit, none is tried if twice the states would be too many. A thread that holds a lock
    over several calls has to reach the last one, so a blocking structure starts from the whole
    program.

    Returns
    -------
    graph : Graph or None
    states : int
        Those made, also in vain.
    """
    most = min(max(map(len, scenario.programs)), MOST_CALLS)
    found, states = None, 0
    enough = size.states
    if size.all_states < math.inf:
        enough = max(size.states // 2, SHARE.states)
    for calls in range(1, most + 1) if upwards else range(most, 0, -1):
        programs = tuple(program[:calls] for program in scenario.programs)
        try:
            found = progress.Graph(replace(scenario, programs=programs), size.states)
        except progress.TooManyStates:
            states += size.states
            if upwards:
                break
        else:
            states += len(found.nodes)
            if not upwards or len(found.nodes) > enough:
                break
    return found, states


# --- marks ---------------------------------------------------------------------------------------


def marks_of(variant: Variant) -> set[str]:
    """Return the marks of the variant's module, searched in its import closure.

    A mark belongs to a module if its name begins with the module's name, or with that name, "_" and
    a suffix for a part. A part that serves several variants names the one whose scenarios pass the
    mark.
    """
    module = importlib.import_module(registry.module_of(variant))
    stem = module.__name__.rpartition(".")[2]
    written = set().union(*map(marks_in, import_closure(Path(module.__file__))))
    return {name for name in written if f"{name.partition(':')[0]}_".startswith(f"{stem}_")}


def marks_in(file: Path) -> set[str]:
    """Return the names in the calls of ``mark`` in a source file."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "mark"
        and isinstance(node.args[0], ast.Constant)
    }
