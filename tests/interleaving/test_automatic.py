"""Automatic mutants: what is changed, what is left alone, and how each ends."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from operators.check import automatic
from operators.check.automatic import (
    BROKE,
    KILLED,
    MISSED,
    SAME,
    TIMED_OUT,
    Automatic,
    Outcome,
    changed_text,
    mutants_in,
    sample,
    summary,
)
from operators.check.replaced import TIME

TEXT = '''\
def make_state(count):
    return count + 1


def push(state, word):
    """Say 1 + 1 < 2."""
    mark("ä: full")
    assert word > 0
    if load(state, 0, ACQUIRE) + 1 < word and True:
        mark("ring: full")
        return 0
    x = word - 1
    y = x
    return 1


def check_invariants(state):
    assert state == 1


@compiled_as(push)
def _push(context, state, word):
    def generate(builder):
        return builder.add(state, 1)

    return generate


class _Elements:
    def __init__(self, context, builder):
        self._lanes = builder.lanes + 1
'''


HELPERS = """\
from operators.core.atomics import load


def place_of(state, word):
    return state.first[0] + word


def kept(state, word):
    state[0] = place_of(state, word)
    return load(state, 0, RELAXED)


"""


def test_faults_are_of_every_kind_and_leave_marks_and_assertions_alone():
    found = list(mutants_in("m", TEXT))
    assert {each.function for each in found} == {"push"}
    assert Counter(each.kind for each in found) == {
        "compare": 1, "one": 2, "constant": 6, "drop": 2, "swap": 1, "and": 1, "not": 1,
    }  # fmt: skip
    assert not any("mark" in each.old or "assert" in each.old for each in found)


@pytest.mark.parametrize(
    ("statements", "count"),
    [
        ("if load(state, 0, RELAXED) > 1:\n        mark('m: two')", 0),
        ("if add(state) > 1:\n        mark('m: two')", 3),
        ("if word > 1:\n        mark('m: two')\n        word = 2", 4),
        ("if word > 1:\n        mark('m: two')\n    else:\n        word = 2", 4),
        ("if word > 1:\n        raise ValueError", 3),
    ],
)
def test_a_condition_of_a_mark_alone_is_left_alone(statements, count):
    found = list(mutants_in("m", f"def push(state, word):\n    {statements}\n"))
    assert len(found) == count, [each.name for each in found]


def test_functions_that_refuse_arguments_are_left_alone_and_those_inside_them_are_not():
    refusing = "def made(n):\n    if n < 1:\n        raise UsageError('one')\n"
    text = f"{refusing}    def step(m):\n        return m + 1\n"
    assert {each.function for each in mutants_in("m", text)} == {"step"}
    assert not list(mutants_in("m", "def made(n):\n    check_room(n)\n    n = 0\n"))
    assert list(mutants_in("m", "def made(n):\n    n = 0\n    raise ValueError\n"))


def test_reasons_are_of_faults_that_are_there():
    modules = {name.partition(" ")[0] for name in automatic.equivalents()}
    there = {
        each.name for module in modules for each in mutants_in(module, automatic.text_of(module))
    }
    assert set(automatic.equivalents()) <= there


def test_each_is_a_small_change_that_compiles():
    for each in mutants_in("m", TEXT):
        text = TEXT[: each.begin] + each.new + TEXT[each.end :]
        assert TEXT[each.begin : each.end] == each.old != each.new
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(TEXT)), each


def test_two_statements_are_swapped_with_their_indentation():
    (swap,) = (each for each in mutants_in("m", TEXT) if each.kind == "swap")
    text = TEXT[: swap.begin] + swap.new + TEXT[swap.end :]
    assert "    y = x\n    x = word - 1\n    return 1\n" in text


@pytest.mark.parametrize(
    ("statements", "count"),
    [
        ("x = 1\n    y = 2", 0),
        ("x = 1\n    y = load(state, 0, ACQUIRE)", 0),
        ("x = 1\n    y = x", 1),
        ("x = word\n    word += 1", 1),
        ("x = load(state, 0, ACQUIRE)\n    y = load(state, 1, ACQUIRE)", 1),
        ("state[0] = 1\n    y = state[1]", 0),
        ("state[FIRST] = 1\n    y = state[FIRST]", 1),
        ("state[FIRST] = 1\n    state[NEXT + 1] = word", 0),
        ("state[word] = 1\n    state[NEXT] += 1", 1),
        ("state.a[word] = 1\n    state.b[word] += 1", 0),
        ("x = peek(state, word)\n    y = state[word]", 0),
        ("x = peek(state, word)\n    state[word] += 1", 1),
        ("x = peek(state, word)\n    y = f(word)", 1),
        ("poke(self, word, 1)\n    poke(state, word, 1)", 0),
        ("poke(state, word, 1)\n    y = peek(state, 3)", 1),
        ("poke(state, word + NODE, 1)\n    poke(state, word + START, 0)", 0),
        ("poke(state, word + NODE, 1)\n    poke(state, word, 0)", 0),
        ("poke(state, word + NODE, 1)\n    poke(state, word + NODE, 0)", 1),
        ("poke(state, word + NODE, 1)\n    poke(state, self + START, 0)", 1),
        ("self.x = 1\n    self.y = 2", 0),
        ("self.x += 1\n    self.y += len(word)", 0),
        ("self.x = 1\n    self.y = self.x", 1),
        ("self.x += 1\n    self.x = word", 1),
        ("self.x = 1\n    self.f()", 1),
        ("x = place_of(state, 0)\n    y = place_of(self, 1)", 0),
        ("x = place_of(state, 0)\n    y = kept(self, 1)", 1),
        ("x = place_of(state, 0)\n    state[word] = 1", 1),
        ("store(state, word + A, 1, RELAXED)\n    store(state, word + B, 0, RELAXED)", 0),
        ("store(state, word + A, 1, RELAXED)\n    store(state, word + A, 0, RELAXED)", 1),
        ("store(state, word + A, 1, RELAXED)\n    store(state, word + B, 0, RELEASE)", 1),
        ("x = load(state, word + A, RELAXED)\n    y = load(state, word + B, RELAXED)", 0),
        ("x = load(state, word + A, ACQUIRE)\n    y = load(state, word + B, RELAXED)", 1),
        ("x = load(state, word + A, RELAXED)\n    store(state, word + B, 0, RELAXED)", 1),
        ("store(state, word + B, 0, RELAXED)\n    x = load(state, word + A, RELAXED)", 0),
    ],
)
def test_statements_that_surely_commute_are_not_swapped(statements, count):
    found = mutants_in("m", f"{HELPERS}def push(state, word, self):\n    {statements}\n")
    assert sum(each.kind == "swap" and each.function == "push" for each in found) == count


def test_that_a_zip_is_strict_is_an_assertion():
    found = mutants_in("m", "def push(a, b):\n    return dict(zip(a, b, strict=True))\n")
    assert not [each for each in found if each.kind == "constant"]


def test_no_two_faults_have_the_same_name():
    found = [each.name for each in mutants_in("m", TEXT + "\n\ndef pull(n):\n    f(0, 0)\n")]
    assert len(set(found)) == len(found)
    assert "m pull: constant 0 -> 1 (2)" in found


def test_a_sample_is_the_same_for_a_seed_and_compiles_in_the_source():
    one, again, other = (sample(40, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 40 and len({each.module for each in one}) > 10
    for each in one:
        functions = [n for n in ast.walk(ast.parse(changed_text(each)))
                     if isinstance(n, ast.FunctionDef)]  # fmt: skip
        noting = [f.name for f in functions if "reached.note()" in map(ast.unparse, f.body)]
        assert noting == [each.function]
    assert {each.module for each in sample(5, 1, "core/spin-lock")} == {"operators.core.spin_lock"}


@pytest.mark.parametrize(
    ("check", "ended"), [("result", KILLED), (None, MISSED), (TIME, TIMED_OUT)]
)
def test_each_ends_in_one_of_four_ways(monkeypatch, check, ended):
    first, second = sample(2, 1)
    monkeypatch.setattr(automatic, "equivalents", lambda: {second.name: "as before"})
    monkeypatch.setattr(automatic, "ask_all", lambda texts, size: ("core/x", check))
    by = f"{check} (core/x)" if check else ""
    assert automatic.run([first, second], 1, lambda line: None) == [
        Outcome(first, ended, by), Outcome(second, SAME, "as before"),
    ]  # fmt: skip


def test_a_check_that_breaks_does_not_lose_the_others(monkeypatch):
    first, second = sample(2, 1)

    def ask(texts, size):
        if first.module in texts:
            raise RuntimeError("broken")
        return "core/x", "result"

    monkeypatch.setattr(automatic, "equivalents", dict)
    monkeypatch.setattr(automatic, "ask_all", ask)
    one, other = automatic.run([first, second], 1, lambda line: None)
    assert (one.ended, one.by) == (BROKE, "broken") and other.ended == KILLED
    assert summary([one, other]).endswith(", 0 timed out, 1 without an answer")


def test_a_summary_leaves_out_what_is_neither_killed_nor_missed():
    fault = Automatic("m", "f", "drop", 1, "x", "pass", 0, 1)
    ends = [KILLED] * 3 + [MISSED] + [SAME, TIMED_OUT]
    assert summary([Outcome(fault, end, "") for end in ends]) == (
        "6 automatic mutants: 3 killed, 75% of those judged, 1 missed, 1 equivalent, 1 timed out"
    )


def test_a_real_one_is_killed():
    found = sample(1_000, 1, "core/spin-lock")
    (dropped,) = (each for each in found if each.kind == "drop" and "store(" in each.old)
    (outcome,) = automatic.run([dropped], 1, lambda line: None)
    assert outcome.ended == KILLED, outcome
