"""The cost of a tuple by the paper's formulas (sections 2.2, 3.2, 3.3), and predictions from it.

The work on a tuple is split as in the paper; a window has `w` tuples, and each tuple finds
sigma_s = `match_rate` partners in the other window::

    search    down to where the band begins          heights * cost of a search in a node
    scan      through the band, expired ones too     sigma_s * cost of a comparison
    delete    the expired tuple                      height * cost of a deletion in a node
    insert    the tuple itself                       height * cost of an insertion in a node
    merge     a tuple's share of merges              elements moved, a tuple * cost of an element

The costs of a node, a comparison and an element are not assumed but fitted to the steps measured in
figure 10a, at the smallest of its windows (``fit``). Larger windows there, and figures 8b and 10b,
are predictions: they follow from these constants and w, L, m, D_I and the fan-outs alone. A
constant that the results do not give is NaN, and so is everything that would follow from it.

# ASSUME: heights are the logarithms that the paper writes, and not whole numbers of levels; a tree
# of less than one element has the height 0.
# ASSUME: a fan-out is the most children that a node has, as in the text's example (1024 subindexes
# "considering f_ib = 32 and w = 2**20"), however full nodes are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.declare import Figure
from experiments.judging.points import Point
from experiments.pim_tree.axes import immutable_fan_out
from experiments.predictions import Prediction, Predictions

B_PLUS_TREE, IM_TREE, PIM_TREE = "b-plus-tree", "im-tree", "pim-tree"
# The figure in which steps are measured, and to which the model is fitted.
FITTED_TO = "10a"
THROUGHPUT = "throughput_tps"


class Setting(NamedTuple):
    """The inputs of the model; those that an index does not have are ignored."""

    window: int  # w, tuples
    match_rate: float  # sigma_s, partners of a tuple
    fan_out: int  # f_b, of a B+-Tree's inner nodes
    immutable_fan_out: int  # f_ib, of an immutable B+-Tree's
    chain_length: int = 2  # L, subindexes
    merge_ratio: float = 0.125  # m
    insertion_depth: int = 2  # D_I; the root is at depth 0
    cores: int = 1  # P, of round robin


class Constants(NamedTuple):
    """The costs on this machine, ns; NaN if unknown."""

    search: float = math.nan  # lambda_b^s: a search in a node of a B+-Tree
    insert: float = math.nan  # lambda_b^i: an insertion, a node
    delete: float = math.nan  # lambda_b^d: a deletion, a node
    compare: float = math.nan  # tau_c: a comparison of two tuples
    immutable: float = math.nan  # lambda_ib^s: a search in a node of an immutable B+-Tree
    merge: float = math.nan  # an element that is moved by a merge, M over the elements


# For messages.
WORDS = {
    "search": "a search in a B+-Tree's node",
    "insert": "an insertion in a node",
    "delete": "a deletion in a node",
    "compare": "a comparison",
    "immutable": "a search in an immutable node",
    "merge": "an element of a merge",
}


class Costs(NamedTuple):
    """The cost of a tuple in each step, ns."""

    search: float
    scan: float
    delete: float
    insert: float
    merge: float

    @property
    def whole(self) -> float:
        """The total."""
        return sum(self)


class Memory(NamedTuple):
    """The memory of one window, in elements."""

    mutable: float  # T_I, right before a merge
    immutable: float  # T_S
    buffer: float  # space in which the next T_S is built
    window: float  # the sliding window, with expired tuples that are not yet merged


def height(entries: float, fan_out: int) -> float:
    """Return the height of a tree, H_b and H_S: log_f of its entries (section 2.2.1).

    Examples
    --------
    >>> height(32**3, 32)
    3.0
    """
    return round(max(math.log(entries) / math.log(fan_out), 0.0), 12) if entries > 0 else 0.0


def b_plus_tree(at: Setting, of: Constants) -> Costs:
    """Return the cost with one B+-Tree (section 2.2.1).

    (1) H_b * lambda_b^s + sigma_s * tau_c; (2) H_b * lambda_b^d; (3) H_b * lambda_b^i.
    """
    high = height(at.window, at.fan_out)
    scan = at.match_rate * of.compare
    return Costs(high * of.search, scan, high * of.delete, high * of.insert, 0.0)


def b_chain(at: Setting, of: Constants) -> Costs:
    """Return the cost with a chain of B+-Trees (section 2.2.2).

    (1) L * H_c * lambda_b^s, with H_c = H_b - log_fb(L), and the scan of sigma_s matching and
    sigma_s / (2 * (L - 1)) expired tuples; (2) nothing; (3) H_c * lambda_b^i.
    """
    high = height(at.window / at.chain_length, at.fan_out)
    scan = _in_chain(at) * of.compare
    return Costs(at.chain_length * high * of.search, scan, 0.0, high * of.insert, 0.0)


def ib_chain(at: Setting, of: Constants) -> Costs:
    """Return the cost with a chain of immutable B+-Trees behind an active B+-Tree (section 5.1).

    # ASSUME: the paper has no formula for it. It is that of the B-chain with L - 1 of the searches
    # in immutable trees, H_S - log_fib(L) high; an active subindex that is archived is read and
    # written once, element by element, as a merge does: one element moved for each tuple.
    """
    active = height(at.window / at.chain_length, at.fan_out)
    archived = height(at.window / at.chain_length, at.immutable_fan_out)
    search = active * of.search + (at.chain_length - 1) * archived * of.immutable
    return Costs(search, _in_chain(at) * of.compare, 0.0, active * of.insert, of.merge)


def _in_chain(at: Setting) -> float:
    """Return the tuples that a scan of a chain compares, matching and expired (section 2.2.2)."""
    return at.match_rate * (1 + 1 / (2 * (at.chain_length - 1)))


def round_robin(at: Setting, of: Constants) -> Costs:
    """Return the cost on P cores with a B+-Tree each, of all cores together (section 2.2.3).

    (1) P * H_p * lambda_b^s + sigma_s * tau_c, with H_p = H_b - log_fb(P); (2) H_p * lambda_b^d;
    (3) H_p * lambda_b^i. No figure of the model has it yet.
    """
    high = height(at.window / at.cores, at.fan_out)
    scan = at.match_rate * of.compare
    return Costs(at.cores * high * of.search, scan, high * of.delete, high * of.insert, 0.0)


def im_tree(at: Setting, of: Constants) -> Costs:
    """Return the cost with an IM-Tree (section 3.2.1).

    (1) H_I * lambda_b^s + H_S * lambda_ib^s, and the scan sigma_s * tau_c * (1 + m / 2);
    (2) M / (m * w), which is the share of merges; (3) H_I * lambda_b^i.

    # ASSUME: H_I is that of T_I half way to a merge, which has m * w / 2 tuples: the paper leaves
    # it open, and T_I grows evenly from nothing to m * w.
    """
    mutable = height(at.merge_ratio * at.window / 2, at.fan_out)
    stable = height(at.window, at.immutable_fan_out)
    search = mutable * of.search + stable * of.immutable
    return Costs(search, _filtered(at, of), 0.0, mutable * of.insert, _of_merges(at, of))


def pim_tree(at: Setting, of: Constants) -> Costs:
    """Return the cost with a PIM-Tree (section 3.3.2).

    (1) H_S * lambda_ib^s + H'_I * lambda_b^s, and the scan sigma_s * tau_c * (1 + m / 2);
    (2) M' / (m * w), M' = M; (3) D_I * lambda_ib^s + H'_I * lambda_b^i.

    # ASSUME: H'_I is that of a subindex of average size, m * w / 2 over their number: the paper
    # says "average height", and with a fixed distribution subindexes fill alike (section 3.3.3).
    """
    depth, count = subindexes(at)
    mutable = height(at.merge_ratio * at.window / 2 / count, at.fan_out)
    stable = height(at.window, at.immutable_fan_out)
    search = stable * of.immutable + mutable * of.search
    insert = depth * of.immutable + mutable * of.insert
    return Costs(search, _filtered(at, of), 0.0, insert, _of_merges(at, of))


def subindexes(at: Setting) -> tuple[int, int]:
    """Return the depth at which a PIM-Tree's subindexes hang, and their number (section 5.2).

    # ASSUME: nodes are full, as they are in an immutable tree that is built at once. If a small
    # window's tree is not that deep, the depth is that of its lowest inner nodes.

    Examples
    --------
    >>> subindexes(Setting(1 << 20, 2.0, 32, 32)), subindexes(Setting(1 << 12, 2.0, 32, 32))
    ((2, 1024), (1, 4))
    """
    nodes = [-(-at.window // at.immutable_fan_out)]  # of each level, from the leaves upwards
    while nodes[-1] > 1:
        nodes.append(-(-nodes[-1] // at.immutable_fan_out))
    inner = nodes[1:] or nodes
    depth = min(at.insertion_depth, len(inner) - 1)
    return depth, inner[-1 - depth]


def _filtered(at: Setting, of: Constants) -> float:
    """Return the cost of a scan that filters expired tuples of T_S (sections 3.2.1 and 3.3.2)."""
    return at.match_rate * of.compare * (1 + at.merge_ratio / 2)


def _of_merges(at: Setting, of: Constants) -> float:
    """Return a tuple's share of the merges, M / (m * w) (sections 3.2.1 and 3.3.2).

    # ASSUME: M is proportional to w * (1 + m): the paper names no formula, and a merge reads all of
    # T_S, w tuples, and of T_I, m * w, each of them once.
    """
    return of.merge * (1 + at.merge_ratio) / at.merge_ratio


def memory_of(at: Setting) -> Memory:
    """Return the memory of IM-Tree and PIM-Tree for a window, in elements (sections 3.2, 3.3).

    T_I has at most m * w, T_S w, the merge buffer w, and the sliding window m * w more than w. A
    PIM-Tree's are "almost the same". The text twice writes r for m.
    """
    fresh = at.merge_ratio * at.window
    return Memory(fresh, at.window, at.window, at.window + fresh)


FORMULAS: dict[str, Callable[[Setting, Constants], Costs]] = {
    B_PLUS_TREE: b_plus_tree,
    "b-chain": b_chain,
    "ib-chain": ib_chain,
    IM_TREE: im_tree,
    PIM_TREE: pim_tree,
}

# --- constants from measured steps ---------------------------------------------------------------

# Each constant, the step from which it is solved, and the trees used; ordered so that a constant
# follows those it needs. With one tree it is solved directly, with several by least squares: trees
# that share a term are all used; terms that only a B+-Tree has, or has alone, come from that tree.
SOLVED = (
    ("search", "search", (B_PLUS_TREE,)),
    ("insert", "insert", (B_PLUS_TREE,)),
    ("delete", "delete", (B_PLUS_TREE,)),
    ("compare", "scan", (B_PLUS_TREE, IM_TREE, PIM_TREE)),
    ("immutable", "search", (IM_TREE, PIM_TREE)),
    ("merge", "merge", (IM_TREE, PIM_TREE)),
)


class Fit(NamedTuple):
    """Constants, and the window whose steps gave them; 0 if no step was measured."""

    window: int
    constants: Constants


def setting_of(settings: Mapping[str, Any]) -> Setting:
    """Return the settings of a measured point as inputs of the model."""
    known = {name: settings[name] for name in Setting._fields if name in settings}
    return Setting(**{**known, "immutable_fan_out": immutable_fan_out(settings)})


def fit(points: Sequence[Point]) -> Fit:
    """Return the constants that the steps of figure 10a give at the smallest of its windows."""
    steps = {f"{step}_ns": step for step in Costs._fields}
    own = [p for p in points if p.quantity in steps and p.variant in FORMULAS]
    if not own:
        return Fit(0, Constants())
    window = min(p.settings["window"] for p in own)
    measured = {
        (p.variant, steps[p.quantity]): (setting_of(p.settings), p.value)
        for p in own
        if p.settings["window"] == window
    }
    found = Constants()
    for name, step, trees in SOLVED:
        equations = _equations(measured, found, name, step, trees)
        found = found._replace(**{name: _least_squares(list(equations))})
    return Fit(window, found)


def _equations(
    measured: Mapping[tuple[str, str], tuple[Setting, float]],
    found: Constants,
    name: str,
    step: str,
    trees: Sequence[str],
) -> Iterator[tuple[float, float]]:
    """Yield how often a tree's step uses the constant, and the ns that remain for it.

    The formulas are linear in the constants, so that they give both.
    """
    for tree in trees:
        if (tree, step) in measured:
            at, value = measured[tree, step]
            alone = Constants(*[0.0] * len(found))._replace(**{name: 1.0})
            times = getattr(FORMULAS[tree](at, alone), step)
            known = getattr(FORMULAS[tree](at, found._replace(**{name: 0.0})), step)
            yield times, value - known


def _least_squares(equations: Sequence[tuple[float, float]]) -> float:
    """Return the x for which each times * x is nearest to the rest; NaN unless it is above 0.

    A fitted constant of 0 or below is discarded: a step takes some time.
    """
    squares = sum(times * times for times, _ in equations)
    x = sum(times * left for times, left in equations) / squares if squares else math.nan
    return x if x > 0 else math.nan


# --- what figures draw ---------------------------------------------------------------------------


def predict(measured: Callable[[str], Sequence[Point]], figure: Figure) -> Predictions:
    """Return the model's predictions at each measured point of a figure.

    Parameters
    ----------
    measured : callable
        Maps the id of a figure of this paper to the figure's points.
    figure : Figure
    """
    fitted = fit(measured(FITTED_TO))
    values = []
    for variant, settings in _places(measured(figure.id), figure):
        costs = FORMULAS[variant](setting_of(settings), fitted.constants)
        same = figure.id == FITTED_TO and settings["window"] == fitted.window
        given = {f"{step}_ns": value for step, value in costs._asdict().items()}
        given[THROUGHPUT] = 1e9 / costs.whole
        if not math.isnan(costs.whole):
            values += [
                Prediction(variant, settings, name, given[name], same)
                for name in figure.quantities
                if name in given
            ]
    told = f"model, fitted at w = {fitted.window:,}"
    return Predictions(told, tuple(values), _lacking(fitted))


def _places(points: Sequence[Point], figure: Figure) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield series and settings of each measured point that has a formula, once."""
    seen = set()
    for point in points:
        place = (point.variant, tuple(sorted(point.settings.items())))
        asked = point.quantity in figure.quantities and point.variant in FORMULAS
        if asked and place not in seen:
            seen.add(place)
            yield point.variant, point.settings


def _lacking(fitted: Fit) -> str:
    """Return why predictions are missing, if any are."""
    if not fitted.window:
        return f"no step was measured for figure {FITTED_TO}"
    none = [WORDS[name] for name, value in fitted.constants._asdict().items() if math.isnan(value)]
    told = f"figure {FITTED_TO} at w = {fitted.window:,} does not tell what it takes:"
    return f"{told} {', '.join(none)}" if none else ""
