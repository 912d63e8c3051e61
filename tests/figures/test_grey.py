"""Printed in grey, a pale, a failed and a saturated point look different from a sound one."""

from __future__ import annotations

import io
from itertools import combinations

import matplotlib.image
import numpy as np
import pytest

from experiments import papers, series
from figures import draw as drawing
from figures import style
from tests.figures.drawn import failed, results_of
from tests.invented import PAPER, points_over

# Half a marker's box around a point, in points.
AROUND = 4.5
VALUES = {1: (2e6, 20.0), 2: (2e6, 20.0), 4: (2e6, 20.0), 20: (2e6, 20.0)}


def pixels(picture):
    """Return a figure as shades of grey, 0 black to 1 white, upper row first."""
    content = drawing.saved(picture, "png")
    colors = matplotlib.image.imread(io.BytesIO(content))[:, :, :3]
    return colors @ np.array([0.299, 0.587, 0.114])


def around(picture, shades, x, y):
    """Return the shades around a point in data coordinates of the latency panel, or at an edge."""
    axes = picture.axes[1]
    transform = axes.transData if y not in (0.0, 1.0) else axes.get_xaxis_transform()
    # In inches from the lower left corner, as the figure was laid out at another resolution.
    across, up = transform.transform((x, y)) / picture.dpi
    dots = style.PARAMETERS["savefig.dpi"]
    column, row = round(across * dots), shades.shape[0] - round(up * dots)
    half = round(AROUND / 72 * dots)
    return shades[row - half : row + half, column - half : column + half]


@pytest.fixture
def looks(tmp_path):
    """The shades of MQ's points: sound at 1, pale at 2, saturated at 4 and failed at 20 inputs."""
    rows = points_over("13", "mq", {1: VALUES[1]}, 1)
    rows += points_over("13", "mq", {2: VALUES[2]}, 1, noisy=True)
    rows += [{**row, "saturated": row["phase"] == "open"}
             for row in points_over("13", "mq", {4: VALUES[4]}, 1)]  # fmt: skip
    rows.append(failed("13", "mq", 20))
    picture = drawing.draw(PAPER, "13", results_of(tmp_path, rows)).figure
    shades = pixels(picture)
    places = {"sound": (1, 20.0), "pale": (2, 20.0), "saturated": (4, 1.0), "failed": (20, 0.0)}
    return {name: around(picture, shades, *place) for name, place in places.items()}


def test_each_state_looks_different_in_grey(looks):
    for (one, first), (other, second) in combinations(looks.items(), 2):
        # At least a tenth of the box differs by a fifth of the range from black to white.
        apart = np.mean(np.abs(first - second) > 0.2)
        assert apart > 0.1, f"{one} and {other} look alike"


def test_a_sound_point_is_dark_and_a_pale_one_is_light_with_an_edge(looks):
    middle = {name: shades[len(shades) // 2, len(shades) // 2] for name, shades in looks.items()}
    assert middle["sound"] < 0.6 < 0.8 < middle["pale"] < 0.97
    assert looks["pale"].min() < middle["pale"] - 0.1


# Forms whose key tells lines apart by their look; other forms label each line.
KEYED = ("curves", "over_rate", "side_by_side", "over_time")
# A prediction that is one line for all lines of a figure.
OF_ALL_LINES = "ideal"


@pytest.mark.parametrize(
    ("paper", "figure"),
    [(paper.id, figure) for paper in papers.papers() for figure in paper.figures
     if figure.form in KEYED],
    ids=lambda each: getattr(each, "id", each),
)  # fmt: skip
def test_no_two_lines_of_a_figure_have_the_same_marker_and_dash(paper, figure):
    looks = [style.look_of(figure.family, line) for line in series.measured(figure)]
    told = [(look.marker, str(look.dash)) for look in looks]
    assert len(set(told)) == len(told) >= 1


@pytest.mark.parametrize(
    ("paper", "figure"),
    [(paper.id, figure) for paper in papers.papers() for figure in paper.figures
     if figure.model not in ("", OF_ALL_LINES) and figure.form in KEYED],
    ids=lambda each: getattr(each, "id", each),
)  # fmt: skip
def test_what_is_predicted_of_each_line_is_told_apart_by_its_dash_alone(paper, figure):
    dashes = [str(style.look_of(figure.family, line).dash) for line in figure.lines]
    assert len(set(dashes)) == len(dashes) >= 1
