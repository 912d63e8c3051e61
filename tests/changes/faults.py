"""Faults inserted by hand, each into a file that a commit changed, with a test that each fails.

The tests show for each fault that `make test-changed` runs that test when only that file has
changed; ``make test-full`` shows that the test fails. The faults are samples: other tests that a
fault fails may be left out, and another edit may fail only tests that are left out.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A fault inserted into one file by hand.

    Attributes
    ----------
    file : str
    old, new : str
        The first `old` in the file is replaced by `new`.
    test : str
        A file of tests, or one test, that then fails.
    interpreted : bool
        Whether the test is run without the compiler.
    variant : str
        The file of the variant that a failing test takes; empty if it takes none.
    """

    file: str
    old: str
    new: str
    test: str
    interpreted: bool = False
    variant: str = ""


FAULTS = (
    Fault(
        "operators/index/node.py",
        "peek(keys, begin + found) < key",
        "peek(keys, begin + found) <= key",
        "tests/operators/index/test_node.py",
        interpreted=True,
    ),
    Fault(
        "operators/core/vectors.py",
        "keys[begin : begin + RANKED] < key",
        "keys[begin : begin + RANKED] <= key",
        "tests/operators/core/test_vectors.py",
        interpreted=True,
    ),
    Fault(
        "operators/check/machine.py",
        "if self.clock[read & 7] < read >> 3:",
        "if False:",
        "tests/interleaving/test_litmus.py",
        interpreted=True,
    ),
    Fault(
        "operators/check/buffers.py",
        "if each.number < behind:",
        "if False:",
        "tests/interleaving/test_litmus.py",
        interpreted=True,
    ),
    Fault(
        "experiments/doctor.py", "if mine < 2:", "if mine < 1:", "tests/experiments/test_doctor.py"
    ),
    Fault(
        "datasets/generate.py",
        "if not 1 <= rows <= MOST_ROWS",
        "if not 0 <= rows <= MOST_ROWS",
        "tests/datasets/test_generate.py",
    ),
    Fault(
        "operators/join/chain.py",
        "if not 1 <= threads <= MOST_THREADS",
        "if not 0 <= threads <= MOST_THREADS",
        "tests/operators/join/test_round_robin.py",
        interpreted=True,
    ),
    Fault(
        "experiments/families/join/expected.py",
        "keys[most] <= high",
        "keys[most] < high",
        "tests/experiments/families/join/test_join_bench.py",
    ),
    Fault(
        "operators/index/b_plus_tree.py",
        "keys + last) <= high:",
        "keys + last) < high:",
        "tests/contract/test_index.py",
        interpreted=True,
        variant="operators/index/chain.py",
    ),
    Fault(
        "operators/core/spsc_ring.py",
        "if written - read >= rings.capacity:",
        "if written - read > rings.capacity:",
        "tests/operators/core/test_spsc_ring.py",
        interpreted=True,
    ),
    Fault(
        "figures/forms/rows.py",
        "-value if lower else value)",
        "value if lower else -value)",
        "tests/figures/forms/test_rows.py",
    ),
    Fault(
        "experiments/judging/lookup.py",
        "if value >= least)",
        "if value <= least)",
        "tests/experiments/judging/test_comparators.py",
    ),
    Fault(
        "experiments/families/aggregation/durations.py",
        "if spent > 0 else None",
        "if spent > 1 << 60 else None",
        "tests/experiments/families/aggregation/test_durations.py",
    ),
    Fault(
        "workflow/rules/common.smk",
        "max(PROFILE.repetitions, there)",
        "min(PROFILE.repetitions, there)",
        "tests/workflow/test_snakemake.py::test_all_figures_are_measured_judged_drawn_and_told",
    ),
    Fault(
        "operators/index/pim_tree.py",
        "depth, subindex) < high:",
        "depth, subindex) <= high:",
        "tests/operators/index/test_pim_tree.py",
        interpreted=True,
    ),
    Fault(
        "experiments/ordered_processing/published.yaml",
        "  quantity: speed_up",
        "  quantity: speedup",
        "tests/experiments/ordered_processing/test_ordered_published.py",
    ),
    Fault(
        "CONTRIBUTING.md",
        'progress="blocking",\n    threads={"source"',
        'progress="lock-free",\n    threads={"source"',
        "tests/test_contributing.py",
        interpreted=True,
    ),
    Fault(
        "operators/index/check/mutants.py",
        "peek(forest.nodes.words, right))",
        "peek(forest.nodes.words, left))",
        "tests/interleaving/test_mutants.py::test_a_mutant_fits_its_module_and_compiles",
        interpreted=True,
    ),
    Fault("Makefile", "soak: $(COMMAND) ##", "soak: ##", "tests/workflow/test_makefile.py"),
    Fault(
        "operators/registry.py",
        "    if place in found:",
        "    if False:",
        "tests/operators/test_registry.py",
    ),
    Fault("experiments/records/keys.py", '"title", ', "", "tests/experiments/records/test_keys.py"),
)
