"""Raw results of the fourth paper's figures, made by the formulas of the cost model."""

from __future__ import annotations

from typing import Any

from experiments import papers, series
from experiments.declare import Figure, Series
from experiments.families.join.columns import STEP_NAMES, STEPS
from experiments.pim_tree.cost_model import FORMULAS, Constants, Costs, setting_of
from tests.invented import row

PAPER = "pim_tree"
DECLARED = {figure.id: figure for figure in papers.paper(PAPER).figures}
# All different, and none a multiple of another.
CONSTANTS = Constants(
    search=7.0, insert=11.0, delete=13.0, compare=17.0, immutable=3.0, merge=1.9
)  # fmt: skip
TREES = DECLARED["10a"].lines
TUPLES = 100_000
FIT_AT, LARGER = 1 << 12, 1 << 17


def costs_at(figure: Figure, line: str, constants: Constants = CONSTANTS, **swept: Any) -> Costs:
    """Return the costs of a line of a figure by the formulas."""
    return FORMULAS[line](setting_of(series.resolved(figure, Series(line), swept)), constants)


def steps_of(line: str, window: int, constants: Constants = CONSTANTS, **given: Any) -> dict:
    """Return the row of figure 10a in which each step takes the time of the formulas."""
    costs = costs_at(DECLARED["10a"], line, constants, window=window)._asdict()
    merged = TUPLES * costs["merge"] / 1e9
    split = {name: TUPLES * costs[name] / 1e9 for name in STEP_NAMES}
    seen = {
        "phase": STEPS,
        "tuples": TUPLES,
        "seconds": merged + sum(split.values()),
        "merge_seconds": merged,
        # The clocks give the split of the time, not the length.
        "step_seconds": {name: 0.02 * value for name, value in split.items()},
        "stamped": TUPLES // 65,
    }
    return row(DECLARED["10a"], line, at={"window": window}, **_of_any(window) | seen | given)


def rate_of(figure: str, line: str, tps: float, **swept: Any) -> dict:
    """Return a closed row of a figure."""
    declared = DECLARED[figure]
    at = dict(swept)
    x = at.pop(declared.x.setting)
    given = _of_any(swept["window"]) | {"throughput_tps": tps}
    return row(declared, line, x, at, **given)


def all_steps(windows: tuple[int, ...] = (FIT_AT, LARGER), **given: Any) -> list[dict]:
    """Return the rows of figure 10a."""
    return [steps_of(line, window, **given) for line in TREES for window in windows]


def _of_any(window: int) -> dict[str, Any]:
    empty = dict.fromkeys(("search", "insert", "buffer", "window"), window)
    return {"threads": 1, "half_width": 2_147, "merge_seconds": 0.0, "footprint": empty}
