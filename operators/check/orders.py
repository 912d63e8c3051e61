"""Which memory orders a check needs: each atomic of the source with the next weaker order.

`sites` finds the atomics in the source of the checked structures. Each is weakened by one step,
ACQ_REL in both halves, and the checks of a structure that uses it are run: the order is *needed*
when a check fails. Where none fails, the order may be too strong, or no program shows the need; a
sentence in ``ORDERS`` of ``operators.<family>.check.orders`` says which.

Two orders can each be superfluous and not both. `relax` therefore also weakens greedily, all
together: the result is one assignment in which no single order can be weakened further unseen.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

from operators.check.families import declared_in
from operators.check.replaced import TIME, ask_all, modules, text_of
from operators.core import atomics

_LOAD = {"SEQ_CST": ("ACQUIRE",), "ACQUIRE": ("RELAXED",)}
_STORE = {"SEQ_CST": ("RELEASE",), "RELEASE": ("RELAXED",)}
_UPDATE = {
    "SEQ_CST": ("ACQ_REL",), "ACQ_REL": ("ACQUIRE", "RELEASE"),
    "ACQUIRE": ("RELAXED",), "RELEASE": ("RELAXED",),
}  # fmt: skip
# A RELAXED fence is none.
WEAKER = {
    "load": _LOAD, "store": _STORE, "cas": _UPDATE, "fetch_add": _UPDATE, "exchange": _UPDATE,
    "fence": _UPDATE,
}  # fmt: skip


class Site(NamedTuple):
    """An atomic in the source.

    Attributes
    ----------
    module, function : str
    call : str
        The operation and the word, as in the source.
    order : str
    number : int
        0 for the first such call of the function, 1 for the second, ...
    line, column, end : int
        Where the order stands.
    """

    module: str
    function: str
    call: str
    order: str
    number: int
    line: int
    column: int
    end: int

    @property
    def name(self) -> str:
        """Return a name that stays the same when other lines change."""
        again = f" ({self.number + 1})" if self.number else ""
        return f"{self.module} {self.function}: {self.call} {self.order}{again}"

    @property
    def weaker(self) -> tuple[str, ...]:
        """Return the orders one step weaker."""
        return WEAKER[self.call.partition("(")[0]].get(self.order, ())


class Weakened(NamedTuple):
    """A site with a weaker order, and how the checks ended.

    Attributes
    ----------
    site : Site
    order : str
    variant : str
        ``family/id`` of the structure whose check failed, or of the last one asked.
    needed_by : str or None
        The check that failed; "time" when none had ended in time.
    """

    site: Site
    order: str
    variant: str
    needed_by: str | None


# --- the source ----------------------------------------------------------------------------------


def sites_in(module: str, text: str) -> Iterator[Site]:
    """Yield the atomics of a module that have a weaker order."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for function, call in _calls_of(ast.parse(text), "module"):
        operation, order = call.func.id, call.args[-1]
        if not isinstance(order, ast.Name) or order.id not in WEAKER[operation]:
            continue
        words = ast.unparse(call.args[0]) if operation != "fence" else ""
        spelled = f"{operation}({words})"
        key = function, spelled, order.id
        yield Site(module, *key, seen[key], order.lineno, order.col_offset, order.end_col_offset)
        seen[key] += 1


def _calls_of(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of atomics in source order, with the innermost function around each."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            if each.func.id in WEAKER and each.args:
                yield function, each
        inner = each.name if isinstance(each, ast.FunctionDef) else function
        yield from _calls_of(each, inner)


def with_orders(text: str, orders: Iterable[tuple[Site, str]]) -> str:
    """Return a module's text with other orders at some sites."""
    lines = text.splitlines(keepends=True)
    for site, order in sorted(orders, key=lambda each: each[0].column, reverse=True):
        line = lines[site.line - 1]
        value = str(getattr(atomics, order))
        lines[site.line - 1] = line[: site.column] + value + line[site.end :]
    return "".join(lines)


def sites(variant: str | None = None) -> list[Site]:
    """Return the atomics of all checked structures, or of the modules nearest to one of them."""
    found = []
    for module in modules(variant):
        found += sites_in(module, text_of(module))
    return found


@cache
def reasons() -> Mapping[str, str]:
    """Return by the name of a site why no program needs the order."""
    return declared_in("orders", "ORDERS")


# --- asking the checks ---------------------------------------------------------------------------


def needed_by(orders: Sequence[tuple[Site, str]]) -> tuple[str, str | None]:
    """Return the structure whose check fails with weaker orders, and the check or None."""
    texts = {}
    for module in {site.module for site, _ in orders}:
        chosen = [each for each in orders if each[0].module == module]
        texts[module] = with_orders(text_of(module), chosen)
    variant, found = ask_all(texts, "few-orders")
    return (variant, found) if found else ask_all(texts, "more-orders")


def weaken(found: Sequence[Site], workers: int, progress: Callable[[str], None]) -> list[Weakened]:
    """Weaken each site by itself, by one step."""
    wanted = [(site, order) for site in found for order in site.weaker]

    def one(each: tuple[Site, str]) -> Weakened:
        variant, needed = needed_by([each])
        progress(f"{each[0].name} -> {each[1]}: {needed or 'not needed'}")
        return Weakened(*each, variant, needed)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(one, wanted))


def relax(
    results: Sequence[Weakened], workers: int, progress: Callable[[str], None]
) -> dict[str, str]:
    """Return one assignment that every check accepts: the weaker order by site name.

    Modules are weakened one by one, and in each as many sites together as every check accepts.
    """
    free: dict[str, list[tuple[Site, str]]] = {}
    for each in results:
        if each.needed_by is None:
            free.setdefault(each.site.module, []).append((each.site, each.order))

    def module(name: str) -> list[tuple[Site, str]]:
        kept: list[tuple[Site, str]] = []
        # Of the two halves of ACQ_REL only one can be left out.
        groups = [[each] for each in {site: (site, order) for site, order in free[name]}.values()]
        left = [[each for group in groups for each in group]]
        while left:
            group = left.pop()
            if needed_by([*kept, *group])[1] is None:
                kept += group
            elif len(group) > 1:
                half = len(group) // 2
                left += [group[half:], group[:half]]
        progress(f"{name}: {len(kept)} of {len(groups)} weakened together")
        return kept

    with ThreadPoolExecutor(workers) as pool:
        together = pool.map(module, sorted(free))
        return {site.name: order for kept in together for site, order in kept}


# --- the page ------------------------------------------------------------------------------------

_HEAD = """\
# Memory orders: which of them a check needs

Every atomic of the checked structures with an order above RELAXED, weakened by one step; ACQ_REL in
both halves. *Needed by* is the check that fails without the order, or the reason why none does.
*Together* is the order in one assignment that is weakened greedily, all sites of a module at once:
two orders can each be superfluous and not both, while one that is needed alone is needed together
with weaker ones as well. A dash says that nobody has tried.
`operators/running` and each family's `run.py` do not run on the proving ground and are left out.
[proving-ground.md](proving-ground.md) describes the checks.

`millrace check --orders --write docs/orders.md` tries all of them again and writes this page.

"""
_COLUMNS = ("atomic", "order", "weaker", "needed by", "together")
NO_REASON = "nothing, so far"


NOT_TRIED = "not tried yet"
NO_END = "no check ended in time"
# Atomic, order and weaker order; then what needs it, and the order in the common assignment.
Key = tuple[str, str, str]
Rows = dict[Key, tuple[str, str]]


def _key(site: Site, weaker: str) -> Key:
    again = f" ({site.number + 1})" if site.number else ""
    where = f"`{site.module.removeprefix('operators.')}` `{site.function}`"
    return f"{where}: `{site.call}`{again}", site.order, weaker


def rows_of(results: Iterable[Weakened], together: Mapping[str, str]) -> Rows:
    """Return the rows of the page for some results."""
    why = reasons()
    return {
        _key(site, order): (
            _needed_text(needed, variant) or why.get(site.name, NO_REASON),
            together.get(site.name, site.order),
        )
        for site, order, variant, needed in results
    }


def _needed_text(needed: str | None, variant: str) -> str:
    """Return what the page says of a check that failed, or nothing."""
    if needed == TIME:
        return NO_END
    return f"{needed} (`{variant}`)" if needed else ""


def written_rows(text: str) -> Rows:
    """Return the rows of a page."""
    rows = {}
    for line in text.splitlines():
        if line.startswith("| `"):
            *key, needed, together = line.strip("| ").split(" | ")
            rows[tuple(key)] = needed, together
    return rows


def _with_needed(rows: Rows) -> Rows:
    """Return the rows with the common order of those that are needed alone, both halves of them."""
    free = {key[:2] for key, (needed, _) in rows.items() if "(`" not in needed}
    return {
        key: (needed, key[1] if together == "-" and key[:2] not in free else together)
        for key, (needed, together) in rows.items()
    }


def page(rows: Rows, every: Iterable[Site]) -> str:
    """Return docs/orders.md: a row for each site and weaker order, as far as `rows` has it."""
    keys = [_key(site, order) for site in every for order in site.weaker]
    rows = _with_needed(rows)
    unknown = NOT_TRIED, "-"
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *((*k, *rows.get(k, unknown)) for k in keys)]
    needed = [rows.get(key, unknown)[0] for key in keys]
    tried = [each for each in needed if each != NOT_TRIED]
    counted = sum("(`" in each for each in tried)
    total = f"{len(tried)} of {len(keys)} weaker orders were tried: {counted} are seen by a check"
    total += f", {tried.count(NO_REASON)} have neither a check nor a reason"
    total += f", {tried.count(NO_END)} did not end in time.\n\n"
    return _HEAD + total + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def run(
    variant: str | None, write: Path | None, workers: int, progress: Callable[[str], None]
) -> tuple[list[Weakened], dict[str, str]]:
    """Weaken every order, alone and together, and write the page if asked to.

    With a variant, the rows of the others stay as they are written.
    """
    results = weaken(sites(variant), workers, progress)
    together = relax(results, workers, progress)
    if write is not None:
        before = written_rows(write.read_text(encoding="utf-8")) if write.is_file() else {}
        text = page(before | rows_of(results, together), sites())
        write.write_text(text, encoding="utf-8")
    return results, together
