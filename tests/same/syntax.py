"""Which functions of two checkouts differ, whichever files they lie in."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable

from tests.same.checkouts import CannotCompare, Checkout
from tests.same.comparing import Comparison, text_of
from tests.same.renames import Renames, module_of
from tests.same.report import Difference, Finding, shown
from tests.same.trees import Module, Tracer, pieces_of, read_modules

# A new file is taken for a renamed one if it has this share of the old file's pieces.
ALIKE = 0.5

# The fate of a piece.
EQUAL, MOVED, DIFFERS, GONE, ADDED = "equal", "moved", "differs", "gone", "new"
READS_ITS_PATH = "moved, and reads its own path"
# Names whose meaning depends on the file that contains them.
WHERE = {"__file__", "__path__", "__package__"}

# The location of a piece: path and name.
Location = tuple[str, str]
Pieces = dict[Location, list[ast.AST]]


def compare(base: Checkout, new: Checkout, renames: Renames, below: Iterable[str] = ()) -> Finding:
    """Compare the Python files of two checkouts.

    Parameters
    ----------
    base, new : Checkout
    renames : Renames
        Detected moves are added to the table.
    below : iterable of str
        Path prefixes, in BASE or in NEW; all by default.

    Raises
    ------
    CannotCompare
        When no function, class or constant lies below them.
    """
    olds = read_modules(base.folder, base.python_files())
    news = read_modules(new.folder, new.python_files())
    old_pieces, new_pieces = _pieces(olds), _pieces(news)
    _pair_files(olds, news, old_pieces, new_pieces, renames)
    pairs = _pair_pieces(old_pieces, new_pieces, renames)
    begins = tuple(below) or ("",)
    counts: Counter[str] = Counter()
    found = []
    for before, location in pairs.items():
        if not any(path.startswith(begins) for path, _ in filter(None, (before, location))):
            continue
        kind, what = GONE, ""
        if location is not None:
            kind, what = _compared(
                before, old_pieces[before], location, new_pieces[location], renames
            )
        counts[kind] += 1
        if kind not in (EQUAL, MOVED):
            was = f" (was {_text(before)})" if location and location[0] != before[0] else ""
            found.append(Difference(_text(location or before) + was, kind + what))
    for location in new_pieces.keys() - set(pairs.values()):
        if location[0].startswith(begins):
            counts[ADDED] += 1
            found.append(Difference(_text(location), ADDED))
    if not counts:
        raise CannotCompare(f"no Python code to compare below {' '.join(below) or 'either folder'}")
    files_moved = sum(path != renames.path(path) for path in olds)
    summary = (
        f"syntax: {len(olds)} files in BASE, {len(news)} in NEW, {files_moved} moved; of functions,"
        f" methods, classes and constants {counts[EQUAL] + counts[MOVED]} are equal"
        f" ({counts[MOVED]} in another file), {counts[DIFFERS]} differ, {counts[READS_ITS_PATH]}"
        f" moved and read their own path, {counts[GONE]} are gone, {counts[ADDED]} new"
    )
    return Finding(summary, sorted(found))


def _compared(
    before: Location, old: list[ast.AST], location: Location, new: list[ast.AST], renames: Renames
) -> tuple[str, str]:
    """Return the fate of a piece that is on both sides, and the parts in which it differs."""
    differs = Comparison(renames).difference(old, new)
    if differs is not None:
        return DIFFERS, f": {shown(*map(text_of, differs))}"
    if location[0] == before[0]:
        return EQUAL, ""
    names = {each.id for node in new for each in ast.walk(node) if isinstance(each, ast.Name)}
    read = ", ".join(sorted(names & WHERE))
    return (READS_ITS_PATH, f": {read}") if read else (MOVED, "")


def _text(location: Location) -> str:
    return ":".join(location)


def _dotted(location: Location) -> str:
    return f"{module_of(location[0])}.{location[1]}"


def _pieces(modules: dict[str, Module]) -> Pieces:
    """Return the pieces of all modules, traced."""
    tracer = Tracer(modules)
    return {
        (path, name): nodes
        for path, module in modules.items()
        for name, nodes in pieces_of(tracer.trace(module)).items()
    }


def _pair_files(
    olds: Collection[str],
    news: Collection[str],
    old_pieces: Collection[Location],
    new_pieces: Collection[Location],
    renames: Renames,
) -> None:
    """Match renamed files by the names in them, and record the new path of each file."""
    free = set(news) - {renames.path(path) for path in olds}
    held: dict[str, set[str]] = {}
    for path, name in new_pieces:
        held.setdefault(path, set()).add(name)
    for path in sorted(set(olds)):
        if renames.path(path) not in news:
            names = {renames.names.get(name, name) for where, name in old_pieces if where == path}
            alike = {each: len(names & held.get(each, set())) for each in free}
            best = max(sorted(alike), key=alike.get, default=None)
            if best is not None and names and alike[best] > ALIKE * len(names):
                renames.add(path, best)
                free.discard(best)
    # The longest entry wins: a module listed by its full name comes before the package around it.
    for path in olds:
        renames.dotted.setdefault(module_of(path), module_of(renames.path(path)))


def _pair_pieces(
    old_pieces: Pieces, new_pieces: Pieces, renames: Renames
) -> dict[Location, Location | None]:
    """Return where each piece of BASE lies in NEW, None where it is gone."""
    pairs: dict[Location, Location | None] = {}
    for path, name in old_pieces:
        location = renames.path(path), renames.called(name)
        pairs[path, name] = location if location in new_pieces else None
    free = sorted(new_pieces.keys() - set(pairs.values()))
    moved = True
    # A found piece may make the pieces that refer to it comparable.
    while moved:
        moved = False
        for before in [before for before, location in pairs.items() if location is None]:
            location = _moved_to(before, old_pieces[before], new_pieces, free, renames)
            if location is not None:
                moved, pairs[before] = True, location
                renames.dotted[_dotted(before)] = _dotted(location)
                free = [each for each in free if each != location]
    return pairs


def _moved_to(
    before: Location,
    old: list[ast.AST],
    new_pieces: Pieces,
    free: Iterable[Location],
    renames: Renames,
) -> Location | None:
    """Return the location of a piece that left its file: by the table, else by its name."""
    dotted = renames.reference(_dotted(before))
    listed = [location for location in new_pieces if _dotted(location) == dotted]
    named = [location for location in free if location[1] == renames.called(before[1])]
    if not listed and len(named) > 1:
        same = (
            Comparison(renames).difference(old, new_pieces[location]) is None for location in named
        )
        named = [location for location, equal in zip(named, same, strict=True) if equal]
    return next(iter(listed or named), None)
