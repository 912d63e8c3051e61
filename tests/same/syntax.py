"""Which functions of two checkouts differ, whichever files they lie in."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable

from tests.same.checkouts import Checkout
from tests.same.comparing import Comparison, shown
from tests.same.renames import Renames, module_of
from tests.same.report import Difference, Finding
from tests.same.trees import Module, Tracer, pieces_of, read_modules

# A file of another name is taken for one that is gone where it has this part of its pieces.
ALIKE = 0.5

# A piece by where it lies: path and name.
Place = tuple[str, str]
Pieces = dict[Place, list[ast.AST]]


def compare(base: Checkout, new: Checkout, renames: Renames, below: Iterable[str] = ()) -> Finding:
    """Compare the Python files of two checkouts.

    Parameters
    ----------
    base, new : Checkout
    renames : Renames
        Moves that are found are added to it.
    below : iterable of str
        Beginnings of paths, in BASE or in NEW; everything is compared unless told.
    """
    olds = read_modules(base.folder, base.python_files())
    news = read_modules(new.folder, new.python_files())
    old_pieces, new_pieces = _pieces(olds), _pieces(news)
    _pair_files(olds, news, old_pieces, new_pieces, renames)
    pairs = _pair_pieces(old_pieces, new_pieces, renames)
    added = new_pieces.keys() - set(pairs.values())
    begins = tuple(below) or ("",)
    counts = Counter()
    found = [Difference(_shown(place), "new") for place in added if place[0].startswith(begins)]
    for before, place in pairs.items():
        if not any(path.startswith(begins) for path, _ in filter(None, (before, place))):
            continue
        if place is None:
            found.append(Difference(_shown(before), "gone"))
            continue
        differs = Comparison(renames).difference(old_pieces[before], new_pieces[place])
        moved = f" (was {_shown(before)})" if place[0] != before[0] else ""
        if differs is not None:
            what = f"differs: {shown(differs[0])} -> {shown(differs[1])}"
            found.append(Difference(_shown(place) + moved, what))
        counts[differs is None, bool(moved)] += 1
    moved = sum(path != renames.path(path) for path in olds)
    summary = (
        f"syntax: {len(olds)} files in BASE, {len(news)} in NEW, {moved} moved; of functions,"
        f" methods, classes and constants {counts[True, False] + counts[True, True]} are equal"
        f" ({counts[True, True]} in another file), {counts[False, False] + counts[False, True]}"
        f" differ, {sum(each.what == 'gone' for each in found)} are gone,"
        f" {sum(each.what == 'new' for each in found)} new"
    )
    return Finding(summary, sorted(found))


def _shown(place: Place) -> str:
    return ":".join(place)


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
    old_pieces: Collection[Place],
    new_pieces: Collection[Place],
    renames: Renames,
) -> None:
    """Find files that are called otherwise by the names in them, and note where each file lies."""
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
    # By the longest entry a module of its own name is found before the package it lies in.
    for path in olds:
        renames.dotted.setdefault(module_of(path), module_of(renames.path(path)))


def _pair_pieces(
    old_pieces: Pieces, new_pieces: Pieces, renames: Renames
) -> dict[Place, Place | None]:
    """Return where each piece of BASE lies in NEW, None where it is gone."""
    pairs: dict[Place, Place | None] = {}
    for path, name in old_pieces:
        place = renames.path(path), ".".join(renames.names.get(n, n) for n in name.split("."))
        pairs[path, name] = place if place in new_pieces else None
    named = {place[1]: [] for place in new_pieces}
    for place in sorted(new_pieces.keys() - set(pairs.values())):
        named[place[1]].append(place)
    for before in [before for before, place in pairs.items() if place is None]:
        name = ".".join(renames.names.get(part, part) for part in before[1].split("."))
        moved = renames.reference(f"{module_of(before[0])}.{before[1]}")
        listed = [p for p in new_pieces if f"{module_of(p[0])}.{p[1]}" == moved]
        places = listed or named.get(name, [])
        if len(places) > 1:
            alike = (Comparison(renames).difference(old_pieces[before], new_pieces[place]) is None
                     for place in places)  # fmt: skip
            places = [place for place, same in zip(places, alike, strict=True) if same][:1]
        if places:
            (place,) = places
            pairs[before] = place
            renames.dotted[f"{module_of(before[0])}.{before[1]}"] = (
                f"{module_of(place[0])}.{place[1]}"
            )
            if place in named.get(place[1], []):
                named[place[1]].remove(place)
    return pairs
