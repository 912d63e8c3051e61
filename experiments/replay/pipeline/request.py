"""The options of a query's replay, checked before any file is opened."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.replay.files import checked_input, checked_outputs
from operators import registry
from operators.contract import UsageError
from operators.pipeline.queries.table_1 import QUERIES

# The files that a query reads besides its input, and the options that it requires.
NEEDED = {
    "q1": ("items",),
    "q2": (),
    "q3": ("items",),
    "q4": ("pages",),
    "q15": ("items", "store", "year"),
}
FIRST_YEAR, LAST_YEAR = 1900, 2100


@dataclass(frozen=True)
class Request:
    """A checked replay of a query.

    Attributes
    ----------
    query : str
    input : Path
    items, pages, mapping : Path or None
        None if the query does not read them.
    store, year : int or None
    settings : dict
        All settings of the family ``pipeline``.
    scheduler : str
    time_unit : str or None
        s, ms or us: the unit of times; None if integers are seconds.
    output : Path
    rejected : Path or None
        Where unusable rows of the input are set aside; None makes the first an error.
    """

    query: str
    input: Path
    items: Path | None
    pages: Path | None
    mapping: Path | None
    store: int | None
    year: int | None
    settings: dict[str, Any]
    scheduler: str
    time_unit: str | None
    output: Path
    rejected: Path | None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The file whose rows may be set aside."""
        return (self.input,)


def make_request(query: str, options: argparse.Namespace) -> Request:
    """Return the request of some options.

    Raises
    ------
    UsageError
        When something is unknown, missing, superfluous or out of its limits.
    """
    if query not in QUERIES:
        raise UsageError(f"unknown query {query!r}; there are: {', '.join(QUERIES)}")
    mapped = options.mapping is not None
    if mapped and query != "q1":
        raise UsageError(f"--mapping is for q1 and was given for {query}; leave it out")
    needed = () if mapped else NEEDED[query]
    for name in ("items", "pages", "store", "year"):
        given = getattr(options, name)
        if name in needed and given is None:
            raise UsageError(f"query {query} needs --{name}; millrace replay pipeline --help")
        if name not in needed and given is not None:
            with_mapping = " with --mapping" if mapped else ""
            raise UsageError(f"query {query}{with_mapping} does not read --{name}; leave it out")
    if options.year is not None and not FIRST_YEAR <= options.year <= LAST_YEAR:
        raise UsageError(
            f"--year must be between {FIRST_YEAR} and {LAST_YEAR}, received {options.year}"
        )
    scheduler = registry.variant("pipeline", options.scheduler)
    settings = registry.family("pipeline").resolve(
        scheduler,
        {
            "query": query,
            "workers": options.workers,
            "form": options.form,
            "block": options.block,
            "parts": options.parts,
            "partitions": options.partitions,
            "slots": options.slots,
            "slice_us": options.slice_us,
            "reorder": options.reorder,
            "partition": options.partition,
        },
    )
    paths = {
        name: checked_input(Path(given)) if (given := getattr(options, name)) else None
        for name in ("input", "items", "pages")
    }
    mapping = Path(options.mapping) if mapped else None
    if mapping is not None and not mapping.is_file():
        raise UsageError(f"--mapping {mapping} is not a file; see millrace replay pipeline --help")
    inputs = [path for path in (*paths.values(), mapping) if path is not None]
    output, rejected = checked_outputs(options.output, options.rejected, inputs, options.overwrite)
    return Request(
        query=query,
        **paths,
        mapping=mapping,
        store=options.store,
        year=options.year,
        settings=settings,
        scheduler=scheduler.id,
        time_unit=options.time_unit,
        output=output,
        rejected=rejected,
    )
