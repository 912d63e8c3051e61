"""Published litmus shapes with each combination of orders, and which of them RC11 forbids.

Sources: Alglave, Maranget, Tautschnig, "Herding cats", TOPLAS 36(2), 2014 (the shapes and their
names); Lahav et al., PLDI 2017 (the SEQ_CST rules and the programs of section 2).

A shape has one *weak outcome* that no interleaving shows. `SHAPES` gives for each the orders at
every access, and a rule by hand: whether release and acquire, or SEQ_CST, forbid it.

The rules are short because of the shape: in message passing the outcome is forbidden exactly when
the flag's store releases and its load acquires, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from operators.check.scenario import Call
from operators.core.atomics import ACQUIRE, RELAXED, RELEASE, SEQ_CST
from tests.interleaving.litmus import Programs, fenced, get, put

LOADS = (RELAXED, ACQUIRE, SEQ_CST)
STORES = (RELAXED, RELEASE, SEQ_CST)


def releases(order: int) -> bool:
    return order in (RELEASE, SEQ_CST)


def acquires(order: int) -> bool:
    return order in (ACQUIRE, SEQ_CST)


def all_sequential(*orders: int) -> bool:
    return set(orders) == {SEQ_CST}


class Shape(NamedTuple):
    """A program with open orders.

    Attributes
    ----------
    name : str
    accesses : str
        A letter an order, r or w: which orders may stand there.
    make : callable
        Takes the orders and returns the programs.
    answers : tuple of int
        The loads' answers in the weak outcome, in thread and program order.
    last : dict of str to int
        The last values of words in it.
    forbidden : callable
        Takes the orders and returns whether RC11 forbids the outcome.
    """

    name: str
    accesses: str
    make: Callable[..., Programs]
    answers: tuple[int, ...]
    last: dict[str, int]
    forbidden: Callable[..., bool]

    def cases(self) -> Iterator[tuple[tuple[int, ...], Programs, bool]]:
        """Yield each combination of orders with its programs, and whether it is forbidden."""
        for orders in product(*(LOADS if each == "r" else STORES for each in self.accesses)):
            yield orders, self.make(*orders), self.forbidden(*orders)


SHAPES = (
    # x = 1; read y | y = 1; read x: both read 0. Only SEQ_CST at all four forbids it.
    Shape(
        "SB", "wrwr",
        lambda a, b, c, d: ((put("x", 1, a), get("y", b)), (put("y", 1, c), get("x", d))),
        (0, 0), {}, all_sequential,
    ),
    # x = 1; y = 1 | read y; read x: 1, 0.
    Shape(
        "MP", "wwrr",
        lambda a, b, c, d: ((put("x", 1, a), put("y", 1, b)), (get("y", c), get("x", d))),
        (1, 0), {}, lambda a, b, c, d: releases(b) and acquires(c),
    ),
    # x = 2; y = 1 | read y; x = 1: reads 1, and x ends as 2.
    Shape(
        "S", "wwrw",
        lambda a, b, c, d: ((put("x", 2, a), put("y", 1, b)), (get("y", c), put("x", 1, d))),
        (1,), {"x": 2}, lambda a, b, c, d: releases(b) and acquires(c),
    ),
    # x = 1; y = 1 | y = 2; read x: y ends as 2, and x is read as 0.
    Shape(
        "R", "wwwr",
        lambda a, b, c, d: ((put("x", 1, a), put("y", 1, b)), (put("y", 2, c), get("x", d))),
        (0,), {"y": 2}, all_sequential,
    ),
    # x = 1; y = 2 | y = 1; x = 2: both end as 1.
    Shape(
        "2+2W", "wwww",
        lambda a, b, c, d: ((put("x", 1, a), put("y", 2, b)), (put("y", 1, c), put("x", 2, d))),
        (), {"x": 1, "y": 1}, all_sequential,
    ),
    # x = 1 | read x; read x: 1, 0. Coherence forbids it whatever the orders.
    Shape(
        "CoRR", "wrr",
        lambda a, b, c: ((put("x", 1, a),), (get("x", b), get("x", c))),
        (1, 0), {}, lambda a, b, c: True,
    ),
    # read x; y = 1 | read y; x = 1: both read 1. A load never reads a later store here.
    Shape(
        "LB", "rwrw",
        lambda a, b, c, d: ((get("x", a), put("y", 1, b)), (get("y", c), put("x", 1, d))),
        (1, 1), {}, lambda a, b, c, d: True,
    ),
    # x = 1 | read x; y = 1 | read y; read x: 1, 1, 0. The first load must acquire only if the first
    # store releases: coherence carries it on without.
    Shape(
        "WRC", "wrwrr",
        lambda a, b, c, d, e: (
            (put("x", 1, a),), (get("x", b), put("y", 1, c)), (get("y", d), get("x", e)),
        ),
        (1, 1, 0), {}, lambda a, b, c, d, e: releases(c) and acquires(d),
    ),
    # x = 1; y = 1 | read y; z = 1 | read z; read x: 1, 1, 0.
    Shape(
        "ISA2", "wwrwrr",
        lambda a, b, c, d, e, f: (
            (put("x", 1, a), put("y", 1, b)), (get("y", c), put("z", 1, d)),
            (get("z", e), get("x", f)),
        ),
        (1, 1, 0), {},
        lambda a, b, c, d, e, f: releases(b) and acquires(c) and releases(d) and acquires(e),
    ),
    # x = 1 | y = 1 | read x; read y | read y; read x: 1, 0, 1, 0.
    Shape(
        "IRIW", "wwrrrr",
        lambda a, b, c, d, e, f: (
            (put("x", 1, a),), (put("y", 1, b),), (get("x", c), get("y", d)),
            (get("y", e), get("x", f)),
        ),
        (1, 0, 1, 0), {}, all_sequential,
    ),
)  # fmt: skip

FENCE = fenced(SEQ_CST)


class Sequential(NamedTuple):
    """A program with SEQ_CST accesses or fences among weaker ones, and one of its outcomes."""

    name: str
    programs: Programs
    answers: tuple[int, ...]
    allowed: bool
    last: dict[str, int] = {}


def around(store: int, load: int, fences: str) -> Programs:
    """Return SB with SEQ_CST fences in the threads that `fences` names."""
    left, right = ((FENCE,) if thread in fences else () for thread in "ab")
    return (
        (put("x", 1, store), *left, get("y", load)),
        (put("y", 1, store), *right, get("x", load)),
    )


def update(word: str, value: int, order: int) -> Call:
    """Return an addition."""
    return Call("fetch_add", (word, value, order))


SEQUENTIAL = (
    Sequential("sb-two-fences", around(RELAXED, RELAXED, "ab"), (0, 0), False),
    Sequential("sb-one-fence", around(RELEASE, ACQUIRE, "a"), (0, 0), True),
    # A fence on one side matches SEQ_CST accesses of the other.
    Sequential(
        "sb-fence-and-accesses",
        ((put("x", 1, RELAXED), FENCE, get("y", RELAXED)),
         (put("y", 1, SEQ_CST), get("x", SEQ_CST))),
        (0, 0), False,
    ),
    # Between the two reads of each reader, a fence.
    Sequential(
        "iriw-fences",
        ((put("x", 1, RELAXED),), (put("y", 1, RELAXED),),
         (get("x", RELAXED), FENCE, get("y", RELAXED)),
         (get("y", RELAXED), FENCE, get("x", RELAXED))),
        (1, 0, 1, 0), False,
    ),
    Sequential(
        "iriw-one-fence",
        ((put("x", 1, RELAXED),), (put("y", 1, RELAXED),),
         (get("x", RELAXED), FENCE, get("y", RELAXED)),
         (get("y", ACQUIRE), get("x", RELAXED))),
        (1, 0, 1, 0), True,
    ),
    # Z6.U, section 2.1: SEQ_CST accesses among release and acquire ones need not agree with
    # happens-before. x = 1 sc; y = 1 rel | fetch_add y sc, read y | y = 3 sc; read x sc.
    Sequential(
        "z6u",
        ((put("x", 1, SEQ_CST), put("y", 1, RELEASE)),
         (update("y", 1, SEQ_CST), get("y", RELAXED)),
         (put("y", 3, SEQ_CST), get("x", SEQ_CST))),
        (1, 3, 0), True,
    ),
    # IRIW whose readers acquire first and read in SEQ_CST order then, section 2.1.
    Sequential(
        "iriw-acq-sc",
        ((put("x", 1, SEQ_CST),), (put("y", 1, SEQ_CST),),
         (get("x", ACQUIRE), get("y", SEQ_CST)),
         (get("y", ACQUIRE), get("x", SEQ_CST))),
        (1, 0, 1, 0), True,
    ),
    # W+RWC with a fence in the middle: x = 1; y = 1 rel | read y acq; fence; read z | z = 1; fence;
    # read x.
    Sequential(
        "w+rwc-fences",
        ((put("x", 1, RELAXED), put("y", 1, RELEASE)),
         (get("y", ACQUIRE), FENCE, get("z", RELAXED)),
         (put("z", 1, RELAXED), FENCE, get("x", RELAXED))),
        (1, 0, 0), False,
    ),
    # The same with SEQ_CST accesses instead of fences is allowed: the store of x is none of them.
    Sequential(
        "w+rwc-accesses",
        ((put("x", 1, RELAXED), put("y", 1, RELEASE)),
         (get("y", ACQUIRE), get("z", SEQ_CST)),
         (put("z", 1, SEQ_CST), get("x", SEQ_CST))),
        (1, 0, 0), True,
    ),
    # RWC, all SEQ_CST: x = 1 | read x; read y | y = 1; read x.
    Sequential(
        "rwc",
        ((put("x", 1, SEQ_CST),), (get("x", SEQ_CST), get("y", SEQ_CST)),
         (put("y", 1, SEQ_CST), get("x", SEQ_CST))),
        (1, 0, 0), False,
    ),
    # A SEQ_CST load of a SEQ_CST store gives no order to a relaxed one before it.
    Sequential(
        "2+2w-one-relaxed",
        ((put("x", 1, SEQ_CST), put("y", 2, RELAXED)),
         (put("y", 1, SEQ_CST), put("x", 2, SEQ_CST))),
        (), True, {"x": 1, "y": 1},
    ),
    Sequential(
        "2+2w-fences",
        ((put("x", 1, RELAXED), FENCE, put("y", 2, RELAXED)),
         (put("y", 1, RELAXED), FENCE, put("x", 2, RELAXED))),
        (), False, {"x": 1, "y": 1},
    ),
)  # fmt: skip
