"""What all rules share: what this run covers, where its files lie, and the sources of a step."""

import sys
import threading
from pathlib import Path

import grimp
from snakemake.utils import validate

from datasets.formats.gather import check_beginnings
from datasets.formats.mapping import read_mapping
from datasets.formats.sources import find_sources
from experiments import plan
from experiments import profiles
from experiments.commands.job_log import plain_errors
from operators.contract import UsageError

# Timed jobs take all hundred parts of it, any other job one: see workflow/Snakefile.
workflow.register_resource("machine", 100)
validate(config, "../config/config.schema.yaml")

with plain_errors():
    PROFILE = profiles.load(config["profile"])
    MAPPING = read_mapping(config["data"]) if config["data"] else None
    RECORDED = find_sources(MAPPING) if MAPPING else []
    if RECORDED:
        check_beginnings(MAPPING, RECORDED)
    PAPERS = plan.papers() if config["paper"] == "all" else [config["paper"]]
    # What is swept over: (paper, figure id) to its declaration.
    SWEEP = {(paper, each.id): each for paper in PAPERS for each in plan.figures(paper)}

# Results on recorded data never lie in one folder with those on generated data.
LABEL = f"{PROFILE.name}-{MAPPING.name}" if MAPPING else PROFILE.name
DATASETS = {role: f"results/data/{PROFILE.name}/{name}" for role, name in plan.GENERATED.items()}
if MAPPING:
    DATASETS[MAPPING.role] = f"results/data/recorded/{MAPPING.name}"

# `snakemake plots` draws the raw results that are there, whatever has changed since. Snakemake knows
# its targets only after it has read the rules, so the command line tells.
MEASURING = "plots" not in sys.argv

IMPORTS = grimp.build_graph("operators", "datasets", "experiments", "figures", cache_dir=None)


def sources(*modules):
    """Return the files of `modules` (of a package: all of it) and of all that they import."""
    found = set()
    for module in modules:
        for own in {module} | IMPORTS.find_descendants(module):
            found |= {own} | IMPORTS.find_upstream_modules(own)
    paths = [Path(*name.split(".")) for name in sorted(found)]
    return [str(file) for path in paths for file in source_of(path)]


def source_of(path):
    """Return the file of a module, or that of a package, where there is one."""
    return [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]


def figure_sources(wildcards):
    """Return what draws a figure and its extended form."""
    return sources("figures.draw", f"figures.{wildcards.paper}.{wildcards.figure}")


def role_of(wildcards):
    """Return the role of the dataset that a figure is measured on, None where it needs none."""
    return SWEEP[wildcards.paper, wildcards.figure].role


def dataset_of(wildcards):
    """Return the dataset that a figure is measured on, as the input of its rule."""
    role = role_of(wildcards)
    return [] if role is None else [DATASETS[role]]


def raw_files(paper, figure):
    """Return the raw results of a figure, one file a repetition."""
    folder = f"results/raw/{LABEL}/{paper}/{figure}"
    if not MEASURING:
        return sorted(map(str, Path(folder).glob("repetition-*.jsonl")))
    return [f"{folder}/repetition-{n}.jsonl" for n in range(1, PROFILE.repetitions + 1)]


def all_raw_files():
    """Return the raw results of this run."""
    found = [file for paper, figure in SWEEP for file in raw_files(paper, figure)]
    with plain_errors():
        if not found:
            raise UsageError(f"no raw results in results/raw/{LABEL}: run make figures first")
    return found


def drawn_figures():
    """Return the files of the figures of this run: of each, and of its extended form."""
    stems = [
        f"results/figures/{paper}/{figure}{form}"
        for paper, figure in SWEEP
        if raw_files(paper, figure)
        for form in ("", "_extended")
    ]
    return [f"{stem}.{kind}" for stem in stems for kind in ("pdf", "svg", "png", "csv")]


class TimeLeft:
    """Reads as the time that the measurements still need, whenever a message shows it."""

    def __str__(self):
        seconds, jobs, done = 0, 0, 0
        for (paper, figure), declared in SWEEP.items():
            there = [Path(file).exists() for file in raw_files(paper, figure)]
            jobs, done = jobs + len(there), done + sum(there)
            seconds += (len(there) - sum(there)) * plan.seconds(declared, PROFILE)
        return f"job {done + 1} of {jobs}, about {seconds / 60:.1f} min of measuring left"


time_left = TimeLeft()


def plan_text(profile):
    """Return what a profile measures for the papers of this run."""
    return plan.text(profile, [line for paper in PAPERS for line in plan.plan(profile, paper)])


def closing_text():
    """Return where the results are, and what the next profile would add."""
    made = "Figures are in results/figures, the page about them is results/report.html."
    if PROFILE.next is None:
        return made
    wider = profiles.load(PROFILE.next)
    lines = [line for paper in PAPERS for line in plan.plan(wider, paper)]
    points, minutes = sum(line.points for line in lines), sum(line.minutes for line in lines)
    return (
        f"{made}\nmake figures PROFILE={wider.name} would add: {wider.title},"
        f" {wider.rows['soundcloud']:,} rows, {points} points, about {minutes:.0f} min."
    )


def end_timers():
    """Stop the timers of Snakemake's scheduler, for which it would wait a second at its end."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
