"""State and searches of predicates: ordered float32, exact ends of bands, wide integers."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from operators.core.jit import INTERPRETED, kernel
from operators.theta_join.family import R, S
from operators.theta_join.number_predicates import bands, condition, number_tables
from operators.theta_join.predicates import (
    CHUNK,
    BenchTables,
    bench_predicate,
    from_order,
    in_order,
    largest_below,
    smallest_above,
)
from operators.theta_join.window import (
    BLOCK,
    END,
    FOUND,
    PASS,
    make_comparing,
    make_window,
    make_window_steps,
)
from tests.assembly import PACKED, loops_of

FLOATS = np.array(
    [0.0, -0.0, 1e-38, -1e-38, 1e-3, 9.999999, 10.0, 10.000001, 19.999998, 4096.0, 9_989.9995,
     9_999.999, 10_000.0, -7.25, 3e38, -3e38, 0.1, 16_777_216.0], np.float32
)  # fmt: skip


@kernel
def _coded(values, out):
    for place in range(len(values)):
        out[place] = in_order(values[place])


@kernel
def _ends(values, offset, out):
    for place in range(len(values)):
        out[2 * place] = largest_below(values[place], np.float32(offset))
        out[2 * place + 1] = smallest_above(values[place], np.float32(offset))


def codes_of(values: np.ndarray) -> np.ndarray:
    out = np.zeros(len(values), np.int64)
    _coded(values, out)
    return out


def test_the_order_of_codes_is_that_of_floats():
    codes = codes_of(FLOATS)
    for one, its in zip(FLOATS, codes, strict=True):
        for other, others in zip(FLOATS, codes, strict=True):
            assert (one < other) == (its < others) and (one == other) == (its == others)
    assert [np.float32(from_order(int(code))) for code in codes] == FLOATS.tolist()


@pytest.mark.parametrize("offset", [10.0, -10.0])
def test_ends_of_bands_are_the_last_floats_that_match(offset):
    # If the band is much smaller than the spacing of floats, all values of a stretch match.
    values = FLOATS[np.abs(FLOATS) < 1e5]
    random = np.random.default_rng(3)
    values = np.concatenate([values, (1 + 9_999 * random.random(400)).astype(np.float32)])
    out = np.zeros(2 * len(values), np.int64)
    _ends(values, offset, out)
    step = np.float32(offset)
    for value, largest, smallest in zip(values, out[::2], out[1::2], strict=True):
        at, beyond = (np.float32(from_order(int(largest) + more)) for more in (0, 1))
        assert np.float32(at + step) <= value < np.float32(beyond + step)
        at, before = (np.float32(from_order(int(smallest) - less)) for less in (0, 1))
        assert np.float32(at + step) >= value > np.float32(before + step)


def found_by(predicate, tables, side: int, row: int, rows: int) -> list[int]:
    """Return the rows of the other side, all in a window, that match a row."""
    enter, ask, compare, _ = make_window_steps(predicate)

    @kernel
    def run(window, comparing, tables, side, row, rows):
        for other in range(rows):
            enter(window, (), tables, 1 - side, other, other, other, 0)
        ask(comparing, 0, tables, side, row, window, ())
        compare(comparing, 1, window, side)

    window = make_window(predicate, rows)
    comparing = make_comparing(predicate, window)
    run(window, comparing, tables, side, row, rows)
    found = []
    for chunk in range(int(comparing.ranges[FOUND])):
        position, mask = (int(comparing.found[2 * chunk + word]) for word in (0, 1))
        found += [position + bit for bit in range(CHUNK) if mask >> bit & 1]
    return found


@pytest.mark.parametrize("equal", [False, True])
def test_the_benchmarks_predicate_is_the_printed_formula_in_float32(equal):
    random = np.random.default_rng(5)
    rows = 300
    y = (1 + 60 * random.random(rows)).astype(np.float32)
    # Exactly at the ends of bands, where the rounding of b - 10 and b + 10 decides.
    b = np.concatenate([y[:100] + np.float32(10), y[100:200] - np.float32(10), y[200:]])
    b = np.nextafter(b, np.float32(np.inf) * random.choice([-1, 1], rows)).astype(np.float32)
    x, a = (random.integers(1, 40, rows).astype(np.int32) for _ in "xa")
    none = np.zeros(rows)
    tables = BenchTables(x, y, none.astype(np.int64), a, b, none, none.astype(np.uint8))
    ten, predicate = np.float32(10), bench_predicate(equal)
    for row in range(0, rows, 29):
        width = 0 if equal else 10
        by_r = (np.abs(x[row] - a) <= width) & (y[row] >= b - ten) & (y[row] <= b + ten)
        assert found_by(predicate, tables, R, row, rows) == np.flatnonzero(by_r).tolist()
        by_s = (np.abs(x - a[row]) <= width) & (y >= b[row] - ten) & (y <= b[row] + ten)
        assert found_by(predicate, tables, S, row, rows) == np.flatnonzero(by_s).tolist()


POWERS = tuple(sign * 2.0**k for k in range(-3, 24) for sign in (-1, 1))


def near(value: float) -> list[np.float32]:
    """Return a float32 and those next to it."""
    middle = np.float32(value)
    return [np.nextafter(middle, np.float32(end * np.inf)) for end in (-1, 1)] + [middle]


def test_ends_of_the_benchmarks_band_hold_one_float_to_either_side_whoever_asks():
    predicate, ten = bench_predicate(), np.float32(10)
    nothing = np.zeros(3, np.int64)
    ones = np.zeros(1, np.int32)
    wanted = np.zeros(4, np.int64)
    for b in (each for power in POWERS for each in near(power)):
        for y in (each for end in (-10, 10) for each in near(b + np.float32(end))):
            tables = BenchTables(
                ones, np.array([y]), nothing, ones, np.array([b]), nothing, nothing
            )
            printed = bool(y >= b - ten and y <= b + ten)
            for side, kept in ((S, y), (R, b)):
                predicate.prepare(tables, side, 0, wanted, 0)
                assert (wanted[2] <= in_order(kept) <= wanted[3]) == printed, (side, y, b)


@pytest.mark.parametrize("half_widths", [(0,), (3,), ((1 << 63) - 1,), (2, 0, 5)])
def test_bands_hold_at_the_ends_of_64_bits(half_widths):
    full = np.iinfo(np.int64)
    ends = [full.min, full.min + 1, -4, -1, 0, 2, 3, full.max - 3, full.max]
    columns = len(half_widths)
    random = np.random.default_rng(6)
    numbers = [random.choice(ends, columns * 80) for _ in "rs"]
    tables, predicate = number_tables(*numbers, half_widths), bands(columns)
    r, s = (each.reshape(-1, columns).tolist() for each in numbers)
    for row in range(0, 80, 11):
        wanted = [
            other
            for other, theirs in enumerate(s)
            if all(abs(u - v) <= w for u, v, w in zip(r[row], theirs, half_widths, strict=True))
        ]
        assert found_by(predicate, tables, R, row, 80) == wanted


def is_above_and_below(r_first, r_second, s_first, s_second):
    return r_first > s_first and 2 * r_second < s_second


@pytest.mark.parametrize("real", [False, True])
def test_a_condition_sees_both_numbers_of_both_tuples(real):
    random = np.random.default_rng(8)
    numbers = [random.integers(-30, 30, 2 * 80) / (4 if real else 1) for _ in "rs"]
    tables = number_tables(*numbers, real=real)
    # As plain Python, or compiled by the user.
    predicate = condition(njit(is_above_and_below) if real else is_above_and_below, 2, real)
    r, s = (each.reshape(-1, 2).tolist() for each in numbers)
    pairs = 0
    for row in range(0, 80, 11):
        wanted = [other for other in range(80) if is_above_and_below(*r[row], *s[other])]
        assert found_by(predicate, tables, R, row, 80) == wanted
        pairs += len(wanted)
        wanted = [other for other in range(80) if is_above_and_below(*r[other], *s[row])]
        assert found_by(predicate, tables, S, row, 80) == wanted
    assert 50 < pairs < 500


def is_between(r_low, r_high, r_kind, s_low, s_high, s_kind):
    return r_low < s_low and s_high < r_high and r_kind == s_kind


def test_a_condition_may_look_at_more_numbers():
    random = np.random.default_rng(9)
    r, s = (random.integers(0, 9, (80, 3)) for _ in "rs")
    tables, predicate = number_tables(r.ravel(), s.ravel()), condition(is_between, 3)
    pairs = 0
    for row in range(0, 80, 7):
        wanted = [other for other in range(80) if is_between(*r[row], *s[other])]
        assert found_by(predicate, tables, R, row, 80) == wanted
        pairs += len(wanted)
    assert 10 < pairs < 300


def shared_bits(r, s):
    return r & s


def test_a_condition_may_answer_any_number_that_is_true():
    numbers = np.arange(80) - 40
    tables = number_tables(numbers, numbers[::-1].copy())
    predicate = condition(shared_bits, 1)
    for row in (0, 7, 41, 79):
        own = int(numbers[row])
        wanted = [other for other in range(80) if own & int(numbers[::-1][other])]
        assert found_by(predicate, tables, R, row, 80) == wanted and 0 < len(wanted) < 80


def test_tuples_of_a_pass_see_the_window_as_it_was():
    predicate = bands(1)
    tables = number_tables(np.zeros(400), np.zeros(400), (0,))
    enter, ask, compare, purge = make_window_steps(predicate)

    @kernel
    def run(window, comparing, tables, out):
        position = 0
        for number in range(PASS):
            # More than one turn of the ring, in steps that do not align with chunks.
            for _ in range(37):
                enter(window, (), tables, S, 0, position, position, position - 60)
                position += 1
            purge(window, (), position - 50)
            ask(comparing, number, tables, R, 0, window, ())
            out[number] = position
        compare(comparing, PASS, window, R)

    window = make_window(predicate, 360)
    comparing, ends = make_comparing(predicate, window), np.zeros(PASS, np.int64)
    run(window, comparing, tables, ends)
    for number in range(PASS):
        end = int(ends[number])
        assert int(comparing.ranges[3 * number + END]) == end
        assert found_in(comparing, number) == list(range(max(end - 50, 0), end))


def found_in(comparing, number):
    """Return the positions that a tuple of a pass was found to match."""
    found = []
    for chunk in range(int(comparing.ranges[3 * number + FOUND])):
        place = number * comparing.stride + 2 * chunk
        position, mask = (int(comparing.found[place + word]) for word in (0, 1))
        found += [position + bit for bit in range(CHUNK) if mask >> bit & 1]
    return found


def test_every_chunk_of_several_blocks_may_match_and_has_room():
    rows, turn = 2 * BLOCK + 3 * CHUNK + 5, BLOCK // 2 + 9
    last = np.arange(turn + rows) % 3
    tables = number_tables(
        np.column_stack([np.zeros(PASS), np.arange(PASS) % 3]).ravel(),
        np.column_stack([np.zeros(turn + rows), last]).ravel(),
        (0, 0),
    )
    predicate = bands(2)
    enter, ask, compare, purge = make_window_steps(predicate)

    @kernel
    def run(window, comparing, tables, turn, rows):
        for position in range(turn + rows):
            # Once all of it is full, the ring has wrapped around.
            purge(window, (), position - rows + 1)
            enter(window, (), tables, S, position, position, position, position - rows + 1)
        for number in range(PASS):
            ask(comparing, number, tables, R, number, window, ())
        compare(comparing, PASS, window, R)

    window = make_window(predicate, rows)
    comparing = make_comparing(predicate, window)
    run(window, comparing, tables, turn, rows)
    for number in range(PASS):
        wanted = [at for at in range(turn, turn + rows) if last[at] == number % 3]
        assert found_in(comparing, number) == wanted


COMPARED = {"band": bench_predicate(), "equal": bench_predicate(equal=True), "one band": bands(1),
            "two bands": bands(2)}  # fmt: skip


@pytest.mark.skipif(INTERPRETED, reason="there is no machine code")
@pytest.mark.parametrize("side", [R, S], ids=["R", "S"])
@pytest.mark.parametrize("name", COMPARED)
def test_the_comparison_is_vectorised(name, side):
    predicate = COMPARED[name]
    _, _, compare, _ = make_window_steps(predicate)

    @kernel
    def run(comparing, window):
        compare(comparing, PASS, window, side)

    window = make_window(predicate, 256)
    # Compiled afresh: kernels from the cache have no assembly.
    fresh = njit(error_model="numpy")(run.py_func)
    fresh(make_comparing(predicate, window), window)
    (text,) = fresh.inspect_asm().values()
    # In a loop over chunks.
    assert max(len(PACKED.findall("\n".join(loop))) for loop in loops_of(text)) >= 4


def test_a_comparison_outside_of_loops_does_not_count():
    text = "f:\n\tvpcmpgtd\t%zmm1, %zmm2, %k1\n.LBB0_1:\n\taddl\t$1, %eax\n\tjne\t.LBB0_1\n"
    assert loops_of(text) == [[".LBB0_1:", "\taddl\t$1, %eax"]]
