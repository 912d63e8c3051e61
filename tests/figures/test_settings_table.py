"""Designs by settings: shares of the best rate, missing settings, matrix, boxes and front."""

from __future__ import annotations

import re
from math import isclose

import pytest

from experiments.judging import claims
from figures import design_boxes, load, matrix, measured_rows, trade_off
from figures.page_data import read_page
from figures.settings_table import tables_of
from figures.trade_off import Choice, front_of
from tests.figures.test_report import draw_into
from tests.invented import DECLARED, PAPER, at_common_rate, points_over, write_raw

RATES = {"mq": {1: 1e6, 20: 1e6}, "tumlsc": {1: 2e6, 20: 4e6}, "mqlf": {20: 2e6}}


@pytest.fixture
def data(tmp_path):
    """Return the content of a page on figure 13: MQLF was measured at one of two settings."""
    folder = tmp_path / "quick"
    rows = []
    for line, rates in RATES.items():
        rows += points_over("13", line, {n: (tps, 5.0) for n, tps in rates.items()}, repetitions=1)
    files = write_raw(folder / "raw", rows)
    file = folder / "claims" / f"{PAPER}.json"
    claims.judge(PAPER, files, file)
    draw_into(folder, PAPER, "13", load.read(files), file)
    return read_page(folder, PAPER)


def test_a_share_is_the_rate_over_the_best_at_the_setting(data):
    (table,) = tables_of(data)
    assert [setting.words for setting in table.settings] == [
        ("k-OS", "1 input"), ("k-OS", "20 inputs"),
    ]  # fmt: skip
    shares = [{d: setting.share(d) for d in ("mq", "mqlf", "tumlsc")} for setting in table.settings]
    assert shares[0]["mqlf"] is None
    assert isclose(shares[0]["mq"], 0.5) and isclose(shares[1]["mq"], 0.25)
    assert shares[0]["tumlsc"] == shares[1]["tumlsc"] == 1.0


def test_designs_are_ranked_by_the_geometric_mean_and_missing_settings_are_named(data):
    (table,) = tables_of(data)
    ranking = table.ranking()
    assert [each.design for each in ranking] == ["tumlsc", "mqlf", "mq"]
    assert isclose(ranking[2].mean, (0.5 * 0.25) ** 0.5)
    assert ranking[1].missing == ("k-OS, 1 input",) and ranking[0].missing == ()
    text = design_boxes.of_tables([table])
    assert "no ratio at 1 of 2 settings" in text and "k-OS, 1 input" in text
    assert "0.35 <small>of the best, 2 settings</small>" in text


def test_a_rate_that_fell_behind_has_no_share_and_is_not_the_best(data):
    (table,) = tables_of(data)
    setting = table.settings[1]
    point = setting.points["tumlsc"]
    behind = dict(setting.points) | {"tumlsc": point.__class__(
        **{**{f: getattr(point, f) for f in point.__dataclass_fields__}, "states": ("unsustained",)}
    )}  # fmt: skip
    setting = setting._replace(points=behind)
    assert setting.share("tumlsc") is None
    assert setting.share("mqlf") == 1.0


def test_a_cell_has_text_and_colour_and_leads_to_its_rows(data):
    text = matrix.section(data, tables_of(data))
    rows = re.findall(r'<tr data-setting="k-OS\|20 inputs">.*?</tr>', text)
    assert len(rows) == 1
    assert '<td class="r2"' in rows[0] and '<td class="r5 best"' in rows[0]
    assert "4 M t/s<br>1.00" in rows[0]
    behind = measured_rows.of_figure(data, DECLARED["13"])
    links = re.findall(r'href="#([^"]*-run-[^"]*)"', text)
    assert len(links) == 5
    assert {*links} <= set(re.findall(r'<tr id="([^"]*)"', behind))


def test_rows_have_their_files_and_the_commands_that_measure_again(data):
    text = measured_rows.of_figure(data, DECLARED["13"])
    links = re.findall(r'href="(raw/[^"]*)"', text)
    root = data.folder.parents[1]
    assert links and all((root / link).is_file() for link in links)
    group = data.results.raw.rows[0]["group"]
    assert re.search(
        r"--config profile=quick paper=multiway_aggregation -- results/quick/raw/"
        + re.escape(group) + r"/[^/]+/repetition-2\.jsonl", text,
    )  # fmt: skip
    assert ".venv/bin/millrace bench aggregation tumlsc --set " in text
    provenance = re.findall(r'href="#(provenance-[^"]*)"', text)
    assert {*provenance} == set(
        re.findall(r'<div id="(provenance-[^"]*)"', measured_rows.provenances(data))
    )


def test_the_front_has_what_no_other_surpasses_in_both():
    def choice(throughput, mean):
        return Choice("x", "x", throughput, mean, None)

    best, quick, worse = choice(4.0, 9.0), choice(2.0, 1.0), choice(1.0, 5.0)
    assert front_of([worse, quick, best]) == [best, quick]
    assert front_of([worse]) == [worse]
    # Of equals in throughput the one with the lower latency.
    assert front_of([choice(4.0, 10.0), best]) == [best]


def test_a_setting_without_a_common_rate_has_no_picture(data):
    assert trade_off.section(data) == ""


def test_a_picture_has_a_point_and_a_row_for_each_design(tmp_path):
    folder, rows = tmp_path / "quick", []
    for line, tps, latency in (("mq", 1e6, 5.0), ("mqlf", 2e6, 7.0), ("tumlsc", 4e6, 6.0)):
        rows += points_over("13", line, {20: (tps, latency)}, repetitions=1)
        rows += at_common_rate("13", line, 20, latency, repetitions=1)
    files = write_raw(folder / "raw", rows)
    file = folder / "claims" / f"{PAPER}.json"
    claims.judge(PAPER, files, file)
    draw_into(folder, PAPER, "13", load.read(files), file)
    data = read_page(folder, PAPER)
    (choices,) = trade_off.choices_of(data, DECLARED["13"]).values()
    assert {each.design: (each.throughput, each.mean) for each in choices} == {
        "mq": (1e6, 5.0), "mqlf": (2e6, 7.0), "tumlsc": (4e6, 6.0),
    }  # fmt: skip
    text = trade_off.section(data)
    assert text.count("<circle") == 3
    # MQLF is surpassed in both; rows are sorted by throughput.
    rows = re.findall(r"<tr>(<td.*?)</tr>", text)
    told = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    assert [(each[1], each[-1]) for each in told] == [
        ("TuMLSC", "front"), ("MQLF", ""), ("MQ", "front"),
    ]  # fmt: skip
