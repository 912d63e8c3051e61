"""Weakened memory orders: each is found, weakened by one step, and needed by a check or not."""

from __future__ import annotations

import pytest

from operators.check import orders, replaced
from operators.check.mutants import ROOT
from operators.check.orders import (
    Site,
    Weakened,
    page,
    relax,
    rows_of,
    sites,
    sites_in,
    weaken,
    with_orders,
    written_rows,
)
from operators.check.replaced import TIME
from operators.core import atomics

TEXT = '''\
def take(words):
    """cas(words, 0, 0, 1, ACQ_REL) in a docstring is none."""
    fence(SEQ_CST)
    while not cas(words, 0, 0, 1, ACQ_REL):
        load(words, 0, RELAXED)

    def inner(other):
        return load(other, 1, ACQUIRE) + load(other, 2, ACQUIRE)

    store(words, 0, 2, RELEASE); exchange(words, 0, 3, SEQ_CST)
'''
PAGE = (ROOT / "docs" / "orders.md").read_text(encoding="utf-8")


def quiet(line: str) -> None:
    """Print nothing."""


def test_every_order_above_relaxed_is_found_with_the_next_weaker_one():
    found = [(s.function, s.call, s.order, s.number, s.weaker) for s in sites_in("m", TEXT)]
    assert found == [
        ("take", "fence()", "SEQ_CST", 0, ("ACQ_REL",)),
        ("take", "cas(words)", "ACQ_REL", 0, ("ACQUIRE", "RELEASE")),
        ("inner", "load(other)", "ACQUIRE", 0, ("RELAXED",)),
        ("inner", "load(other)", "ACQUIRE", 1, ("RELAXED",)),
        ("take", "store(words)", "RELEASE", 0, ("RELAXED",)),
        ("take", "exchange(words)", "SEQ_CST", 0, ("ACQ_REL",)),
    ]


def test_names_of_atomics_do_not_change_with_their_lines():
    names = [site.name for site in sites_in("m", TEXT)]
    assert names == [site.name for site in sites_in("m", f"\n\n{TEXT}")]
    assert len(set(names)) == len(names)
    assert "m inner: load(other) ACQUIRE (2)" in names


def test_orders_are_replaced_where_they_stand():
    chosen = [(site, site.weaker[-1]) for site in sites_in("m", TEXT)]
    text = with_orders(TEXT, chosen)
    assert list(sites_in("m", text)) == []
    assert f"fence({atomics.ACQ_REL})" in text and f"cas(words, 0, 0, 1, {atomics.RELEASE})" in text
    assert f"load(other, 1, {atomics.RELAXED}) + load(other, 2, {atomics.RELAXED})" in text
    assert "RELEASE); exchange" not in text and "cas(words, 0, 0, 1, ACQ_REL) in a" in text


def test_orders_of_a_lock_are_all_needed():
    found = sites("core/spin-lock")
    assert {site.order for site in found} == {"ACQUIRE", "RELEASE"}
    results = weaken(found, 1, quiet)
    assert {each.needed_by for each in results} == {"data race"}
    assert relax(results, 1, quiet) == {}


def test_two_orders_of_which_one_suffices_are_not_weakened_together(monkeypatch):
    both = [each for each in sites_in("m", TEXT) if each.function == "inner"]
    free = next(each for each in sites_in("m", TEXT) if each.order == "RELEASE")

    def needed_by(chosen):
        return "core/toy", "result" if {*both} <= {site for site, _ in chosen} else None

    monkeypatch.setattr(orders, "needed_by", needed_by)
    results = weaken([*both, free], 1, quiet)
    assert [each.needed_by for each in results] == [None] * 3
    together = relax(results, 1, quiet)
    assert free.name in together and len(together) == 2


def test_a_page_shows_both_columns_and_the_reason_where_no_check_needs_an_order(monkeypatch):
    site = Site("operators.core.x", "f", "load(words)", "ACQUIRE", 0, 1, 1, 8)
    other = site._replace(number=1)
    monkeypatch.setattr(orders, "reasons", lambda: {site.name: "nobody follows it"})
    results = [
        Weakened(site, "RELAXED", "core/x", None), Weakened(other, "RELAXED", "core/x", "result"),
    ]  # fmt: skip
    rows = rows_of(results, {site.name: "RELAXED"})
    text = page(rows, [site, other, site._replace(number=2)])
    begin = "| `core.x` `f`: `load(words)`"
    assert f"{begin} | ACQUIRE | RELAXED | nobody follows it | RELAXED |\n" in text
    assert f"{begin} (2) | ACQUIRE | RELAXED | result (`core/x`) | ACQUIRE |\n" in text
    assert f"{begin} (3) | ACQUIRE | RELAXED | {orders.NOT_TRIED} | - |\n" in text
    counted = "2 of 3 weaker orders were tried: 1 are seen by a check, 0 have neither a check"
    assert f"{counted} nor a reason, 0 did not end in time." in text
    assert written_rows(page(rows, [site, other])) == rows


def test_an_order_that_is_needed_alone_is_needed_together_unless_its_other_half_is_free():
    both = Site("operators.core.x", "f", "cas(words)", "ACQ_REL", 0, 1, 1, 8)
    site = both._replace(call="load(words)", order="ACQUIRE")
    needed = "result (`core/x`)"
    rows = {
        orders._key(site, "RELAXED"): (needed, "-"),
        orders._key(both, "ACQUIRE"): (needed, "-"),
        orders._key(both, "RELEASE"): (orders.NO_REASON, "-"),
    }
    together = [cells for _, cells in written_rows(page(rows, [site, both])).values()]
    assert together == ["ACQUIRE", "-", "-"]


def test_a_check_that_does_not_end_in_time_does_not_count_as_one_that_fails():
    site = Site("operators.core.x", "f", "load(words)", "ACQUIRE", 0, 1, 1, 8)
    rows = rows_of([Weakened(site, "RELAXED", "core/x", TIME)], {})
    text = page(rows, [site])
    assert "0 are seen by a check" in text and "1 did not end in time" in text
    assert f"| RELAXED | {orders.NO_END} | ACQUIRE |" in text


def test_the_time_of_a_check_is_limited_and_is_that_of_the_processor(monkeypatch):
    monkeypatch.setattr(replaced, "_LIMITED", ["/bin/sh", "-c", 'ulimit -t 1; exec "$@"', "check"])
    endless = {"operators.core.mutex": "while True:\n    pass\n"}
    assert replaced.ask("core/mutex", endless, "share") == TIME


def test_a_check_that_waits_for_ever_is_ended_by_the_clock(monkeypatch):
    monkeypatch.setattr(replaced, "WALL_S", 1)
    waiting = {"operators.core.mutex": "import time\n\ntime.sleep(600)\n"}
    assert replaced.ask("core/mutex", waiting, "share") == TIME


def test_what_few_schedules_do_not_miss_more_are_asked(monkeypatch):
    asked = []

    def ask_all(texts, size):
        asked.append(size)
        return "core/toy", "result" if size == "more-orders" else None

    monkeypatch.setattr(orders, "ask_all", ask_all)
    monkeypatch.setattr(orders, "text_of", lambda module: TEXT)
    (site, *_) = sites_in("m", TEXT)
    assert orders.needed_by([(site, site.weaker[0])]) == ("core/toy", "result")
    assert asked == ["few-orders", "more-orders"]


def test_the_page_has_every_order_of_the_source():
    assert PAGE == page(written_rows(PAGE), sites())


def test_reasons_are_of_orders_that_are_there():
    assert set(orders.reasons()) <= {site.name for site in sites()}


@pytest.mark.parametrize("module", ["operators.core.spsc_ring", "operators.core.epochs"])
def test_a_module_is_asked_about_at_the_structure_that_declares_it(module):
    assert orders.modules() and module in orders.modules()
    name = module.rpartition(".")[2].replace("_", "-")
    assert orders.modules(f"core/{name}").count(module) == 1
