"""Results of two checkouts, by digest: each variant of the families with a bench, some settings.

Indexes and the structures of the core have no bench: joins run over the indexes, and the operators
over the structures. A join has a digest of a fixed length only over drifting keys; otherwise the
length varies between runs, so only settings and the verdict of the oracle are compared.

Runs are offered a rate, which fixes their number of tuples regardless of the machine: digests are
those of the same input. Each run is also compared with the oracle of the same checkout. Times are
ignored; but a bench gives up a run after some time, which is a failure here, so a busy machine
yields no answer.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.same.checkouts import CannotCompare, Checkout
from tests.same.report import Difference, Finding

# Fields of a run that do not depend on time; the last ones also depend on the length of the run.
OF_LENGTH = ("tuples", "outputs", "digest", "oracle_digest")
COMPARED = (
    "settings", "dataset", "dataset_source", "dataset_digest", "threads", "in_flight_tuples",
    "valid", "invalid_reason", *OF_LENGTH,
)  # fmt: skip
PACE = ("--rate", "200000", "--seconds", "0.05")
# A join takes no rate. Over drifting keys a run is one drift, however short it should be; other
# runs are as long as a trial says, so that only their oracle can judge their results.
PACE_OF_JOIN = ("--rate", "max", "--seconds", "1e-9")
# Settings of the families with a bench. If a variant refuses one, the messages are compared.
# No setting works for microseconds: each process calibrates how many steps that takes, and the
# digests depend on the number.
SETTINGS = {
    "aggregation": ("query=K-OS inputs=2", "query=k-OS inputs=4 seed=3", "query=K-OI inputs=3",
                    "query=k-OI inputs=1", "query=K-OS inputs=8 seed=9"),
    "gate": ("sources=1", "sources=2 seed=5", "sources=4 ahead=256", "sources=20 seed=3",
             "sources=3 readers=3"),
    "reorder": ("workers=1 work_us=0 send_us=0", "workers=2 work_us=0 send_us=0",
                "workers=3 work_us=0 send_us=0 slots=64", "workers=2 work_us=0 send_us=0 slots=16",
                "workers=5 work_us=0 send_us=0 work=constant"),
    "partition": ("workers=1 work_us=0", "workers=2 work_us=0", "workers=3 work_us=0 sigma=0.5",
                  "workers=2 work_us=0 reorder=lock-based", "workers=4 work_us=0 slots=64 seed=3"),
    "join": ("keys=drift kind=self window=256 drift=0.5", "keys=drift kind=self window=1024",
             "keys=drift kind=self window=512 drift=1 match_rate=8",
             "keys=drift kind=self window=100 drift=0.25 sigma=0.02", "window=1024",
             "window=512 keys=gaussian kind=self"),
    "theta_join": ("window_s=5 density=100 purge=opposite", "window_s=5 density=100 purge=own",
                   "window_s=5 density=100 purge=opposite threads=3",
                   "window_s=5 density=100 purge=opposite predicate=equal",
                   "window_s=2 density=400 purge=opposite threads=1"),
    "pipeline": ("query=q1 workers=2", "query=q2 workers=3 reorder=lock-based",
                 "query=q3 workers=1 partition=shared", "query=q4 workers=2 partition=partitioned",
                 "query=q15 workers=2 slots=64"),
}  # fmt: skip
# The exit status of the command when it refuses a request.
REFUSED = 2
# A run is short and only its output counts: it neither waits for others nor blocks them.
IN_PASSING = {"MILLRACE_PATIENCE": "0", "MILLRACE_LOCK": "lock"}

Results = dict[str, Mapping[str, Any]]


def listed_by(checkout: Checkout, folder: Path) -> list[Mapping[str, Any]]:
    """Return the variants that a checkout lists.

    Raises
    ------
    CannotCompare
        When the checkout's command fails.
    """
    done = checkout.millrace(["list", "variants", "--json"], folder)
    if done.returncode != 0:
        raise CannotCompare(f"{checkout.name} lists no variants: {done.stderr.decode().strip()}")
    return json.loads(done.stdout)


def taking(listed: Iterable[Mapping[str, Any]], family: str, settings: str) -> list[str]:
    """Return the variants of a family that answer the query of some settings, if there is one."""
    queries = [each.partition("=")[2] for each in settings.split() if each.startswith("query=")]
    return [
        each["id"]
        for each in listed
        if family_of(each) == family and set(queries) <= set(each["queries"] or queries)
    ]


def family_of(listed: Mapping[str, Any]) -> str:
    """Return the family of a variant: the list has one name for both families of joins."""
    by_time = any(setting["name"] == "window_s" for setting in listed["settings"])
    return "theta_join" if by_time else listed["family"]


def results_of(
    checkout: Checkout, family: str, variants: Sequence[str], settings: str, folder: Path
) -> Results:
    """Return the results of each variant at one setting, or the message of its refusal."""
    arguments = ["bench", family, *variants, "--set", *shlex.split(settings)]
    arguments += [*(PACE_OF_JOIN if family == "join" else PACE), "--repeat", "1", "--json"]
    done = checkout.millrace(arguments, folder, IN_PASSING)
    if done.stdout:
        answer = json.loads(done.stdout)
        rows = answer["results"] if "results" in answer else [answer]
        free = family == "join" and "keys=drift" not in settings
        names = [name for name in COMPARED if not (free and name in OF_LENGTH)]
        return {row["variant"]: {name: row[name] for name in names} for row in rows}
    if len(variants) > 1:
        # A single refused variant keeps the others from running.
        half = len(variants) // 2
        parts = (variants[:half], variants[half:])
        found = (results_of(checkout, family, part, settings, folder) for part in parts)
        return {name: result for each in found for name, result in each.items()}
    words = " ".join(done.stderr.decode().strip().splitlines()[-1:])
    return {variants[0]: {"refused" if done.returncode == REFUSED else "failed": words}}


def prepare(folder: Path, data: Path | None) -> Path:
    """Make a working directory that uses the data sets in `data`; without it they are generated."""
    (folder / "results").mkdir(parents=True)
    if data is not None and data.is_dir():
        (folder / "results" / "data").symlink_to(data.resolve())
    return folder


def compare(
    base: Checkout, new: Checkout, data: Path | None, families: Iterable[str] = ()
) -> Iterator[Finding]:
    """Yield the finding for each family.

    Parameters
    ----------
    base, new : Checkout
    data : Path, optional
        A folder ``results/data``; without it each checkout generates the data sets it needs.
    families : iterable of str
        Families to compare; by default all in ``SETTINGS``.

    Raises
    ------
    CannotCompare
        When BASE lists no variant for a setting.
    """
    with TemporaryDirectory(prefix="millrace-same-") as made:
        before, after = (prepare(Path(made, name), data) for name in ("base", "new"))
        listed = listed_by(base, before)
        for family in families or SETTINGS:
            asked = [(family, taking(listed, family, each), each) for each in SETTINGS[family]]
            for _, variants, settings in asked:
                if not variants:
                    raise CannotCompare(f"BASE has no variant of {family} for {settings}")
            olds = [results_of(base, *each, before) for each in asked]
            news = [results_of(new, *each, after) for each in asked]
            yield finding_of(family, zip(SETTINGS[family], olds, news, strict=True))


def finding_of(family: str, results: Iterable[tuple[str, Results, Results]]) -> Finding:
    """Return how many results of a family were compared, and each field that differs."""
    found = []
    count = refused = 0
    for settings, olds, news in results:
        if all("refused" in old for old in olds.values()):
            found.append(Difference(f"{family} {settings}", f"BASE runs nothing: {olds}"))
        for variant, old in olds.items():
            count += 1
            refused += "refused" in old
            where = f"{family} {variant} {settings}"
            failed = [each["failed"] for each in (old, news[variant]) if "failed" in each]
            if failed:
                found.append(Difference(where, f"failed: {'; '.join(failed)}"))
                continue
            if not old.get("valid", True):
                found.append(Difference(where, f"wrong in BASE: {old['invalid_reason']}"))
            new = news[variant]
            for name in sorted(old.keys() | new.keys()):
                if old.get(name) != new.get(name):
                    found.append(Difference(where, f"{name} {old.get(name)} -> {new.get(name)}"))
    summary = f"digests: {family}: {count} results, {refused} of them that BASE refuses to make"
    return Finding(summary, found)
