"""Every exported operation is called by a thread that calls nothing else, or says why not."""

from __future__ import annotations

import pytest

from operators import registry
from operators.check.alone import ITSELF, declared, gaps, watched
from operators.check.families import checked
from tests.interleaving.test_variants import ALIKE
from tests.joining import FAMILY, SCENARIOS, VARIANT, joined, write_family


def name_of(variant) -> str:
    return f"{variant.family}-{variant.id}"


def each_variant() -> list:
    return [
        pytest.param(
            variant, id=name_of(variant), marks=[pytest.mark.full] * (name_of(variant) in ALIKE)
        )
        for variant in checked()
    ]


@pytest.mark.parametrize("variant", each_variant())
def test_every_operation_is_called_alone_or_has_a_reason(variant):
    found = gaps(variant)
    assert not found, "\n".join(found)
    for name, how in declared(variant).items():
        assert how == ITSELF or (how[0].isupper() and how.endswith(".")), f"{name}: a sentence"


# --- how it is measured --------------------------------------------------------------------------

# Beside `say` a question, `total`, which is answered without a look at the plain `note`.
_FAMILY = FAMILY.replace("say: Any", "say: Any\n    total: Any")
_VARIANT = (
    VARIANT.replace("total: np.ndarray", "total: np.ndarray\n    note: np.ndarray")
    .replace("State(aligned_words(1))", "State(aligned_words(1), aligned_words(1))")
    .replace(
        "VARIANT =", "def total(state):\n    return load(state.total, 0, ACQUIRE)\n\nVARIANT ="
    )
    .replace("(make_state, say)", "(make_state, say, total)")
    .replace("import RELAXED", "import ACQ_REL, ACQUIRE")
    .replace("RELAXED", "ACQ_REL")
)
_ASKS = "return int(variant.operations.total(state))"
_PERFORM = f"""        if call.name == "total":
            {_ASKS}
        if call.arguments == (3,):
            state.note[0] = 7
        return"""
_SCENARIOS = (
    SCENARIOS.replace("        return", _PERFORM, 1)
    .replace('(Call("say", (1,)), Call("say", (2,)))', '(Call("total"),)')
    .replace("in history)", 'in history if o.name == "say")')
)


def gaps_of_toy(tmp_path, scenarios):
    write_family(tmp_path, family=_FAMILY, toy=_VARIANT, check__scenarios=scenarios)
    with joined(tmp_path):
        return gaps(registry.variant("echo", "toy"))


AND_READS = _SCENARIOS.replace(
    _ASKS,
    "told = int(variant.operations.total(state))\n            return told and int(state.note[0])",
)
SAYS = 'ALONE = {"say": ITSELF}\n'
IMPORTS = "from operators.check.alone import ITSELF\n"


def test_a_thread_that_reads_what_it_was_told_is_ready_is_one(tmp_path):
    assert gaps_of_toy(tmp_path, IMPORTS + AND_READS + SAYS) == []


def test_a_thread_that_reads_nothing_is_none(tmp_path):
    (line,) = gaps_of_toy(tmp_path, IMPORTS + _SCENARIOS + SAYS)
    assert line == (
        "a thread of two calls total alone, and reaches no word after that which another thread"
        " reaches"
    )


def test_a_thread_that_calls_another_operation_too_is_none(tmp_path):
    both = AND_READS.replace('(Call("total"),)', '(Call("total"), Call("say", (1,)))')
    assert gaps_of_toy(tmp_path, IMPORTS + both + SAYS) == ["no thread calls total alone"]


def test_an_operation_without_a_program_needs_a_reason(tmp_path):
    assert gaps_of_toy(tmp_path, IMPORTS + SCENARIOS + SAYS) == ["no thread calls total alone"]


def test_a_reason_does_instead_and_only_instead(tmp_path):
    reason = 'ALONE = {"say": ITSELF, "total": "Nobody asks.", "sum": "There is none."}\n'
    assert gaps_of_toy(tmp_path, IMPORTS + AND_READS + reason) == [
        "sum is declared, and is no operation",
        "total has a reason, and two calls it alone",
    ]


def test_the_operations_are_themselves_again_afterwards():
    (variant,) = (v for v in checked() if name_of(v) == "core-mpmc-ring")
    before = dict(variant.operations.calls)
    assert watched(variant)["push"].alone
    assert dict(variant.operations.calls) == before
