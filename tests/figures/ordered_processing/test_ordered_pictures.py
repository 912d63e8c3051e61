"""The pictures of the second paper's notebook: all content of a snapshot is in the picture."""

from __future__ import annotations

from experiments.ordered_processing import live
from experiments.ordered_processing.snapshots import TimeSpent
from figures.ordered_processing import pictures


def texts(picture):
    return [[text.get_text() for text in axes.texts] for axes in picture.figure.axes]


def test_a_buffer_shows_its_slots_and_what_was_sent():
    steps = live.fill_reorder_buffer()
    found = texts(pictures.buffer_steps(steps))
    assert len(found) == len(steps)
    assert found[0][-1] == "0. nothing was handed over"
    assert "next = 1" in found[3] and {"2", "3", "4"} <= set(found[3])
    assert found[4][-1] == "4. c hands over output 5: too far ahead, try again"
    assert found[5][-1] == "5. a hands over output 1; sent: 1, 2, 3, 4"


def test_a_queue_shows_counts_owners_and_what_waits():
    found = texts(pictures.queue_steps(live.delegate()))
    assert {"master", "Q0, count 0", "t4"} <= set(found[0])
    assert {"Q0, count 2", "a: t1", "t4"} <= set(found[5])


def test_worker_time_is_a_bar_a_scheduler_and_wrong_runs_are_not_drawn():
    runs = [TimeSpent("ct", {"1 one": 0.25, "2 two": 0.75}, 1e6, True),
            TimeSpent("lp", {"1 one": 0.5, "2 two": 0.5}, 1e6, False)]  # fmt: skip
    picture = pictures.worker_time(runs)
    (axes,) = picture.figure.axes
    assert [patch.get_height() for patch in axes.patches] == [0.25, 0.75]
    assert any("1 of 2 runs are invalid" in text.get_text() for text in picture.figure.texts)
    assert picture._repr_png_().startswith(b"\x89PNG")
