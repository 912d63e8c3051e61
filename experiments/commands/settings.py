"""What ``--set`` gives to a bench, checked before anything is generated or compiled."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from datasets import read
from experiments import profiles
from experiments.families import BENCHES
from experiments.families.aggregation.bench import MOST_INPUTS, dataset_path
from experiments.families.gate.bench import MOST_READERS, MOST_SOURCES
from experiments.plan import GENERATED
from experiments.records import results
from experiments.timing.bench import (
    between,
    check_function,
    check_names,
    parameters,
    setting_names,
)
from operators.aggregation.queries import query as find_query
from operators.contract import UsageError, Variant

DEFAULT_QUERY = "k-OS"
MOST_SEED = 1 << 31
LIMITS = {
    "inputs": MOST_INPUTS,
    "sources": MOST_SOURCES,
    "readers": MOST_READERS,
    "seed": MOST_SEED,
}
QUICK = "quick"
# What the workflow generates with: the dataset is the same one.
SEED = 1


def split_settings(given: Sequence[str], variants: Sequence[Variant]) -> list[dict[str, str]]:
    """Return the settings of each variant.

    Several variants share one list: a setting goes to those that have it.

    Parameters
    ----------
    given : sequence of str
        name=value each; of a name given twice the last value holds.
    variants : sequence of Variant

    Raises
    ------
    UsageError
        When an entry is no name=value, or none of the variants has a setting of its name.
    """
    settings: dict[str, str] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--set takes name=value, received {entry!r}")
        settings[name] = value
    family = variants[0].family
    known = [setting_names(variant, BENCHES[family].NAMES) for variant in variants]
    for name in settings:
        if not any(name in names for names in known):
            check_names(variants[0], {name: settings[name]}, BENCHES[family].NAMES)
    return [{n: v for n, v in settings.items() if n in names} for names in known]


def check(variant: Variant, settings: Mapping[str, str]) -> None:
    """Refuse settings that the variant's bench would refuse once its data is there.

    Raises
    ------
    UsageError
        One line with what was received and the limits.
    """
    parameters(variant, settings)
    for name, most in LIMITS.items():
        if name in settings:
            between(settings, name, 1, most)
    if variant.family != "aggregation":
        # It needs no data, so its bench itself says here what it refuses: readers, for one.
        BENCHES[variant.family](variant, settings)
        return
    query = find_query(settings.get("query", DEFAULT_QUERY))
    check_function(variant, query.function, f" (query {query.id})")
    if "dataset" in settings:
        info = read.read_info(dataset_path(settings["dataset"], query.role))
        if info["role"] != query.role:
            raise UsageError(
                f"query {query.id} runs on {query.role}, and dataset {info['name']} holds"
                f" {info['role']}"
            )


def ensure_dataset(family: str, settings: Mapping[str, str]) -> None:
    """Generate the quick dataset of the query's role where none of it was made yet."""
    if family != "aggregation" or "dataset" in settings:
        return
    role = find_query(settings.get("query", DEFAULT_QUERY)).role
    made = read.datasets_made(results.root() / "data")
    if any(read.read_info(path)["role"] == role for path in made):
        return
    name = GENERATED[role]
    rows = profiles.load(QUICK).rows[name]
    folder: Path = results.root() / "data" / QUICK / name
    print(
        f"millrace: no dataset of {role} was made yet: generating {name}, {rows} rows, in {folder}",
        file=sys.stderr,
    )
    # Starts Spark: no other command waits for that.
    from datasets.generate import generate

    generate(name, rows=rows, seed=SEED, output=folder)
