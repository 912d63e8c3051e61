"""A key covers the families that a module queries in the registry, in any spelling."""

from __future__ import annotations

import pytest

from experiments.records import keys
from experiments.records.asked import families_asked, refuse_unreadable
from operators import registry
from operators.contract import UsageError
from operators.core.sources import ROOT
from tests.joining import VARIANT, joined, write_family

READABLE = {
    "from operators import registry\nfound = registry.declared_in('index')": ["index"],
    "from operators import registry\nfound = registry.variants(family_id='index')": ["index"],
    "from operators import registry as registry\nfound = registry.variant('gate', 'x')": ["gate"],
    "from operators.registry import declared_in\nfound = declared_in('index')": ["index"],
    "import operators.registry\nfound = operators.registry.declared_in('index')": ["index"],
    "import operators.registry as registry\nfound = registry.modules_of('index')": ["index"],
    "from operators.registry import family as one_of\nfound = one_of('index')": [],
    "def f():\n    from operators.registry import variant\n    variant('gate', 'x')": ["gate"],
    "from operators import registry\ndeclared = registry.family(name)": [],
    "registry = {}\nfound = registry.variants(name)\nother = declared_in(name)": [],
}

UNREADABLE = {
    "from operators import registry\nfound = registry.declared_in(name)": "no literal",
    "from operators.registry import variant\nfound = variant(family, 'x')": "no literal",
    "from operators import registry\nfound = registry.variants()": "no literal",
    "from operators import registry\nfound = registry.named('join', 'x')": "any family",
    "from operators import registry\nask = registry.declared_in": "passed on",
    "from operators.registry import variants\nfound = map(variants, names)": "passed on",
    "from operators import registry\nfound = getattr(registry, 'variants')('index')": "passed on",
    "from operators.registry import *\nfound = declared_in('index')": "by \\*",
    "import importlib\nknown = importlib.import_module('operators.registry')": "as a text",
    "from operators.join.index_join import registry\nregistry.variants('index')": "not from",
    "from operators import join\njoin.registry.variants('index')": "another module",
    "from operators.join import toy\ntoy.declared_in('index')": "another module",
    "import operators.join.toy\noperators.join.toy.named('index')": "another module",
    # Another module could import these from here.
    "from operators.registry import variants as all_of\nfound = all_of('index')": "as all_of",
    "from operators import registry as known\nfound = known.variants('gate')": "as known",
    "import operators.registry as known\nfound = known.modules_of('index')": "as known",
    "from operators.join.toy import *\nfound = gates_of('gate')": "by \\*",
    "from .registry import declared_in\ndeclared_in('index')": "relative",
}


def file_with(tmp_path, text):
    file = tmp_path / "asks.py"
    file.write_text(f"{text}\n")
    return file


@pytest.mark.parametrize("text", READABLE)
def test_a_family_is_read_however_the_registry_is_imported(tmp_path, text):
    file = file_with(tmp_path, text)
    assert families_asked(file) == READABLE[text]
    refuse_unreadable([file])


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_question_that_cannot_be_read_is_refused_with_its_line(tmp_path, text):
    with pytest.raises(UsageError, match=rf"asks.py:\d+: .*{UNREADABLE[text]}.*literal"):
        refuse_unreadable([file_with(tmp_path, text)])


@pytest.fixture
def key_files_of_toy(tmp_path, request):
    """Return the files in the keys of a variant that asks for gates in the test's spelling."""
    asks = f"{request.param}\n{VARIANT}"
    write_family(tmp_path, toy=asks, check__scenarios="", check__toy_mutants="")
    with joined(tmp_path):
        yield keys.measured_closure(registry.module_of(registry.variant("echo", "toy")))


ASKS_FOR_GATES = [
    "from operators.registry import declared_in\nGATES = declared_in('gate')",
    "import operators.registry as registry\nGATES = registry.declared_in('gate')",
    "from operators import registry\nGATES = registry.declared_in('gate')",
]


@pytest.mark.parametrize("key_files_of_toy", ASKS_FOR_GATES, indirect=True)
def test_the_key_of_a_variant_covers_every_variant_that_it_asked_for(key_files_of_toy):
    assert {ROOT / "operators/gate/t_gate.py", ROOT / "operators/core/epochs.py"} < key_files_of_toy


@pytest.mark.parametrize("key_files_of_toy", [""], indirect=True)
def test_a_variant_that_asks_for_none_has_none_in_its_key(key_files_of_toy):
    assert not any(file.is_relative_to(ROOT / "operators/gate") for file in key_files_of_toy)
