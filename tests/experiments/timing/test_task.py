"""A task counts rows and has an identity; a group is measured by one process."""

from __future__ import annotations

from dataclasses import replace

from experiments.timing.task import Group, Task

TASK = Task("mqlf", {"inputs": 2, "query": "k-OS"})


def test_a_task_has_a_slice_a_round_and_open_runs_by_rate():
    assert (TASK.closed_runs, TASK.open_runs) == (1, 0)
    more = replace(TASK, fractions=(0.3, 0.7), phases=("durations",), common=True)
    assert (more.closed_runs, more.open_runs) == (2, 3)
    # Probes are separate rows, whose number is not known in advance.
    assert replace(TASK, probes=6).closed_runs == 1


def test_a_task_without_slices_has_what_is_asked_of_it_alone():
    counted = replace(TASK, once=("counting",), sliced=False)
    assert (counted.closed_runs, counted.every_phase) == (0, ("counting",))
    assert counted.phases_in(1, 1) == ("counting",)
    assert counted.phases_in(2, 1) == counted.phases_in(1, 2) == ()
    beside = replace(counted, sliced=True)
    assert beside.every_phase == beside.phases_in(1, 1) == ("closed", "counting")
    assert beside.phases_in(2, 1) == ("closed",)


def test_what_is_run_twice_is_run_by_each_of_the_first_two_processes():
    twice = replace(TASK, twice=("real time",))
    assert twice.every_phase == ("closed", "real time")
    made = {
        (number, repetition): twice.phases_in(number, repetition).count("real time")
        for number in (1, 2, 3)
        for repetition in (1, 2, 3)
    }
    assert [place for place, count in made.items() if count] == [(1, 1), (1, 2)]


def test_what_a_started_process_runs_once_its_later_forks_do_not():
    seldom = replace(TASK, seldom=("costs",))
    assert seldom.phases_in(1, 7) == ("closed", "costs")
    assert seldom.phases_in(1, 8, started=False) == seldom.phases_in(2, 7) == ("closed",)


def test_what_tells_tasks_apart_is_variant_and_settings_and_not_their_runs():
    assert TASK.identity == replace(TASK, probes=3, common=True, fractions=(1.0,)).identity
    assert TASK.identity == replace(TASK, settings={"query": "k-OS", "inputs": 2}).identity
    assert TASK.identity != replace(TASK, settings={"query": "k-OS", "inputs": 3}).identity
    assert TASK.identity != replace(TASK, variant="mq").identity


def test_a_group_has_the_runs_of_its_tasks():
    tasks = (TASK, replace(TASK, variant="mq", fractions=(0.7,), common=True))
    assert Group("g", "aggregation", "meters", tasks, (("paper", "8a"),)).runs(5, 2) == 14


def test_a_process_measures_what_is_measured_in_so_many():
    once, often = replace(TASK, processes=1), replace(TASK, variant="mq", processes=2)
    always = replace(TASK, variant="wiml")
    group = Group("g", "aggregation", "meters", (once, often, always), (("paper", "8a"),))
    assert group.in_process(1) == group
    assert group.in_process(2).tasks == (often, always)
    assert group.in_process(3).tasks == (always,)
