"""A model's predictions: drawn as grey dashes, marked in the table, with the error stated."""

from __future__ import annotations

import io
from dataclasses import replace

import matplotlib
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from experiments import papers
from experiments.declare import LINES
from experiments.predictions import Prediction, Predictions
from figures import draw as drawing
from figures import load, marks, style
from figures.cells import having
from operators import registry
from operators.contract import UsageError
from tests import modelled
from tests.figures.drawn import color_of, dots, footer_of, results_of, texts
from tests.figures.overlap import overlaps
from tests.invented import points_over
from tests.second_paper import SECOND, THROUGHPUT, figure, join, second, sweep

TOLD = "model, fitted at 4 inputs"
# The prediction for the first line is half as much again, for the second it is exact.
TIMES = {"mq": 1.5, "tumlsc": 1.0}


def predict(measured, figure, times=TIMES, lacking=""):
    values = [
        Prediction(p.variant, p.settings, p.quantity, times[p.variant] * p.value)
        for p in measured(figure.id)
        if p.quantity == THROUGHPUT and p.variant in times
    ]
    return Predictions(TOLD, tuple(values), lacking)


def declared(inputs=(1, 4, 16, 20), **given):
    asked = {"quantities": (THROUGHPUT,), "extended_quantities": (THROUGHPUT,)}
    said = {"x": sweep("inputs", *inputs, words="inputs"), "model": "foretelling"}
    return figure("8", **asked | said | given)


def drawn(monkeypatch, folder, one, extended=False, foretell=predict):
    """Return the drawing of a figure where MQ has 2 and TuMLSC 1 million tuples/s at every x."""
    join(monkeypatch, folder, second(one), foretelling={"predict": foretell})
    rows = []
    for x in one.x.values["quick"]:
        for line, tps in (("mq", 2e6), ("tumlsc", 1e6)):
            rows += points_over(one, line, {x: (tps / x, 1.0)}, 1, cores=64)
    results = results_of(folder / "raw", rows)
    return drawing.draw(SECOND, "8", results, extended=extended)


def dashes(axes):
    """Return the positions of the dashes of predictions."""
    own = [line for line in axes.lines if line.get_marker() == "_" and line.get_ls() == "None"]
    assert {color_of(line) for line in own} <= {style.GREY.upper()}
    assert all(line.get_markersize() > style.MARKER_SIZE for line in own)
    return [tuple(place) for line in own for place in line.get_xydata().round(4).tolist()]


FORMS = {"curve": declared(), "categories": declared(inputs=(1, 20))}


@pytest.mark.parametrize("name", ["curve", "categories"])
def test_each_measured_place_has_a_grey_dash_where_the_model_says(name, tmp_path, monkeypatch):
    one = FORMS[name]
    (axes,) = drawn(monkeypatch, tmp_path, one).figure.axes
    inputs = one.x.values["quick"]
    heights = sorted(y for _, y in dashes(axes))
    assert heights == pytest.approx(sorted(y / x for x in inputs for y in (3.0, 1.0)), rel=1e-3)
    measured = {(dot.get_xdata()[0], round(dot.get_ydata()[0], 4)) for dot in dots(axes)}
    # TuMLSC's dashes are exactly at the measured points, at TuMLSC's offset in the category.
    assert len(measured & set(dashes(axes))) == len(inputs)
    assert axes.get_ylim()[1] > 3.0


def test_dashes_of_a_curve_are_joined_thinly_as_the_line_is_and_those_of_categories_are_not(
    tmp_path, monkeypatch
):
    (axes,) = drawn(monkeypatch, tmp_path / "curve", FORMS["curve"]).figure.axes
    joining = [line for line in axes.lines if line.get_linewidth() < style.OURS_LINE_WIDTH
               and line.get_ls() != "None" and len(line.get_xdata()) == 4]  # fmt: skip
    assert len(joining) == 2
    assert not {color_of(line) for line in joining} & {
        style.look_of("aggregation", line).color.upper() for line in TIMES
    }
    (axes,) = drawn(monkeypatch, tmp_path / "few", FORMS["categories"]).figure.axes
    assert not [line for line in axes.lines if line.get_ls() != "None"
                and line.get_linewidth() < style.OURS_LINE_WIDTH
                and color_of(line) == style.mixed(style.GREY, 0.4).upper()]  # fmt: skip


def test_no_measured_point_looks_like_a_predicted_one(tmp_path, monkeypatch):
    for variant in registry.variants():
        assert style.look_of(variant.family, variant.id).marker != "_"
    one = FORMS["curve"]
    with_model = drawn(monkeypatch, tmp_path / "with", one).figure.axes[0]
    silent = declared(model="")
    without = drawn(monkeypatch, tmp_path / "without", silent).figure.axes[0]
    assert not dashes(without)
    seen = [
        [(dot.get_marker(), dot.get_color(), *dot.get_xydata()[0]) for dot in dots(axes)]
        for axes in (with_model, without)
    ]
    assert seen[0] == seen[1] and all(color != style.GREY for _, color, *_ in seen[0])


def test_predicted_values_are_in_the_csv_and_marked(tmp_path, monkeypatch):
    found = drawn(monkeypatch, tmp_path, FORMS["curve"])
    again = pd.read_csv(io.BytesIO(found.bytes_of("csv")), comment="#", keep_default_na=False)
    assert len(again) == len(found.table)
    predicted = again[again["state"] == "predicted"]
    assert len(predicted) == len(again) - len(predicted) == 8
    assert set(predicted["spread"]) == {TOLD} and set(predicted["n"]) == {0}
    assert set(predicted["low"]) == set(predicted["high"]) == {""}
    mq = predicted[predicted["line"] == "mq"].set_index("x")["value"].astype(float)
    assert mq.to_dict() == pytest.approx({x: 3e6 / x for x in (1, 4, 16, 20)}, rel=1e-5)
    assert not again["state"][again["n"] > 0].str.contains("predicted").any()


def test_the_key_says_what_is_predicted_and_the_footer_how_wrong_it_is(tmp_path, monkeypatch):
    picture = drawn(monkeypatch, tmp_path, FORMS["curve"]).figure
    assert f"predicted: {TOLD}" in texts(picture)
    told = "the model's median error: 25 % (of 8 points, worst 50 %)"
    assert told in footer_of(picture)


def test_what_the_model_was_fitted_to_is_no_prediction(tmp_path, monkeypatch):
    def fitted(measured, figure):
        estimates = predict(measured, figure)
        values = [v._replace(fitted=v.settings["inputs"] > 1) for v in estimates.values]
        return estimates._replace(values=tuple(values))

    found = drawn(monkeypatch, tmp_path, FORMS["curve"], foretell=fitted)
    assert set(found.table["states"]) >= {("predicted",), ("predicted", "fitted")}
    assert "median error: 25 % (of 2 points, worst 50 %)" in footer_of(found.figure)
    assert len(dashes(found.figure.axes[0])) == 8


def test_lines_without_a_prediction_are_named_with_the_reason(tmp_path, monkeypatch):
    def some(measured, figure):
        return predict(measured, figure, {"mq": 1.5}, "the clock stood still")

    found = drawn(monkeypatch, tmp_path, FORMS["curve"], foretell=some)
    assert "no prediction for TuMLSC: the clock stood still" in footer_of(found.figure)
    assert set(found.table["line"][having(found.table, "predicted")]) == {"mq"}


def test_without_predictions_a_figure_is_as_it_was(tmp_path, monkeypatch):
    def none(measured, figure):
        return predict(measured, figure, {})

    silent = drawn(monkeypatch, tmp_path / "none", FORMS["curve"], foretell=none)
    plain = drawn(monkeypatch, tmp_path / "plain", declared(model=""))
    for kind in ("csv", "png"):
        assert silent.bytes_of(kind) == plain.bytes_of(kind)


def test_the_extended_form_has_no_predictions(tmp_path, monkeypatch):
    one = declared(extended_quantities=(THROUGHPUT, "latency_ms_mean"))
    found = drawn(monkeypatch, tmp_path, one, extended=True)
    assert not found.table.empty and not having(found.table, "predicted").any()
    assert "predicted" not in " ".join(texts(found.figure))


def test_a_model_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="figure 8 of second_paper has the unknown model 'tea'"):
        drawn(monkeypatch, tmp_path, declared(model="tea"))


def test_every_figure_with_a_model_has_a_form_that_draws_it():
    for paper in papers.papers():
        for one in paper.figures:
            if one.model:
                assert papers.own_module(paper.id, one.model) is not None
                assert one.form in ("curves", "side_by_side", "stack"), f"{paper.id} {one.id}"
                assert one.form != "curves" or one.x != LINES


# The fourth paper, which has a figure of each form.


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results in which every step follows the formulas, and every throughput is half of theirs."""
    rows = modelled.all_steps()
    for name, places in (
        ("10b", [{"window": 1 << power} for power in (10, 12, 14, 17)]),
        ("8b", [{"window": 1 << 20, "chain_length": length} for length in (2, 3, 5, 9)]),
    ):
        for line in modelled.DECLARED[name].lines:
            for at in places:
                cost = modelled.costs_at(modelled.DECLARED[name], line, **at).whole
                rows.append(modelled.rate_of(name, line, 0.5e9 / cost, **at) | {"size": "laptop"})
    once = {(r["variant"], r["phase"], str(sorted(r["settings"].items()))): r for r in rows}
    return results_of(tmp_path_factory.mktemp("joins"), once.values())


# The B+-Tree of figure 8b is at a window that figure 10b has, too.
@pytest.mark.parametrize(("name", "count"), [("8b", 12), ("10b", 13)])
def test_throughputs_of_joins_are_predicted(name, count, results):
    picture = drawing.draw(modelled.PAPER, name, results).figure
    (axes,) = picture.axes
    assert len(dashes(axes)) == count
    # If throughput is half of the prediction, the error is 100 %.
    told = f"the model's median error: 100 % (of {count} points, worst 100 %)"
    assert told in footer_of(picture)
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)


def test_curves_that_are_predicted_bear_their_names_in_grey_at_their_ends(results):
    (axes,) = drawing.draw(modelled.PAPER, "8b", results).figure.axes
    names = {text.get_text(): text for text in axes.texts}
    assert set(names) == {"B-chain", "IB-chain", "B+-Tree"}
    assert {to_hex(text.get_color()) for text in names.values()} == {style.GREY}
    # From the highest end to the lowest.
    ends = [line.get_ydata()[-1] for line in axes.lines if line.get_marker() == "_"]
    order = sorted(names, key=lambda name: -names[name].get_position()[1])
    lines = ("B-chain", "IB-chain", "B+-Tree")
    assert order == [lines[n] for n in sorted(range(3), key=lambda n: -ends[n])]


def test_a_bar_has_a_grey_dash_over_both_its_edges_at_the_height_that_is_predicted(results):
    found = drawing.draw(modelled.PAPER, "10a", results)
    picture = found.figure
    assert len(picture.axes) == 2
    for axes, window in zip(picture.axes, (modelled.FIT_AT, modelled.LARGER), strict=True):
        long = [line for line in axes.lines if color_of(line) == style.GREY.upper()]
        assert [line.get_linewidth() for line in long] == [marks.DASH_WIDTH] * 3
        for place, (line, dash) in enumerate(zip(modelled.TREES, long, strict=True)):
            whole = modelled.costs_at(modelled.DECLARED["10a"], line, window=window).whole
            assert dash.get_ydata() == pytest.approx([whole, whole])
            low, high = dash.get_xdata()
            bars = [bar for bar in axes.patches if abs(bar.get_x() + 0.36 - place) < 0.1]
            assert all(low < bar.get_x() and bar.get_x() + bar.get_width() < high for bar in bars)
            assert all(dash.get_zorder() < bar.get_zorder() for bar in bars) and bars
    assert "predicted: model, fitted at w = 4,096" in texts(picture)
    # The model was fitted to the bars of the smallest window.
    assert "the model's median error: 0 % (of 3 bars, worst 0 %)" in footer_of(picture)
    states = list(found.table["states"])
    assert states.count(("predicted", "fitted")) == states.count(("predicted",)) == 15
    with matplotlib.rc_context(style.PARAMETERS):
        assert not overlaps(picture)


def test_without_figure_10a_the_others_have_nothing_more(results):
    rows = [row for row in results.raw.rows if row["phase"] != "steps"]
    raw = load.Results(replace(results.raw, rows=rows))
    for name in ("8b", "10b"):
        found = drawing.draw(modelled.PAPER, name, raw)
        assert not dashes(found.figure.axes[0])
        assert not having(found.table, "predicted").any()
        told = footer_of(found.figure)
        assert "no prediction for B" in told and "no step was measured for figure 10a" in told
        assert "median error" not in told
