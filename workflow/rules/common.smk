"""Common to all rules: the scope of this run, the paths of its files, and their dependencies."""

import importlib
import pkgutil
import threading
from importlib.util import find_spec
from pathlib import Path

from datasets import catalog, recorded
from datasets.formats.gather import check_beginnings
from datasets.formats.mapping import read_mapping
from datasets.formats.sources import find_sources
from experiments import papers, plan, profiles, run_options, series
from experiments.commands.job_log import plain_errors
from experiments.declare import stem_of
from experiments.peers import catalog as peers_catalog
from experiments.records import keys, sets
from experiments.time_left import seconds_left
from figures import files
from operators.contract import UsageError
from operators.core.sources import ROOT

# Timed jobs take all hundred parts of this resource, any other job one: see workflow/Snakefile.
workflow.register_resource("machine", 100)
with plain_errors():
    config.update(run_options.checked(config))

SEED = 1
NOTEBOOKS = {file.stem: str(file) for file in Path(ROOT, "notebooks").glob("*.ipynb")}

with plain_errors():
    PROFILE = profiles.load(config["profile"], config["repetitions"])
    MAPPING = read_mapping(config["data"]) if config["data"] else None
    RECORDED = find_sources(MAPPING) if MAPPING else []
    if RECORDED:
        check_beginnings(MAPPING, RECORDED)
    PAPERS = papers.paper_names() if config["paper"] == "all" else config["paper"].split(",")
    PEERS = peers_catalog.chosen(config["peers"])
    GROUPS = {each.id: each for each in plan.groups(PROFILE, PAPERS)}

# One Spark session makes all of these: see datasets/ahead.py.
config["generated"] = sorted(
    {catalog.generated_for(each.role) for each in GROUPS.values() if each.role}
    - ({catalog.generated_for(MAPPING.role)} if MAPPING else set())
)

# One folder a set of results: no profile and no dataset overwrites the results of another.
LABEL = config["label"] or (f"{PROFILE.name}-{MAPPING.name}" if MAPPING else PROFILE.name)
SET = f"results/{LABEL}"
with plain_errors():
    if LABEL in profiles.names() and LABEL != PROFILE.name:
        raise UsageError(
            f"label={LABEL} is the set of results of that profile; this one is {PROFILE.name}:"
            " take another label"
        )
# A run that only draws uses the existing raw results, whatever has changed since.
MEASURING = config["measure"]


wildcard_constraints:
    paper="|".join(papers.paper_names()),
    group="|".join(sorted(GROUPS)) or "none",
    dataset="|".join(each.name for each in catalog.datasets()),
    key="[0-9a-f]+",
    repetition=r"\d+",


def dataset_of(role):
    """Return the folder of the data of a role, as the input of a rule; empty for no role."""
    if role is None:
        return []
    if MAPPING and MAPPING.role == role:
        return f"results/data/recorded/{MAPPING.name}"
    return f"results/data/{PROFILE.size}/{catalog.generated_for(role)}"


def data_of_groups():
    """Return the folder of the data of each role that some group runs on."""
    return {group.role: dataset_of(group.role) for group in GROUPS.values() if group.role}


def ancient_once_made(files, made):
    """Return the input of a job that makes some files; its date does not matter once they exist.

    For a job that has to run it is a plain input: Snakemake skips jobs whose only new inputs are
    ancient, even if their outputs are missing. A run whose dataset had been interrupted, or whose
    generator had changed, ended with that dataset and measured nothing.
    """
    return ancient(files) if all(Path(each).exists() for each in made) else files


def identity_of(role):
    """Return a hash of all that decides the rows of a role's data."""
    if role is None:
        return None
    if MAPPING and MAPPING.role == role:
        files = {source.path for source in RECORDED}
        return plan.recorded_identity(role, MAPPING.path, files)
    return plan.generated_identity(catalog.generated_for(role), PROFILE.size, SEED)


# Hashes of all that the results of each group depend on; each key has a folder of results.
KEYS = {
    name: plan.group_key(each, PROFILE, identity_of(each.role)) for name, each in GROUPS.items()
}


def raw_file(group, key, repetition):
    """Return the path of the raw results of one process for a group."""
    return f"{SET}/raw/{group}/{key}/repetition-{repetition}.jsonl"


def raw_files(group):
    """Return the raw results of a group, one file a repetition."""
    folder = Path(SET, "raw", group)
    if MEASURING:
        # Results of more processes than requested may exist, and are used.
        there = len(list(Path(folder, KEYS[group]).glob("repetition-*.jsonl")))
        numbers = range(1, max(PROFILE.repetitions, there) + 1)
        return [raw_file(group, KEYS[group], n) for n in numbers]
    return [str(file) for file in sets.fullest(folder.glob("*/repetition-*.jsonl"), KEYS[group])]


def found_of_paper(paper):
    """Return the existing raw results that a paper's figures need."""
    shown = [name for name, each in GROUPS.items() if paper in dict(each.figures)]
    return [file for name in shown for file in raw_files(name)]


def raw_of_paper(paper):
    """Return the raw results of all groups that a paper's figures need; raise if there are none."""
    found = found_of_paper(paper)
    with plain_errors():
        if not found:
            raise UsageError(f"no raw results in {SET}/raw for {paper}: run make figures first")
    return found


if not MEASURING:
    # Papers without results are not drawn; no paper at all is an error.
    PAPERS = [paper for paper in PAPERS if found_of_paper(paper)] or PAPERS


def raw_of_figure(paper, figure):
    """Return the raw results that a figure shows."""
    shown = [name for name, each in GROUPS.items() if (paper, figure) in each.figures]
    return [file for name in shown for file in raw_files(name)]


def all_raw_files():
    """Return the raw results of this run."""
    return sorted({file for paper in PAPERS for file in raw_of_paper(paper)})


def machine_raw_files():
    """Return the raw results of this run, and those of other papers that are there already.

    All equal runs of a machine give one noise floor, whatever papers a run covers.
    """
    found = set(all_raw_files())
    for group in plan.groups(PROFILE) if MEASURING else ():
        if group.id not in GROUPS:
            key = plan.group_key(group, PROFILE, identity_of(group.role))
            found |= {
                str(file) for file in Path(SET, "raw", group.id, key).glob("repetition-*.jsonl")
            }
    return sorted(found)


def figures_of_paper(paper):
    """Return the files of the figures of a paper in this run, each in all forms."""
    return [
        f"{SET}/figures/{paper}/{stem_of(figure.id)}{form}.{kind}"
        for figure in papers.paper(paper).figures
        if raw_of_figure(paper, figure.id)
        for form in files.forms_of(figure)
        for kind in files.KINDS
    ]


def drawn_figures():
    """Return the files of the figures of this run, each in all forms."""
    return [file for paper in PAPERS for file in figures_of_paper(paper)]


def notebook_of(paper):
    """Return the executed notebook of a paper as seen from the page; empty where none is made.

    A run that only draws runs no notebook, and links to one that exists.
    """
    file = f"notebooks/{paper}.html"
    return file if paper in NOTEBOOKS and (MEASURING or Path(SET, file).is_file()) else ""


# Two cores draw two jobs at a time; a job's start takes longer than a figure.
PARTS = 2


def part_of(paper, part):
    """Return the ids of the figures that one of the jobs draws."""
    shown = [each.id for each in papers.paper(paper).figures if raw_of_figure(paper, each.id)]
    return shown[part::PARTS]


def forest_plots():
    """Return the files of the forest plots of this run, one plot a paper."""
    return [
        f"{SET}/figures/{paper}/{files.FOREST}.{kind}" for paper in PAPERS for kind in files.KINDS
    ]


def sources(*names):
    """Return the digest of modules and all they import: a rule runs again when it changes."""
    return keys.module_digest(*names)


def modules_of(*packages):
    """Return the names of all modules of some packages, including those in joined folders."""
    found = []
    for package in packages:
        folders = importlib.import_module(package).__path__
        inside = pkgutil.walk_packages(folders, f"{package}.")
        found += [package, *(each.name for each in inside)]
    return found


def found_by_name(paper):
    """Return the existing modules that judging and drawing a paper find by name."""
    names = [f"experiments.{paper}.{name}" for name in ("figures", "comparators", "quantities")]
    families = {figure.family for figure in papers.paper(paper).figures}
    names += [f"experiments.families.{family}.columns" for family in sorted(families)]
    return [name for name in names if find_spec(name) is not None]


def drawing_sources(paper, figure):
    """Return the digest of the code that draws a figure, including the model."""
    shown = papers.figure(paper, figure)
    model = [f"experiments.{paper}.{shown.model}"] if shown.model else []
    form = files.form_name(shown)
    return sources("figures.draw", form, *model, *found_by_name(paper))


def declared(paper, figure):
    """Return the digest of all that decides how a figure is drawn, except the results."""
    shown = papers.figure(paper, figure)
    looks = [series.drawn(shown.family, line) for line in series.measured(shown)]
    return keys.digest_of([repr(shown), looks])


class TimeLeft:
    """Reads as the remaining time of the measurements, whenever a message shows it."""

    def __str__(self):
        files = {name: [Path(file) for file in raw_files(name)] for name in GROUPS}
        there = [file.exists() for each in files.values() for file in each]
        minutes = seconds_left(GROUPS, files, PROFILE) / 60
        return f"job {sum(there) + 1} of {len(there)}, about {minutes:.1f} min of measuring left"


time_left = TimeLeft()


def plan_text(profile):
    """Return the plan of a profile for the papers of this run."""
    return plan.text(profile, plan.plan(profile, PAPERS))


def closing_text():
    """Return the location of the results, and the additions of the next profile."""
    made = f"The page about all results is results/report.html, that of this run {SET}/report.html."
    if PROFILE.next is None:
        return made
    wider = profiles.load(PROFILE.next)
    lines = plan.plan(wider, PAPERS)
    runs, minutes = sum(line.runs for line in lines), sum(line.minutes for line in lines)
    return (
        f"{made}\nmake figures PROFILE={wider.name} would add: {wider.title}, {runs} runs,"
        f" about {minutes:.0f} min."
    )


def end_timers():
    """Stop the timers of Snakemake's scheduler, which would delay the end by a second."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
