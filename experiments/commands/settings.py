"""Settings given to a bench by ``--set``, checked before anything is generated or compiled."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from datasets import catalog, read
from experiments import families
from experiments.records import results
from operators import registry
from operators.contract import UsageError, Variant

# The dataset generated for a bench that needs data of a role without any: the same one that the
# workflow generates for its smallest profile.
SIZE = "quick"
SEED = 1
DATASET = "dataset"


def setting_names(variant: Variant) -> list[str]:
    """Return every name that ``--set`` takes for a variant."""
    family = registry.family(variant.family)
    names = {each.name for each in (*family.settings, *variant.parameters)}
    if family.role_of({}) is not None:
        names.add(DATASET)
    return sorted(names)


def split_settings(given: Sequence[str], variants: Sequence[Variant]) -> list[dict[str, str]]:
    """Return the settings of each variant.

    Several variants share one list: a setting goes to the variants that have it.

    Parameters
    ----------
    given : sequence of str
        name=value each; if a name is given twice, the last value holds.
    variants : sequence of Variant

    Raises
    ------
    UsageError
        When an entry is not name=value, or no variant has a setting of that name.
    """
    settings: dict[str, str] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--set takes name=value, received {entry!r}")
        settings[name] = value
    known = [setting_names(variant) for variant in variants]
    threads, first = settings.get(registry.THREADS), variants[0]
    if threads is not None and not any(registry.THREADS in names for names in known):
        if registry.takers_of(first.family, registry.THREADS):
            # Accepts one thread; for more, the error names the variants that have them.
            registry.settings_for_threads(first, {}, threads)
            del settings[registry.THREADS]
    for name in settings:
        if not any(name in names for names in known):
            raise UsageError(
                f"{registry.called(first.family)} {first.id} has no setting {name!r};"
                f" it has: {', '.join(known[0])}"
            )
    return [{n: v for n, v in settings.items() if n in names} for names in known]


def check(variant: Variant, settings: Mapping[str, Any]) -> None:
    """Refuse settings that the variant's bench would refuse, before any data exists.

    Raises
    ------
    UsageError
        One line with the received value and the limits.
    """
    families.make(variant).check(settings)


def ensure_dataset(family: str, settings: Mapping[str, Any]) -> None:
    """Generate the quick dataset of the required role, if there is none of that role yet."""
    role = registry.family(family).role_of(settings)
    if role is None or DATASET in settings:
        return
    made = read.datasets_made(results.root() / "data")
    if any(read.read_info(path)["role"] == role for path in made):
        return
    name = catalog.generated_for(role)
    rows = catalog.dataset(name).rows_of(SIZE)
    folder: Path = results.root() / "data" / SIZE / name
    print(
        f"millrace: no dataset of {role} was made yet: generating {name}, {rows} rows, in {folder}",
        file=sys.stderr,
    )
    # Starts Spark: no other command waits for that.
    from datasets.generate import generate

    generate(name, rows=rows, seed=SEED, output=folder)
