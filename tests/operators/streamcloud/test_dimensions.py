"""Plans, channels, mergers and balancers from tables: every pair of values occurs."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from operators import registry
from operators.check.explore import Explorer
from operators.check.families import scenarios, uncovered
from operators.check.scenario import Failure
from operators.streamcloud.balancer import Balancer
from operators.streamcloud.carriers import threads
from operators.streamcloud.carriers.channels import Inbox
from operators.streamcloud.check import (
    arrival_dimensions,
    balancer_dimensions,
    channel_dimensions,
)
from operators.streamcloud.check.dimensions import (
    AGGREGATE,
    DIMENSIONS,
    FILTER,
    JOIN,
    MAP,
    PRODUCT,
    SILENCE,
    TOTAL,
    UNION,
    derived_cases,
)
from operators.streamcloud.merger import Sender
from operators.streamcloud.plan import BEST_EFFORT, OPERATOR_CLUSTER, STRATEGIES
from operators.streamcloud.rows import END

# Kinds with and without windows.
WITH, WITHOUT = (AGGREGATE, TOTAL, JOIN, PRODUCT), (MAP, FILTER, UNION)


def pairs_without_a_plan(strategy):
    windows = DIMENSIONS["window"]
    # Of a strategy with a stage for each operator, these have two; the others put them together.
    of_two = (FILTER, UNION, JOIN) if strategy == OPERATOR_CLUSTER else (JOIN,)
    return {
        *(("kind", kind, "window", each) for kind in WITHOUT for each in windows if each != "none"),
        *(("kind", kind, "window", "none") for kind in WITH),
        ("kind", PRODUCT, "window", "overlaps"),
        *(("kind", kind, "instances", 3) for kind in of_two),
        *(("kind", kind, "merger", BEST_EFFORT) for kind in WITH),
        *(("window", each, "merger", BEST_EFFORT) for each in windows if each != "none"),
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_pair_of_values_occurs_but_those_named(strategy):
    variant = registry.variant("streamcloud", strategy)
    # The last value has a hyphen.
    most = len(DIMENSIONS) - 1
    cases = [dict(zip(DIMENSIONS, each.split("-", most), strict=True))
             for each in derived_cases(variant)]  # fmt: skip
    never = pairs_without_a_plan(strategy)
    for one, other in combinations(DIMENSIONS, 2):
        there = {(case[one], case[other]) for case in cases}
        wanted = {
            (str(x), str(y))
            for x, y in product(DIMENSIONS[one], DIMENSIONS[other])
            if (one, x, other, y) not in never
        }
        assert there == wanted
    assert len(cases) < 35
    said = [f"{one} {x} with {other} {y}" for one, x, other, y in never]
    others = {*channel_dimensions.uncovered(), *arrival_dimensions.uncovered()}
    found = set(uncovered(variant)) - others
    assert sorted(line.partition(":")[0] for line in found) == sorted(said)


SUBQUERIES = registry.variant("streamcloud", "subquery-cluster")
TABLES = {
    "channels": (
        channel_dimensions.DIMENSIONS,
        channel_dimensions.scenarios(),
        ("times", "silent", "ending", channel_dimensions.EARLY),
        channel_dimensions.uncovered(),
        "the first sender has no row to end with",
    ),
    "mergers": (
        arrival_dimensions.DIMENSIONS,
        arrival_dimensions.scenarios(SUBQUERIES),
        ("senders", 1, "feeds", arrival_dimensions.UNION),
        arrival_dimensions.uncovered(),
        "a union has two inputs",
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_pair_of_values_of_a_table_occurs_but_the_one_named(table):
    dimensions, found, never, uncovered_there, reason = TABLES[table]
    names = [scenario.name for scenario in found]
    cases = [
        dict(zip(dimensions, name.replace(BEST_EFFORT, "best").split("-"), strict=True))
        for name in names
    ]
    for one, other in combinations(dimensions, 2):
        there = {(case[one], case[other]) for case in cases}
        wanted = {
            tuple(str(each).replace(BEST_EFFORT, "best") for each in (x, y))
            for x, y in product(dimensions[one], dimensions[other])
            if (one, x, other, y) != never
        }
        assert there == wanted
    one, x, other, y = never
    assert uncovered_there == [f"{one} {x} with {other} {y}: {reason}"]
    assert set(names) <= {scenario.name for scenario in scenarios(SUBQUERIES)}


def test_every_pair_of_values_of_a_balancer_occurs():
    dimensions = balancer_dimensions.DIMENSIONS
    texts = {name: [str(each) for each in values] for name, values in dimensions.items()}
    texts["tuples"] = ["-".join(map(str, each)) for each in dimensions["tuples"]]
    names = [scenario.name for scenario in balancer_dimensions.scenarios(SUBQUERIES)]
    # The tuples of the steps have hyphens between them.
    cases = [
        dict(zip(texts, [*words[:2], "-".join(words[2:-3]), *words[-3:]], strict=True))
        for words in (name.split("-") for name in names)
    ]
    for one, other in combinations(texts, 2):
        there = {(case[one], case[other]) for case in cases}
        assert there == set(product(texts[one], texts[other]))
    assert balancer_dimensions.uncovered() == []
    assert set(names) <= {scenario.name for scenario in scenarios(SUBQUERIES)}


def test_a_balancer_that_forgets_whose_turn_it_is_is_seen(monkeypatch):
    monkeypatch.setattr(Balancer, "load", lambda self, arrays: None)
    every = balancer_dimensions.scenarios(SUBQUERIES)
    (saved, *_) = [each for each in every if each.name.startswith("turns-2-")]
    assert saved.name.endswith("-saved")
    with pytest.raises(Failure, match="instance 0 was sent"):
        next(Explorer(saved).every_schedule(0))


def test_a_row_that_waited_behind_a_gap_and_goes_on_late_is_seen(monkeypatch):
    receive = Sender.receive

    def only_one(self, row):
        found = receive(self, row)
        for each in found[1:]:
            self.held[each.seq] = each
            self.next -= 1
        return found[:1]

    monkeypatch.setattr(Sender, "receive", only_one)
    (swapped, *_) = [each for each in TABLES["mergers"][1] if "-swapped-" in each.name]
    with pytest.raises(Failure, match="came out: .*, and it is"):
        next(Explorer(swapped).every_schedule(0))


def test_a_sender_that_does_not_hear_that_it_is_stopped_is_seen(monkeypatch):
    put = Inbox.put
    monkeypatch.setattr(Inbox, "put", lambda self, row, stopped: put(self, row, lambda: False))
    found = [each for each in channel_dimensions.scenarios() if "-stopped-" in each.name]
    with pytest.raises(Failure, match="every thread gives way to the others"):
        for scenario in found:
            for _ in zip(range(20), Explorer(scenario).every_schedule(1), strict=False):
                pass


@pytest.fixture(scope="module")
def plans():
    derived = derived_cases(SUBQUERIES)
    return [each for each in scenarios(SUBQUERIES) if each.name in derived]


def test_plans_are_among_the_scenarios_and_meet_full_channels(plans, monkeypatch):
    full = []
    has_room = Inbox.has_room
    monkeypatch.setattr(Inbox, "has_room",
                        lambda self, row: has_room(self, row) or full.append(row))  # fmt: skip
    for scenario in plans[:3]:
        next(Explorer(scenario).every_schedule(0))
    assert full
    assert len(plans) == len(derived_cases(SUBQUERIES))


def test_a_row_that_stays_with_its_thread_until_the_next_is_seen(plans, monkeypatch):
    """Every row is sent before the stream ends, and nothing is missing at the end."""
    send = threads.Thread.send

    def late(self, inboxes, sent):
        rows = [*self.__dict__.pop("parked", []), *sent]
        if rows and rows[-1].row.progress != END:
            self.parked = [rows.pop()]
        return send(self, inboxes, rows)

    monkeypatch.setattr(threads.Thread, "send", late)
    ends = {scenario.name: scenario for scenario in plans}
    (silent, *_) = [each for name, each in ends.items() if f"-{SILENCE}-" in name]
    (whole, *_) = [each for name, each in ends.items() if "-end-" in name]
    for _ in zip(range(5), Explorer(whole).every_schedule(1), strict=False):
        pass
    with pytest.raises(Failure, match="every thread gives way to the others"):
        next(Explorer(silent).every_schedule(0))
