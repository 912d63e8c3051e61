"""The peers there are, found by the files of ``engines``, and the words that declare them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from experiments.declare import Series
from experiments.peers import engines
from operators.contract import UsageError

if TYPE_CHECKING:
    # Every start of Snakemake would wait for the import.
    import pyarrow as pa

# Of a prepared query: runs it once and returns the output's getter, which is called off the clock.
Query = Callable[[], Callable[[], "pa.Table"]]


@dataclass(frozen=True)
class Peer:
    """An engine that can do some of the work of operators.

    Attributes
    ----------
    id : str
        The name in ``PEERS``, that of the module.
    title : str
        In figures.
    package : str
        The package that has to be installed, by the name under which it is imported and
        distributed.
    work : mapping
        By the name of a module of ``experiments.peers.works``: ``prepare(tables, settings,
        threads)``, which brings the tables into the engine's own memory and returns a ``Query``.
        Off the clock.
    form : str
        What the timed query ends with: "table in memory".
    environment : mapping of str to str
        Variables of its process; ``{threads}`` stands for the number of threads.
    """

    id: str
    title: str
    package: str
    work: Mapping[str, Callable[[Mapping[str, pa.Table], Mapping[str, Any], int], Query]]
    form: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The installed version."""
        return version(self.package)


class Judged(NamedTuple):
    """A peer's output against the oracle.

    Attributes
    ----------
    outputs : int
        Rows.
    digest, oracle_digest : int
        Of the output and of what it must be.
    problem : str or None
        The first difference.
    """

    outputs: int
    digest: int
    oracle_digest: int
    problem: str | None


class Work(Protocol):
    """What a peer has to do, as a module of ``works`` makes it.

    Attributes
    ----------
    tables : mapping of str to pyarrow.Table
        The input.
    settings : mapping
        Numbers and words of the query, as JSON has them.
    tuples : int
        Input tuples, each once.
    data : mapping
        The columns ``dataset`` and ``dataset_digest``.
    """

    tables: Mapping[str, pa.Table]
    settings: Mapping[str, Any]
    tuples: int
    data: Mapping[str, Any]

    def judge(self, output: pa.Table) -> Judged:
        """Compare an output with the oracle's."""
        ...


@dataclass(frozen=True)
class Comparison:
    """One panel of a paper's figure of peers: the same work, by operators and by peers.

    Attributes
    ----------
    id : str
        Unique in the paper.
    title : str
        Above the panel.
    family : str
        Of the operators.
    work : str
        A module of ``experiments.peers.works``.
    lines : tuple of Series
        The operators.
    settings : mapping
        Those of the family that decide the work.
    sizes : mapping
        By size of the profile: further settings.
    about : str
        What differs between the two in this work besides, for the caption; sentences.
    """

    id: str
    title: str
    family: str
    work: str
    lines: tuple[Series, ...]
    settings: Mapping[str, Any]
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    about: str = ""

    def __post_init__(self) -> None:
        """Take lines that are declared as text."""
        object.__setattr__(self, "lines", tuple(map(Series, self.lines)))

    def at(self, size: str) -> dict[str, Any]:
        """Return the settings of the work at a size."""
        return {**self.settings, **self.sizes.get(size, {})}


def names() -> list[str]:
    """Return the ids of all peers, installed or not."""
    return sorted(module.name for module in pkgutil.iter_modules(engines.__path__))


def peer(name: str) -> Peer:
    """Return one peer; its engine need not be installed.

    Raises
    ------
    UsageError
        When there is no such peer, or the module bears another name.
    """
    if name not in names():
        raise UsageError(
            f"there is no peer {name!r}; the peers are: {', '.join(names())}; name some of them,"
            " as in PEERS=duckdb,polars"
        )
    found: Peer = importlib.import_module(f"{engines.__name__}.{name}").PEER
    if found.id != name:
        raise UsageError(f"the peer in the module {name} calls itself {found.id!r}")
    return found


def chosen(text: str) -> list[Peer]:
    """Return the peers that an option names, in the order of their names, each once.

    Parameters
    ----------
    text : str
        Names with commas between them; empty for none.

    Raises
    ------
    UsageError
        When one is unknown or not installed.

    Examples
    --------
    >>> [each.id for each in chosen("spark,arrow")]
    ['arrow', 'spark']
    >>> chosen("")
    []
    """
    found = [peer(name) for name in sorted({part.strip() for part in text.split(",")} - {""})]
    missing = [each for each in found if find_spec(each.package) is None]
    if missing:
        listed = ", ".join(each.id for each in missing)
        raise UsageError(
            f"not installed: {listed}; make setup PEERS={','.join(each.id for each in missing)}"
            " installs what it needs, or leave it out of PEERS"
        )
    return found


def comparisons_of(paper: str) -> tuple[Comparison, ...]:
    """Return what a paper compares with peers; empty where the paper has no ``peers.py``."""
    name = f"experiments.{paper}.peers"
    return importlib.import_module(name).COMPARISONS if find_spec(name) else ()


def compared_with(paper: str, peers: list[Peer]) -> list[tuple[Comparison, list[Peer]]]:
    """Return the comparisons of a paper that any of these peers has part in, each with them."""
    found = [
        (each, [own for own in peers if each.work in own.work]) for each in comparisons_of(paper)
    ]
    return [(each, own) for each, own in found if own]
