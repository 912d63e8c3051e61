"""Checks the results of a workflow run: `python tests/workflow/check_results.py quick PAPER`.

Every planned setting of every group has rows; every row is valid or gives the reason; every figure
exists in each form, is not empty, and has no overlapping text; each paper's verdicts and the pages
exist. Prints one line for each group; each fault is a line on stderr, and the exit status is 1.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

KINDS = ("pdf", "svg", "png", "csv")
# The seed of the workflow's data.
SEED = 1


def faults_of_rows(rows: list[dict], place: str) -> list[str]:
    """Return the faults of the rows of one group."""
    faults = []
    for row in rows:
        if not row["valid"] and not row["invalid_reason"]:
            faults.append(f"{place}: a row of {row['variant']} is invalid and does not say why")
        if row["valid"] and (not row["digest"] or row["digest"] != row["oracle_digest"]):
            faults.append(f"{place}: a row of {row['variant']} is valid without the right digest")
    drawn = {row["variant"] for row in rows if row["valid"]}
    silent = {row["variant"] for row in rows} - drawn
    if silent:
        faults.append(f"{place}: no valid row of {', '.join(sorted(silent))}")
    return faults


def faults_of_figure(stem: Path) -> list[str]:
    """Return the faults of the files of one figure."""
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in KINDS]
    return [f"{file} is missing or empty" for file in files if not file_is_there(file)]


def file_is_there(file: Path) -> bool:
    """Return whether a file exists and is not empty."""
    return file.is_file() and file.stat().st_size > 0


def faults_of_group(group, keys: list[str], rows: list[dict]) -> list[str]:
    """Return the faults of the rows of one repetition of a group."""
    if not rows:
        return [f"{group.id}: nothing was measured"]
    faults = faults_of_rows(rows, group.id)
    missing = len(set(keys) - {row["key"] for row in rows})
    if missing:
        faults.append(f"{group.id}: {missing} of {len(set(keys))} planned points were not measured")
    return faults


def faults_of_pictures(figures, paper: str, files: list[Path], claims: Path) -> list[str]:
    """Return each illegible text of the figures, drawn from the rows in `files`."""
    import matplotlib

    from figures import draw, load, style
    from figures.files import EXTENDED, forms_of
    from tests.figures.overlap import overlaps

    results, faults = load.read(files), []
    for figure in figures:
        for form in forms_of(figure):
            picture = draw.draw(paper, figure.id, results, claims, form == EXTENDED).figure
            with matplotlib.rc_context(style.PARAMETERS):
                found = overlaps(picture)
            faults += [f"figure {figure.id}{form}: {each}" for each in found]
    return faults


def check(name: str, paper: str, root: Path) -> list[str]:
    """Return every fault of the results of a paper under a profile, and print a summary."""
    from datasets import catalog, read
    from experiments import papers, plan, profiles
    from experiments.declare import stem_of
    from experiments.records import keys, results
    from experiments.timing import machine, rounds
    from figures.files import FOREST, MACHINE, forms_of
    from tests.required import required_runs

    profile, folder, faults = profiles.load(name), root / name, []
    measured: list[Path] = []
    for group in plan.groups(profile, [paper]):
        digest = data = None
        if group.role is not None:
            dataset = catalog.generated_for(group.role)
            digest = read.read_info(root / "data" / profile.size / dataset)["digest"]
            data = plan.generated_identity(dataset, profile.size, SEED)
        key = plan.group_key(group, profile, data)
        files = sorted((folder / "raw" / group.id / key).glob("repetition-*.jsonl"))
        measured += files
        rows = results.read_all(files).rows
        common = keys.conditions(group.family, digest, profile.keyed, machine.identity())
        required = [
            rounds.key_of(group, run, common) for run in required_runs(group, profile.lengths)
        ]
        faults += faults_of_group(group, required, rows)
        invalid = Counter(row["invalid_reason"] for row in rows if not row["valid"])
        seen = f"{len(rows)} rows" + "".join(f"; {n} invalid: {why}" for why, n in invalid.items())
        print(f"{group.id}: {seen}")
    figures = [each for each in papers.paper(paper).figures if profile.size not in each.absent_from]
    for figure in figures:
        for form in forms_of(figure):
            stem = f"{stem_of(figure.id)}{form}"
            faults += faults_of_figure(folder / "figures" / paper / stem)
    faults += faults_of_pictures(figures, paper, measured, folder / "claims" / f"{paper}.json")
    made = [f"{name}/claims/{paper}.json", f"{name}/audit.json", f"{name}/report.html"]
    made += [f"{name}/{paper}.html", f"{name}/figures/{paper}/{FOREST}.svg"]
    made += [f"{name}/figures/index.html", f"{name}/figures/{MACHINE}.svg"]
    made += [f"{name}/notebooks/{path.name}" for path in Path("notebooks").glob(f"{paper}.ipynb")]
    made.append("report.html")
    return faults + [f"{file} is missing" for file in made if not file_is_there(root / file)]


if __name__ == "__main__":
    sys.path.insert(0, "")
    found = check(sys.argv[1], sys.argv[2], Path("results"))
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)
