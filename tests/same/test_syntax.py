"""The comparison of syntax trees: differences it must notice, and changes it must ignore."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.same.checkouts import CannotCompare
from tests.same.renames import read_renames
from tests.same.report import Finding
from tests.same.syntax import compare
from tests.same.toys import checkout

RING = "pack/ring.py"
BASE = {
    RING: '''
"""A ring."""

from pack import words
from pack.words import load

SLOTS = 64
NAMES = ("a", "b")


class State:
    """What is kept."""

    head: int
    tail: int

    def size(self):
        """Return how many there are."""
        return self.tail - self.head


def push(state, value):
    """Put a value in."""
    at = load(state.head) % SLOTS  # the next slot
    for value in [value for value in NAMES if value]:
        words.store(at, value)
    return at < SLOTS


def pop(state):
    return push(state, 1)
''',
    "pack/words.py": '''
"""Words."""


def load(word):
    return word


def store(at, value):
    return at, value


def exchange(at, value):
    return value, at


NAMED = "pack.ring:push", "see pack/ring.py"
''',
}


def found(tmp_path, sources, *renames, base=BASE) -> Finding:
    """Compare the toy with modified sources."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    old, new = checkout(folder, base, "BASE"), checkout(folder, sources, "NEW")
    return compare(old, new, read_renames(renames))


def locations(finding: Finding) -> list[str]:
    return [difference.where for difference in finding.differences]


def edited(*edits: tuple[str, str], path: str = RING) -> dict[str, str]:
    text = BASE[path]
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return BASE | {path: text}


def test_nothing_differs_from_itself(tmp_path):
    finding = found(tmp_path, BASE)
    assert not finding.differences
    assert "2 files in BASE, 2 in NEW, 0 moved" in finding.summary
    assert " 10 are equal (0 in another file)" in finding.summary


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Put a value in."""', '"""Put a value\n\n    into the ring.\n    """'),
        ('    """Return how many there are."""\n', ""),
        ("  # the next slot", ""),
        ("def pop(state):", "# A comment.\n\n\ndef pop(state):"),
        ("from pack import words\n", "import pack.words\nfrom pack import words\n"),
        ("from pack import words\n", "import json\nfrom pack import words\n"),
    ],
)
def test_prose_and_unused_imports_do_not_count(tmp_path, old, new):
    assert not found(tmp_path, edited((old, new))).differences


def test_how_a_name_is_imported_does_not_count(tmp_path):
    otherwise = edited(
        ("from pack.words import load\n", "from pack.words import store as put\n"),
        ("load(", "words.load("),
        ("words.store(", "put("),
    )
    assert not found(tmp_path, otherwise).differences


def test_where_a_name_is_imported_from_counts(tmp_path):
    other = edited(("from pack.words import load", "from pack.others import load"))
    assert locations(found(tmp_path, other)) == ["pack/ring.py:push"]


SHADOWED = """
from pack.words import load


def outer(word):
    def inner(value):
        load = value
        return load

    return inner(load(word))


class Words:
    load = 1

    def first(self):
        return load(self)
"""


def test_a_name_is_local_in_its_own_scope_only(tmp_path):
    base = BASE | {"pack/use.py": SHADOWED}
    other = BASE | {"pack/use.py": SHADOWED.replace("pack.words", "pack.others")}
    names = locations(found(tmp_path, other, base=base))
    assert names == ["pack/use.py:Words.first", "pack/use.py:outer"]


def test_a_module_that_only_hands_a_name_on_is_not_where_it_is_from(tmp_path):
    handed_on = edited(("from pack.words import load", "from pack.doors import load"))
    handed_on["pack/doors.py"] = "from pack.words import load\n"
    assert not found(tmp_path, handed_on).differences


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("SLOTS = 64", "SLOTS = 65", "SLOTS"),
        ("SLOTS = 64", "SLOTS = 64.0", "SLOTS"),
        ('("a", "b")', '("a", "c")', "NAMES"),
        ("self.tail - self.head", "self.tail + self.head", "State.size"),
        ("self.tail - self.head", "self.head - self.tail", "State.size"),
        ("at < SLOTS", "at <= SLOTS", "push"),
        ("if value]", "if not value]", "push"),
        ("push(state, 1)", "push(state, True)", "pop"),
        ("push(state, 1)", "push(state=state, value=1)", "pop"),
        ("    head: int\n    tail: int\n", "    tail: int\n    head: int\n", "State"),
        ("def pop(state)", "def pop(state=None)", "pop"),
        ("def pop", "@words.load\ndef pop", "pop"),
        ("words.store(at, value)", "words.exchange(at, value)", "push"),
        ("load(state.head)", "load(state.tail)", "push"),
        ("load(state.head)", "load.once(state.head)", "push"),
    ],
)
def test_a_changed_program_is_noticed(tmp_path, old, new, where):
    finding = found(tmp_path, edited((old, new)))
    assert locations(finding) == [f"{RING}:{where}"]
    assert " 9 are equal" in finding.summary and " 1 differ" in finding.summary
    assert finding.differences[0].what.startswith("differs: ")


def test_what_is_gone_and_what_is_new_is_listed(tmp_path):
    finding = found(tmp_path, edited(("def pop(state)", "def take(state)")))
    assert [tuple(each) for each in finding.differences] == [
        (f"{RING}:pop", "gone"),
        (f"{RING}:take", "new"),
    ]


# --- renamed -------------------------------------------------------------------------------------


def test_a_declared_rename_is_the_same_and_another_one_is_not(tmp_path):
    renamed = edited(("at = ", "slot = "), ("store(at", "store(slot"), ("at <", "slot <"))
    assert not found(tmp_path, renamed, "at -> slot").differences
    assert locations(found(tmp_path, renamed)) == [f"{RING}:push"]
    assert locations(found(tmp_path, renamed, "at -> spot")) == [f"{RING}:push"]


def test_a_variable_is_renamed_everywhere_or_nowhere(tmp_path):
    half = edited(("at = ", "slot = "), ("at <", "slot <"))
    assert locations(found(tmp_path, half, "at -> slot")) == [f"{RING}:push"]


def test_two_variables_do_not_become_one(tmp_path):
    merged = edited(("at = ", "state = "), ("store(at", "store(state"), ("at <", "state <"))
    assert locations(found(tmp_path, merged, "at -> state")) == [f"{RING}:push"]


def test_a_function_and_all_its_uses_are_renamed(tmp_path):
    renamed = edited(("def push", "def insert"), ("return push", "return insert"))
    assert not found(tmp_path, renamed, "push -> insert").differences
    forgotten = edited(("def push", "def insert"))
    assert locations(found(tmp_path, forgotten, "push -> insert")) == [f"{RING}:pop"]


def test_an_argument_that_hides_an_import_is_an_argument(tmp_path):
    hiding = edited(("def pop(state):", "def pop(state, load):\n    load(1)"))
    imported = edited(("def pop(state):", "def pop(state, _):\n    load(1)"))
    assert not found(tmp_path, hiding, base=hiding).differences
    assert locations(found(tmp_path, imported, "load -> _", base=hiding)) == [f"{RING}:pop"]


def test_a_string_is_the_same_or_declared(tmp_path):
    other = edited(('("a", "b")', '("a", "z")'))
    assert not found(tmp_path, other, '"b" -> "z"').differences
    assert locations(found(tmp_path, other, "b -> z")) == [f"{RING}:NAMES"]


def test_a_line_that_is_no_rename_is_refused():
    for line in ("at", "at -> ", "a/b.py -> b", "a-b -> c"):
        with pytest.raises(CannotCompare, match="no such line"):
            read_renames([line])


# --- moved ---------------------------------------------------------------------------------------

# Strings that name the module are renamed with it.
MOVED_WORDS = BASE["pack/words.py"].replace("pack.ring", "far.ring").replace("pack/", "far/")


@pytest.mark.parametrize("table", [(), ("pack/ring.py -> far/ring.py",)])
def test_a_moved_file_is_the_same_file(tmp_path, table):
    moved = {"far/ring.py": BASE[RING], "pack/words.py": MOVED_WORDS}
    finding = found(tmp_path, moved, *table)
    assert not finding.differences
    assert "1 moved" in finding.summary and " 10 are equal (6 in another file)" in finding.summary


def test_a_moved_folder_is_the_same_folder(tmp_path):
    moved = {
        path.replace("pack", "far"): text.replace("pack", "far") for path, text in BASE.items()
    }
    finding = found(tmp_path, moved, "pack/ -> far/")
    assert not finding.differences and "2 moved" in finding.summary


def test_a_string_that_names_a_moved_module_as_before_is_noticed(tmp_path):
    moved = {"far/ring.py": BASE[RING], "pack/words.py": BASE["pack/words.py"]}
    assert locations(found(tmp_path, moved)) == ["pack/words.py:NAMED"]


def without_exchange(body: str) -> dict[str, str]:
    function = "def exchange(at, value):\n    return value, at\n"
    assert function in BASE["pack/words.py"]
    return BASE | {
        "pack/words.py": BASE["pack/words.py"].replace(function, ""),
        "pack/swap.py": f"def exchange(at, value):\n    return {body}\n",
    }


def test_a_moved_function_is_found(tmp_path):
    finding = found(tmp_path, without_exchange("value, at"))
    assert not finding.differences and "(1 in another file)" in finding.summary


def test_a_moved_function_that_was_altered_is_noticed(tmp_path):
    finding = found(tmp_path, without_exchange("at, value"))
    assert locations(finding) == ["pack/swap.py:exchange (was pack/words.py:exchange)"]


def test_which_of_two_is_the_moved_one_is_seen_by_what_moved_with_it(tmp_path):
    calling = "from {} import double\n\n\ndef run(value):\n    return double(value)\n"
    double = "\n\ndef double(value):\n    return 2 * value\n"
    base = {"a.py": calling.format("b") + "\n\nHERE = 1\n", "b.py": f"THERE = 1\n{double}"}
    new = {
        "a.py": "HERE = 1\n",
        "b.py": "THERE = 1\n",
        "c.py": "def run(value):\n    return value\n",
        "d.py": calling.format("e"),
        "e.py": double,
    }
    assert locations(found(tmp_path, new, base=base)) == ["c.py:run"]


def test_a_function_that_moved_and_says_where_it_lies_is_listed(tmp_path):
    base = BASE | {"pack/paths.py": "ROOT = __file__\n\n\ndef nothing():\n    return ROOT\n"}
    moved = BASE | {"far/pack/paths.py": base["pack/paths.py"]}
    finding = found(tmp_path, moved, "pack/paths.py -> far/pack/paths.py", base=base)
    assert [tuple(each) for each in finding.differences] == [
        ("far/pack/paths.py:ROOT (was pack/paths.py:ROOT)",
         "moved, and reads its own path: __file__"),
    ]  # fmt: skip


def test_methods_follow_a_class_that_moved_and_was_renamed(tmp_path):
    begin, end = BASE[RING].index("class State"), BASE[RING].index("def push")
    moved = BASE | {
        RING: BASE[RING][:begin] + BASE[RING][end:],
        "pack/state.py": BASE[RING][begin:end].replace("State", "RingState"),
    }
    table = ("pack.ring.State -> pack.state.RingState", "State -> RingState")
    finding = found(tmp_path, moved, *table)
    assert not finding.differences and "(2 in another file)" in finding.summary


def test_a_function_that_moved_and_was_renamed_is_found_by_the_table(tmp_path):
    moved = without_exchange("value, at")
    moved["pack/swap.py"] = moved["pack/swap.py"].replace("exchange", "swap")
    table = ("pack.words.exchange -> pack.swap.swap", "exchange -> swap")
    assert not found(tmp_path, moved, *table).differences
    assert locations(found(tmp_path, moved)) == ["pack/swap.py:swap", "pack/words.py:exchange"]


def test_who_calls_a_moved_function_calls_the_moved_one(tmp_path):
    base = BASE | {"pack/use.py": "from pack.words import exchange\n\nUSED = exchange(1, 2)\n"}
    moved = without_exchange("value, at")
    follows = {"pack/use.py": "from pack import swap\n\nUSED = swap.exchange(1, 2)\n"}
    assert not found(tmp_path, moved | follows, base=base).differences
    stays = {"pack/use.py": base["pack/use.py"]}
    assert locations(found(tmp_path, moved | stays, base=base)) == ["pack/use.py:USED"]
