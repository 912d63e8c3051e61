"""The vocabulary of a declaration: ids, sweeps, papers, and refusals."""

from __future__ import annotations

import copy
import json
from functools import partial

import pytest

from experiments import series
from experiments.declare import (
    LINES,
    OFFERED_RATE,
    SIZES,
    Figure,
    Heading,
    Paper,
    Series,
    Sweep,
    bounded,
    order_of,
    stem_of,
)
from experiments.judging.points import gather
from experiments.records import quantities
from figures.files import form_name
from operators.contract import UsageError

INPUTS = Sweep("inputs", dict.fromkeys(SIZES, (1, 20)), "inputs")
THREADS = Sweep("update_threads", dict.fromkeys(SIZES, (1, 2)), "update threads")
HEADING = Heading("first", "First", "A sentence.")


def figure_of(figure_id="8a", **changes):
    given = {
        "title": "t", "caption": "c", "subject": "s", "family": "gate", "lines": ("t-gate",),
        "x": INPUTS, "form": "curves", "heading": "first", "quantities": ("throughput_tps",),
        "extended_quantities": (),
    }  # fmt: skip
    return Figure(id=figure_id, **{**given, **changes})


def test_a_series_is_its_text_and_has_parts():
    line = Series("t-gate:levels=8,ahead=64")
    assert line == "t-gate:levels=8,ahead=64" and json.loads(json.dumps([line])) == [line]
    assert (line.variant, line.settings) == ("t-gate", {"levels": "8", "ahead": "64"})
    assert (Series("mq").variant, Series("mq").settings) == ("mq", {})
    assert copy.deepcopy(line) == line and copy.deepcopy(line).variant == "t-gate"


def test_a_series_is_made_of_a_variant_and_its_settings():
    assert Series.of("t-gate", {"levels": 8, "pages": "huge"}) == "t-gate:levels=8,pages=huge"
    assert Series.of("mq", {}) == "mq"
    assert bounded({"mq": ("ahead", (None, 64))}) == ("mq", "mq:ahead=64")


@pytest.mark.parametrize(
    "written", ["", ":levels=8", "t-gate:", "t-gate:levels", "t-gate:=8", "t-gate:a=1,,b=2"]
)
def test_what_is_no_series_is_refused_wherever_it_is_declared(written):
    with pytest.raises(UsageError, match="a series is id:name=value, received"):
        Series(written)
    with pytest.raises(UsageError, match="a series is id:name=value, received"):
        figure_of(lines=("mq", written))


def test_the_lines_of_a_figure_are_series():
    figure = figure_of(lines=("mq", "mq:ahead=64"))
    assert [line.variant for line in figure.lines] == ["mq", "mq"]


IDS = ["1", "8", "8a", "8b", "10", "10c", "108"]


def test_figures_are_sorted_by_number_and_then_by_panel():
    assert sorted(reversed(IDS), key=order_of) == IDS


def test_names_of_files_sort_as_the_figures_do():
    stems = [stem_of(each) for each in IDS]
    assert stems[:4] == ["fig_01", "fig_08", "fig_08a", "fig_08b"]
    assert sorted(stems[:6]) == stems[:6]
    assert len(set(stems)) == len(IDS)


@pytest.mark.parametrize("figure_id", ["", "a", "8.1", "8-a", "fig_08", "8A", "5a-f", " 8"])
def test_an_id_that_no_file_could_go_by_is_refused(figure_id):
    with pytest.raises(ValueError, match="is no number with or without a letter: 8, 8a"):
        figure_of(figure_id)


@pytest.mark.parametrize("values", [{"quick": (1,)}, {**INPUTS.values, "laptop": ()}])
def test_a_sweep_without_values_for_a_size_is_refused(values):
    with pytest.raises(ValueError, match="sweep of 'inputs' has no values for: .*laptop"):
        Sweep("inputs", values, "inputs")


def test_a_figure_goes_through_its_sweeps_and_then_through_x():
    assert figure_of().free == (INPUTS,)
    assert figure_of(x=THREADS, sweeps=(INPUTS,)).free == (INPUTS, THREADS)
    assert figure_of(x=OFFERED_RATE, sweeps=(INPUTS,)).free == (INPUTS,)
    assert figure_of(x=LINES).free == ()


def test_a_setting_is_told_in_words():
    figure = figure_of(x=THREADS, sweeps=(INPUTS,))
    assert figure.setting_text("inputs", 1) == "1 input"
    assert figure.setting_text("inputs", 20) == "20 inputs"
    assert figure.setting_text("update_threads", 1) == "1 update thread"
    assert figure.setting_text("query", "K-OS") == "query K-OS"
    assert figure.setting_text("ahead", 64) == "ahead 64"
    # A setting that the figure does not sweep goes by its name.
    assert figure_of(x=LINES).setting_text("update_threads", 2) == "2 update threads"


def test_two_figures_of_a_paper_have_two_ids():
    paper = Paper("p", "t", (HEADING,), (figure_of("8"), figure_of("8a")))
    assert [figure.id for figure in paper.figures] == ["8", "8a"]
    with pytest.raises(ValueError, match="paper p has two figures with the id '8a'"):
        Paper("p", "t", (HEADING,), (figure_of("8a"), figure_of("8"), figure_of("8a")))


def test_a_figure_knows_its_paper():
    declared = figure_of("8")
    papers = [Paper(name, "t", (HEADING,), (declared,)) for name in ("one", "other")]
    assert [paper.figures[0].paper for paper in papers] == ["one", "other"]
    # A declaration shared by two papers is changed by neither.
    assert declared.paper == ""


def test_a_paper_takes_no_figure_of_another_one():
    theirs = Paper("one", "t", (HEADING,), (figure_of("8"),)).figures
    assert Paper("one", "t", (HEADING,), theirs).figures == theirs
    with pytest.raises(ValueError, match="paper other takes figure 8, which is one of one"):
        Paper("other", "t", (HEADING,), theirs)


OF_A_PAPER = {"measured": series.measured, "form": form_name, "gather": partial(gather, [])}


@pytest.mark.parametrize("asked", OF_A_PAPER)
def test_a_figure_of_no_paper_is_neither_measured_nor_drawn(asked):
    with pytest.raises(UsageError, match="figure 8 is of no paper: take it from the figures of a"):
        OF_A_PAPER[asked](figure_of("8"))


def test_a_figure_stands_under_a_heading_that_is_there():
    with pytest.raises(ValueError, match="8a of p stands under the heading 'last'; there are: fir"):
        Paper("p", "t", (HEADING,), (figure_of(heading="last"),))


def test_a_quantity_is_read_from_its_column_unless_it_is_computed():
    throughput = quantities.quantity("throughput_tps")
    assert throughput.value({"throughput_tps": 3.0}) == 3.0
    assert throughput.value({}) is None
    share = quantities.quantity("outputs_per_tuple")
    assert share.value({"outputs": 3, "tuples": 2}) == 1.5
