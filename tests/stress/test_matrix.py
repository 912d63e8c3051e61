"""Every variant against its oracle over the proof matrix: a pairwise cover, or the product."""

from __future__ import annotations

from itertools import product

import pytest

from operators.aggregation.queries import QUERIES
from operators.check.pairwise import cover
from operators.core.jit import INTERPRETED
from operators.registry import variants
from tests.stress import gate_matrix, join_matrix, matrix
from tests.stress.gate_matrix import GateCell, run_gate_cell
from tests.stress.join_matrix import JoinCell, run_join_cell
from tests.stress.matrix import Cell, product_of, run_cell
from tests.stress.shapes import FEW_TUPLES


def covering(kind: type, dimensions, allowed, compiled: bool = True) -> list:
    """Return the cells of a cover as parameters, with one worker for each variant.

    Two workers with the same variant would compile the same kernels. Interpreted, a normal run has
    one cell of each variant: the contract shows that the source runs interpreted, and the proving
    ground covers schedules. Compiled, it has all cells or none.
    """
    found, seen = [], set()
    for case in cover(dimensions(full=False), allowed, seed=1):
        cell = kind(**case)
        light = compiled if not INTERPRETED else cell.variant not in seen
        seen.add(cell.variant)
        marks = [pytest.mark.xdist_group(cell.variant), *([] if light else [pytest.mark.full])]
        found.append(pytest.param(cell, id=str(cell), marks=marks))
    return found


@pytest.mark.parametrize("cell", covering(Cell, matrix.dimensions, matrix.in_cover))
def test_pairwise_cover(cell, run):
    run(run_cell, cell)


@pytest.mark.parametrize("cell", covering(GateCell, gate_matrix.dimensions, gate_matrix.allowed))
def test_pairwise_cover_of_gates(cell, run):
    run(run_gate_cell, cell)


@pytest.mark.parametrize(
    "cell",
    [
        *(
            pytest.param(cell, id=str(cell), marks=pytest.mark.xdist_group(cell.variant))
            for cell in join_matrix.LIGHT
        ),
        pytest.param(
            join_matrix.WIDE,
            id=str(join_matrix.WIDE),
            marks=[] if INTERPRETED else [pytest.mark.full],
        ),
        *covering(JoinCell, join_matrix.dimensions, join_matrix.allowed, compiled=False),
    ],
)
def test_pairwise_cover_of_joins(cell, run):
    run(run_join_cell, cell)


def compiled_product(test):
    """Mark a test of hundreds of thousands of cells; interpreted, it would take days."""
    reason = "the product is of the compiled forms"
    for mark in (pytest.mark.skipif(INTERPRETED, reason=reason), pytest.mark.timeout(7200)):
        test = mark(test)
    return pytest.mark.full(test)


def run_all(run, function, cells) -> None:
    """Run cells, each on few tuples, and fail with the count of the wrong ones."""
    failed = []
    for cell in cells:
        try:
            run(function, cell, FEW_TUPLES)
        except Exception as failure:
            failed.append((str(cell), failure))
    assert not failed, f"{len(failed)} cells; the first: {failed[:3]}"


@compiled_product
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("inputs", matrix.dimensions(full=True)["inputs"])
def test_product(inputs, query, run):
    run_all(run, run_cell, product_of(inputs=inputs, query=query))


@compiled_product
@pytest.mark.parametrize("variant", variants("gate"), ids=lambda variant: variant.id)
def test_product_of_gates(variant, run):
    values = {**gate_matrix.dimensions(full=True), "variant": [variant.id]}
    rows = (dict(zip(values, row, strict=True)) for row in product(*values.values()))
    run_all(run, run_gate_cell, (GateCell(**row) for row in rows if gate_matrix.allowed(row)))


@compiled_product
@pytest.mark.parametrize("threads", join_matrix.dimensions(full=True)["threads"])
@pytest.mark.parametrize("variant", join_matrix.dimensions(full=True)["variant"])
def test_cover_of_joins_at_every_number_of_threads(variant, threads, run):
    # The product has millions of cells: for each join and number of threads, cover the rest.
    values = {
        **join_matrix.dimensions(full=True),
        "variant": [variant],
        "threads": [threads],
    }
    cells = (
        JoinCell(**case) for seed in range(4) for case in cover(values, join_matrix.allowed, seed)
    )
    run_all(run, run_join_cell, cells)


def test_the_product_has_every_value_of_every_dimension():
    cells = list(product_of(inputs=2, query="k-OI"))
    for name, values in matrix.dimensions(full=True).items():
        if name not in ("inputs", "query"):
            assert {getattr(cell, name) for cell in cells} == set(values), name


@pytest.mark.parametrize(
    "dimensions", [matrix.dimensions, gate_matrix.dimensions, join_matrix.dimensions]
)
def test_a_cover_has_the_values_of_the_product_and_of_numbers_both_ends(dimensions):
    few, all_values = dimensions(full=False), dimensions(full=True)
    assert list(few) == list(all_values)
    for name, values in few.items():
        whole = all_values[name]
        if isinstance(values[0], int):
            assert set(values) <= set(whole)
            assert (min(values), max(values)) == (min(whole), max(whole)), name
        else:
            assert values == whole, name
