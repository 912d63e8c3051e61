"""Counted work, compared with counts by hand."""

from __future__ import annotations

import pytest

from experiments.families.streamcloud.counting import counts_of
from operators.streamcloud.algebra import Input, Product, Query, TimeWindow
from operators.streamcloud.carriers import serial
from operators.streamcloud.coding import encode_inputs
from operators.streamcloud.instance import Work
from operators.streamcloud.parts import Parts
from operators.streamcloud.rows import pack
from tests.covering import interpreted_is_enough
from tests.operators.streamcloud.carrying import inputs_of, plan_of
from tests.operators.streamcloud.test_carriers import query_named


class Watched(Parts):
    """A plan whose channels are watched: senders, receivers, and the outputs' rows."""

    def __init__(self, *given):
        super().__init__(*given)
        self.used, self.to_outputs = set(), Work()

    def step(self, place, number, rows):
        sent = super().step(place, number, rows)
        self.used |= {
            (place, number, each.to, each.row.dest) for each in sent if not self.is_output(each.to)
        }
        return sent

    def keep(self, place, rows):
        for row in rows:
            self.to_outputs += Work(
                rows_out=1, tuples_out=row.batch.shape[1], bytes_out=len(pack(row))
            )
        super().keep(place, rows)


def counted(query, streams, strategy, instances, blob=5):
    """Return the counts of a run, and the channels between instances that were used."""
    plan = plan_of(query, streams, strategy, instances)
    words, coding = encode_inputs(query, inputs_of(query, streams))
    parts = Watched(plan, words, coding, blob)
    serial.run(parts)
    assert parts.closed
    tuples = sum(len(stream) for each in streams.values() for stream in each)
    return counts_of(plan, parts.work(), parts.to_outputs, tuples), len(parts.used)


# --- a grid of root N by root N -------------------------------------------------------------------

LEFT, RIGHT = 60, 40


@interpreted_is_enough
@pytest.mark.parametrize(
    ("instances", "rows", "columns"), [(1, 1, 1), (4, 2, 2), (6, 2, 3), (9, 3, 3)]
)
def test_a_grid_shares_pairs_out_and_makes_none(instances, rows, columns):
    schema = {"a": "int64"}
    query = Query("pairs", Product("pairs", (Input("left", schema), Input("right", schema)),
                                   TimeWindow(1000), {"a": "left.a"},
                                   where="left.a + right.a < 0"))  # fmt: skip
    streams = {"left": [[(ts, ts) for ts in range(LEFT)]],
               "right": [[(ts, ts) for ts in range(RIGHT)]]}  # fmt: skip
    found, _ = counted(query, streams, "subquery-cluster", instances)
    tuples = LEFT + RIGHT
    # All of one stream is in the window of all of the other.
    assert found["all_comparisons"] == LEFT * RIGHT / tuples
    share = LEFT * RIGHT / tuples / instances
    assert share <= found["most_comparisons"] < 2 * share
    # Each tuple of the left goes to a row of the grid, each of the right to a column.
    least = (LEFT / rows + RIGHT / columns) / tuples
    assert least <= found["most_tuples"] < 2 * least
    assert found["hops_a_tuple"] == found["channels"] == 0


# --- figure 2 -------------------------------------------------------------------------------------

CALLS, NUMBERS, DISTRICTS = 24, 4, 2
# A call every ten seconds, each from one number that is reported once, and long enough for both
# filters. Windows of a minute begin every ten seconds. The first would begin before the first call,
# but a window begins at 0 at the earliest.
CALLED = [(ts, ts // 10 % NUMBERS, 0, 300, ts // 10 % DISTRICTS) for ts in range(0, 10 * CALLS, 10)]
REPORTS = [(ts, ts // 10 % NUMBERS) for ts in range(0, 10 * CALLS, 10)]
# A number is reported every 40 s, so that a call matches one report, and those 40 s before and
# after.
PAIRS = CALLS + 2 * (CALLS - NUMBERS)


def groups_of_windows():
    """Return the number of rows of the aggregate: the districts of each window."""
    # A pair has the time of the later tuple.
    times = [
        (max(call, report), district)
        for call, number, _, _, district in CALLED
        for report, reported in REPORTS
        if reported == number and abs(call - report) <= 60
    ]
    assert len(times) == PAIRS
    return len({
        (begin, district)
        for ts, district in times
        for begin in range(0, ts + 1, 10)
        if ts < begin + 60
    })  # fmt: skip


# By strategy, the number of tuples sent between instances.
HOPS = {
    # lengths, long, known, longer, busy, means: each forwards its tuples.
    "operator-cluster": CALLS + CALLS + PAIRS + PAIRS + groups_of_windows(),
    # The part before the join, the join with the next filter, the aggregate with its map.
    "subquery-cluster": CALLS + PAIRS,
    "query-cluster": CALLS + PAIRS,
}
CHANNELS = {"operator-cluster": 5, "subquery-cluster": 2, "query-cluster": 2}


@interpreted_is_enough
@pytest.mark.parametrize("instances", [1, 3])
@pytest.mark.parametrize("strategy", HOPS)
def test_hops_and_channels_of_figure_2(strategy, instances):
    streams = {"calls": [CALLED], "suspects": [REPORTS]}
    found, used = counted(query_named("figure-2"), streams, strategy, instances)
    assert found["hops_a_tuple"] * (CALLS + len(REPORTS)) == pytest.approx(HOPS[strategy])
    assert found["channels"] == used == CHANNELS[strategy] * instances**2


@interpreted_is_enough
def test_bytes_and_rows_are_what_goes_between_instances():
    streams = {"calls": [CALLED], "suspects": [REPORTS]}
    tuples = CALLS + len(REPORTS)
    one, _ = counted(query_named("figure-2"), streams, "subquery-cluster", 1, blob=1000)
    rows = one["rows_a_kilotuple"] * tuples / 1000
    # A call has a key of three words, followed by caller, district, seconds; a pair has a key of 3
    # + 1 + 3, and district, seconds. Each row has a head of seven words.
    bodies = 8 * (CALLS * 6 + PAIRS * 9)
    assert rows == int(rows) > 0
    assert one["bytes_a_tuple"] * tuples == pytest.approx(bodies + 56 * rows)


@interpreted_is_enough
def test_a_processor_of_query_cluster_has_an_instance_of_each_stage():
    streams = {"calls": [CALLED], "suspects": [REPORTS]}
    alone = {
        strategy: counted(query_named("figure-2"), streams, strategy, 1)[0] for strategy in HOPS
    }
    tuples = CALLS + len(REPORTS)
    # The one processor takes all tuples of all stages; otherwise the busiest serves one stage.
    assert alone["query-cluster"]["most_tuples"] * tuples == pytest.approx(tuples + CALLS + PAIRS)
    assert alone["subquery-cluster"]["most_tuples"] * tuples == pytest.approx(
        max(CALLS + len(REPORTS), PAIRS)
    )
