"""A plan merges the figures' settings into groups, and counts the runner's work."""

from __future__ import annotations

import dataclasses

import pytest
import yaml

from experiments import papers, plan, profiles
from experiments.declare import OFFERED_RATE, ONCE, SIZES, Figure, Heading, Paper, Phase, Sweep
from experiments.records import keys, quantities
from experiments.timing.task import Task
from operators import registry
from operators.contract import UsageError

PAPER = "multiway_aggregation"


def profile_of(**changes):
    content = yaml.safe_load((profiles.CONFIG / "quick.yaml").read_text())
    return profiles.parse({**content, "name": "mine", **changes}, "mine")


QUICK = profile_of()


def sweep_of(setting, *values, ours=None):
    extended = {} if ours is None else dict.fromkeys(SIZES, ours)
    return Sweep(setting, dict.fromkeys(SIZES, values), setting, extended)


def planned(figure_id, profile=QUICK, **changes):
    figure = dataclasses.replace(papers.figure(PAPER, figure_id), **changes)
    return plan.tasks_of(figure, profile)


def at(task, *names):
    return (task.variant, *(task.settings[name] for name in names))


def test_tasks_cover_every_series_at_every_setting():
    tasks = planned("16", x=sweep_of("inputs", 1, 4, ours=(4,)))
    found = {at(task, "inputs") for task in tasks}
    lines = papers.figure(PAPER, "16").lines
    assert {(variant, inputs) for variant in lines for inputs in (1, 4)} <= found
    # Other variants only where they are declared.
    ours = {each for each in found if each[0] not in lines}
    assert ("tumlsc", 4) in ours and {inputs for _, inputs in ours} == {4}
    assert {(task.closed_runs, task.fractions) for task in tasks} == {(1, (0.7,))}


def test_a_setting_of_a_task_is_every_one_that_the_bench_takes():
    (task,) = {t.identity: t for t in planned("13") if at(t, "inputs") == ("mq", 1)}.values()
    assert task.settings == {
        "query": "k-OS", "inputs": 1, "seed": 1, "unit_divisor": 1,
        "ahead": task.settings["ahead"],
    }  # fmt: skip


def test_the_sustained_rate_is_searched_for_the_paper_s_lines_at_the_most():
    tasks = planned("20", profile_of(probes=3), x=sweep_of("inputs", 1, 4, ours=(4,)))
    assert {at(task, "inputs") for task in tasks if task.probes} == {
        ("mq", 4), ("mqlf", 4), ("wiml", 4),
    }  # fmt: skip


def test_a_figure_that_shows_latency_at_a_common_rate_has_runs_at_it():
    shown = ("common_latency_ms_p50",)
    tasks = planned("20", extended_quantities=shown, x=sweep_of("inputs", 1, 4, ours=(4,)))
    assert {task.settings["inputs"] for task in tasks if task.common} == {4}
    assert not any(task.common for task in planned("20", extended_quantities=()))


def test_a_rate_figure_keeps_its_own_inputs():
    tasks = planned("9", profile_of(rate_fractions=[1.1, 0.3]))
    assert {task.settings["inputs"] for task in tasks} == {20}
    # And the load at which all settings are compared.
    assert {task.fractions for task in tasks} == {(0.3, 0.7, 1.1)}


def test_a_figure_over_the_rate_may_offer_more_than_the_others():
    (fractions,) = {t.fractions for t in planned("9", beyond=(1.5,))}
    (usual,) = {t.fractions for t in planned("9")}
    assert set(fractions) - set(usual) == {1.5} and fractions[-1] == 1.5
    # A figure over a setting offers only the reference load.
    assert {t.fractions for t in planned("16", beyond=(1.5,))} == {(0.7,)}


def test_what_needs_no_slices_has_none_unless_another_figure_asks(monkeypatch):
    def phase(family, name):
        alone = name == "durations"
        return Phase(name, ONCE, lambda settings, seconds: 7.0, alone)

    monkeypatch.setattr(quantities, "phase", phase)
    own = {"quantities": ("input_ns",), "extended_quantities": ("output_ns",)}
    counted = planned("8", **own)
    assert {(t.sliced, t.once, t.closed_runs) for t in counted} == {(False, ("durations",), 0)}
    assert plan.task_seconds("aggregation", counted[0], QUICK) < plan.TRIAL_SECONDS
    for more in ("throughput_tps", "latency_ms_mean"):
        assert {t.sliced for t in planned("8", **own | {"quantities": ("input_ns", more)})} == {
            True
        }
    both = plan._merged([*counted, *planned("8")])
    assert {t.sliced for t in both} == {True} and len(both) == len(counted)


def test_a_figure_without_latencies_has_no_open_run():
    tasks = planned("20", quantities=("throughput_tps",), extended_quantities=())
    assert {task.fractions for task in tasks} == {()}


def test_sweeps_are_gone_through_at_each_value_of_those_before():
    tasks = planned("28", x=sweep_of("update_threads", 1, 3))
    assert [at(t, "inputs", "update_threads")[1:] for t in tasks] == [
        (2, 1), (2, 3), (20, 1), (20, 3),
    ]  # fmt: skip


def test_durations_have_a_run_of_their_own_beside_a_closed_one():
    tasks = planned("8")
    assert [t.variant for t in tasks] == ["mq", "mqlf", "tumlsc"]
    assert {(t.phases, t.fractions) for t in tasks} == {(("durations",), ())}
    assert {task.closed_runs for task in tasks} == {2}


# --- groups --------------------------------------------------------------------------------------


def group_of(name, profile=QUICK):
    return plan.group(name, profile)


def test_every_figure_stands_in_the_groups_that_it_is_measured_in():
    found = plan.groups(QUICK)
    for paper in papers.papers():
        for figure in paper.figures:
            there = {group.id for group in found if (paper.id, figure.id) in group.figures}
            tasks = plan.tasks_of(figure, QUICK)
            assert there == {plan.group_name(figure, task.settings) for task in tasks}


def test_settings_of_one_family_data_and_query_are_measured_together():
    names = {f.id: plan.group_name(f, f.settings) for f in papers.paper(PAPER).figures}
    assert names["8"] == names["9"] == names["14"] == names["29"] == "aggregation-many-keys-os"
    assert names["13"] == "aggregation-few-keys-os"
    assert names["7"] == "gate"
    roles = {group.id: group.role for group in plan.groups(QUICK)}
    assert roles["gate"] is None
    assert roles["aggregation-few-keys-os"] == "meters"
    assert roles["aggregation-many-keys-os"] == "comments"


def test_a_setting_that_figures_share_is_measured_once_with_all_their_runs():
    group = group_of("aggregation-many-keys-os", profile_of(open_fraction=0.6, probes=2))
    places = [task.identity for task in group.tasks]
    assert len(places) == len(set(places))
    # Shown by figures 8 (durations), 9 (over the rate), and 14 (over the inputs).
    (shared,) = (t for t in group.tasks if at(t, "inputs", "unit_divisor") == ("mq", 20, 1))
    assert shared.fractions == (0.3, 0.6, 0.7, 1.1)
    assert (shared.phases, shared.probes) == (("durations",), 2)


def test_what_a_figure_alone_shows_has_only_its_runs():
    group = group_of("aggregation-many-keys-os")
    (alone,) = (t for t in group.tasks if at(t, "inputs", "unit_divisor") == ("mq", 4, 1))
    assert (alone.fractions, alone.phases) == ((QUICK.open_fraction,), ())


HEADING = Heading("all", "All", "All of them.")
GATES = Figure(
    "8a", "t", "c", "s", "gate", ("t-gate",), sweep_of("sources", 1, 4), "curves", "all",
    ("throughput_tps",), (),
)  # fmt: skip


@pytest.fixture
def invented(monkeypatch, tmp_path):
    """Replace the registered papers by these."""
    # The invented papers have no modules with quantities.
    quantities.every()

    def there_are(**figures):
        found = [
            Paper(name, name, (HEADING,), tuple(dataclasses.replace(f, paper="") for f in own))
            for name, own in sorted(figures.items())
        ]
        monkeypatch.setattr(papers, "papers", lambda: found)
        monkeypatch.setattr(papers, "_folders", lambda: dict.fromkeys(sorted(figures), tmp_path))

    return there_are


def test_papers_share_the_settings_that_both_show(invented):
    more = dataclasses.replace(GATES, x=sweep_of("sources", 4, 20))
    invented(one=(GATES,), two=(more,))
    (group,) = plan.groups(QUICK)
    assert group.figures == (("one", "8a"), ("two", "8a"))
    assert [at(task, "sources") for task in group.tasks] == [
        ("t-gate", 1), ("t-gate", 4), ("t-gate", 20),
    ]  # fmt: skip


def test_two_series_that_are_one_setting_are_measured_once(invented):
    default = registry.family("gate").resolve(registry.variant("gate", "t-gate"), {})["levels"]
    lines = ("t-gate", f"t-gate:levels={default}", f"t-gate:levels={default + 1}")
    invented(one=(dataclasses.replace(GATES, lines=lines),))
    (group,) = plan.groups(QUICK)
    assert sorted(at(task, "sources", "levels") for task in group.tasks) == [
        ("t-gate", sources, levels) for sources in (1, 4) for levels in (default, default + 1)
    ]


def test_which_paper_is_asked_for_chooses_groups_and_never_changes_one(invented):
    queues = ("multi-queue",)
    apart = dataclasses.replace(GATES, id="9", lines=queues, measured_with="gates-apart")
    invented(one=(GATES,), two=(dataclasses.replace(GATES, x=OFFERED_RATE), apart))
    assert [group.id for group in plan.groups(QUICK)] == ["gate", "gates-apart"]
    assert plan.groups(QUICK, ["one"]) == plan.groups(QUICK)[:1]
    assert plan.groups(QUICK, ["two"]) == plan.groups(QUICK)
    with pytest.raises(UsageError, match="unknown paper 'three'; papers are: one, two"):
        plan.groups(QUICK, ["three"])


def test_a_group_of_another_family_or_other_data_is_refused(invented):
    few, many, gates = (
        dataclasses.replace(figure, heading="all", measured_with="together")
        for figure in (papers.figure(PAPER, "13"), papers.figure(PAPER, "14"), GATES)
    )
    told = "is measured in group 'together' of aggregation on meters, and it is of"
    invented(one=(few, gates))
    with pytest.raises(UsageError, match=f"8a of one {told} gate on None: give it another group"):
        plan.groups(QUICK)
    invented(one=(few, many))
    with pytest.raises(UsageError, match=f"14 of one {told} aggregation on comments"):
        plan.groups(QUICK)


def test_a_setting_that_two_groups_of_a_paper_would_measure_is_refused(invented):
    apart = dataclasses.replace(GATES, id="9", measured_with="apart")
    invented(one=(GATES, apart))
    told = "t-gate at the same setting is in the groups 'gate' and 'apart' of one: give"
    with pytest.raises(UsageError, match=told):
        plan.groups(QUICK)
    # Also for any other figure that shows one of the two.
    invented(one=(GATES,), two=(GATES, apart))
    with pytest.raises(UsageError, match="'gate' and 'apart' of two"):
        plan.groups(QUICK)


def test_two_papers_may_have_groups_of_their_own_for_one_setting(invented):
    invented(one=(GATES,), two=(dataclasses.replace(GATES, id="9", measured_with="apart"),))
    assert [group.id for group in plan.groups(QUICK)] == ["gate", "apart"]
    assert [group.figures for group in plan.groups(QUICK, ["two"])] == [(("two", "9"),)]


def test_an_unknown_group_lists_those_there_are():
    with pytest.raises(
        UsageError, match="unknown group 'gates'; groups are: .*gate, aggregation-m"
    ):
        plan.group("gates", QUICK)


# --- what decides a group's results --------------------------------------------------------------


def key_of(profile=QUICK, data="digest", **changes):
    group = dataclasses.replace(group_of("gate", profile), **changes)
    return plan.group_key(group, profile, data)


def test_a_group_s_key_is_one_for_any_number_of_repetitions_under_any_name():
    assert key_of() == key_of(profile_of(name="theirs", title="x", next=None, repetitions=99))
    # The key does not depend on the figures that show the setting, either.
    assert key_of() == key_of(figures=(("another", "1"),))


TASK = Task("t-gate", {"sources": 2})


def test_a_changed_declaration_length_or_data_changes_a_group_s_key():
    changes = [
        {},
        {"profile": profile_of(size="laptop")},
        {"profile": profile_of(open_seconds=9)},
        {"profile": profile_of(rate_fractions=[0.5])},
        {"data": "other"},
        {"tasks": (TASK,)},
        {"tasks": (dataclasses.replace(TASK, common=True),)},
        {"tasks": (dataclasses.replace(TASK, settings={"sources": 3}),)},
        {"tasks": (dataclasses.replace(TASK, variant="skip-list"),)},
        {"tasks": (dataclasses.replace(TASK, fractions=(0.5,)),)},
        {"tasks": (dataclasses.replace(TASK, phases=("durations",)),)},
        {"tasks": (dataclasses.replace(TASK, probes=1),)},
        {"tasks": (TASK, dataclasses.replace(TASK, variant="skip-list"))},
    ]
    assert len({key_of(**change) for change in changes}) == len(changes)


def test_an_edit_of_one_variant_changes_the_keys_of_the_groups_that_use_it(monkeypatch):
    before = {group.id: plan.group_key(group, QUICK, "d") for group in plan.groups(QUICK)}
    known = keys.variant_digest
    monkeypatch.setattr(
        keys,
        "variant_digest",
        lambda family, variant: "edited" if variant == "tumlmc" else known(family, variant),
    )
    after = {group.id: plan.group_key(group, QUICK, "d") for group in plan.groups(QUICK)}
    uses = {
        group.id
        for group in plan.groups(QUICK)
        if any(task.variant.startswith("tumlmc") for task in group.tasks)
    }
    assert {name for name in after if after[name] != before[name]} == uses
    assert "gate" not in uses and "aggregation-few-keys-os" in uses


def test_generated_data_are_told_apart_by_name_size_and_seed():
    given = [("soundcloud", "quick", 1), ("smart_meter", "quick", 1), ("soundcloud", "laptop", 1),
             ("soundcloud", "quick", 2)]  # fmt: skip
    assert len({plan.generated_identity(*one) for one in given}) == len(given)
    assert plan.generated_identity(*given[0]) == plan.generated_identity(*given[0])


def test_recorded_data_are_told_apart_by_mapping_and_files(tmp_path):
    mapping, file = tmp_path / "mapping.yaml", tmp_path / "a.csv"
    mapping.write_text("role: meters")
    file.write_text("1,2")
    before = plan.recorded_identity("meters", mapping, [file])
    assert plan.recorded_identity("meters", mapping, [file]) == before
    mapping.write_text("role: comments")
    assert plan.recorded_identity("meters", mapping, [file]) != before
    mapping.write_text("role: meters")
    file.write_text("1,2,3")
    assert plan.recorded_identity("meters", mapping, [file]) != before


def test_recorded_data_are_told_apart_by_what_derives_their_other_tables(tmp_path, monkeypatch):
    mapping, file = tmp_path / "mapping.yaml", tmp_path / "a.csv"
    mapping.write_text("role: calls")
    file.write_text("1,2")
    edited = keys.file_of("datasets.call_records.suspects")
    known = keys.sources_digest
    seen = []
    monkeypatch.setattr(keys, "sources_digest", lambda files: seen.append(files) or known(files))
    plan.recorded_identity("calls", mapping, [file])
    plan.recorded_identity("meters", mapping, [file])
    assert [edited in files for files in seen] == [True, False]


# --- how long it takes ---------------------------------------------------------------------------


def test_probes_and_repetitions_take_time():
    searched = profile_of(probes=4)
    gate = group_of("gate")
    assert plan._seldom_seconds(group_of("gate", searched), searched, 1) > 0
    assert plan._seldom_seconds(gate, QUICK, 1) == 0
    once = plan.plan(QUICK)
    twice = plan.plan(profile_of(repetitions=2))
    assert [2 * line.runs for line in once] == [line.runs for line in twice]
    for one, two in zip(once, twice, strict=True):
        # Settings that run only once or twice are run by the first processes alone.
        numbers = plan.repetitions(one.group, QUICK, 1)
        alone = sum(plan._seldom_seconds(one.group, QUICK, n) for n in numbers) / 60
        assert 2 * (one.minutes - alone) == pytest.approx(two.minutes - alone)


def test_what_is_measured_in_one_process_takes_its_time_once():
    profile = profile_of(repetitions=3, forks=1)
    (line,) = (each for each in plan.plan(profile) if each.group.id == "gate")
    first, *others = line.group.tasks
    once = dataclasses.replace(first, processes=1)
    less = dataclasses.replace(line.group, tasks=(once, *others))
    told = plan._line(less, profile)
    assert line.runs - told.runs == 2 * profile.closed_rounds * less.tasks[0].closed_runs + (
        2 * profile.open_rounds * less.tasks[0].open_runs
    )
    apart = 60 * (line.minutes - told.minutes)
    own = ("gate", less.tasks[0], profile)
    assert apart == pytest.approx(2 * (plan.task_seconds(*own) + plan.started_seconds(*own)))


def test_forks_share_what_is_made_once_a_process():
    alone, forked = (profile_of(forks=n) for n in (1, 6))
    for one, six in zip(plan.plan(alone), plan.plan(forked), strict=True):
        if six.group.family == "micro_batches":
            assert (one.runs, one.minutes) == (six.runs, six.minutes)
            continue
        often = sum(len(task.seldom) for task in one.group.tasks)
        assert six.runs - often == 6 * (one.runs - often)
        assert one.minutes < six.minutes < 6 * one.minutes


def test_a_plan_is_told_group_by_group_with_the_figures_that_show_it():
    told = plan.text(QUICK, plan.plan(QUICK)).splitlines()
    assert told[0] == f"profile mine: {QUICK.title}"
    (line,) = (line for line in told if line.startswith("  aggregation-many-keys-os "))
    assert line.endswith("multiway_aggregation 8, 9, 14, 29")
    runs = sum(line.runs for line in plan.plan(QUICK))
    assert told[-1].startswith(f"  together {runs} runs, about ")
    assert plan.figures_text([("a", "8"), ("a", "8a"), ("b", "8")]) == "a 8, 8a; b 8"


@pytest.mark.parametrize(("profile", "minutes"), [("quick", 8), ("laptop", 40)])
def test_a_profile_ends_within_its_minutes(profile, minutes):
    lines = plan.plan(profiles.load(profile), [PAPER])
    assert sum(line.minutes for line in lines) <= minutes
