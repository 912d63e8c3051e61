"""The registry: it finds the variants present, refuses duplicates, and lists the choices."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys

import pytest

from operators.contract import UsageError
from operators.core.family import CoreOperations
from operators.registry import (
    add_folder,
    called,
    families,
    family,
    family_names,
    meant_by,
    module_of,
    named,
    register,
    variant,
    variants,
)
from tests.joining import FAMILY, ROOT, VARIANT, environment, joined, write_family


def test_the_paper_s_gates_and_aggregates_are_found():
    assert {"multi-queue", "multi-queue-lock-free", "t-gate"} <= {v.id for v in variants("gate")}
    assert {"mq", "mqlf", "tumlsc"} <= {v.id for v in variants("aggregation")}


def test_structures_of_the_core_are_found_in_whichever_package_they_stand():
    found = {v.id: v for v in variants("core")}
    assert {"spsc-ring", "michael-scott-queue", "mutex", "arena", "epochs"} <= found.keys()
    assert {"winsets", "shared-winsets", "w-hive"} <= found.keys()
    assert not any(v.bench for v in found.values())
    assert all(callable(call) for v in found.values() for call in v.operations.calls.values())
    assert module_of(found["arena"]) == "operators.core.arena"
    assert module_of(found["w-hive"]) == "operators.aggregation.w_hive"


def test_the_list_is_sorted_and_complete():
    everything = variants()
    assert everything == sorted(everything, key=lambda v: (v.family, v.id))
    assert everything == [v for name in family_names() for v in variants(name)]


def test_families_are_those_of_their_folders():
    assert {"core", "gate", "aggregation"} <= set(family_names())
    assert list(family_names()) == sorted(family_names())
    assert [f.id for f in families()] == list(family_names())
    assert all(f.title for f in families())


def test_one_variant_is_found_by_family_and_id():
    assert variant("gate", "t-gate").title


def test_an_unknown_family_or_id_is_refused_with_those_there_are():
    with pytest.raises(UsageError, match="unknown family 'gates'; families are: .*core, gate"):
        variants("gates")
    with pytest.raises(UsageError, match="unknown variant 'gate-t' of family 'gate'.* t-gate"):
        variant("gate", "gate-t")
    with pytest.raises(UsageError, match="unknown variant 'x' of family 'core'; there are: arena"):
        variant("core", "x")


def test_who_asks_for_one_family_does_not_import_the_others():
    code = (
        "import sys\n"
        "from operators import registry\n"
        "print(registry.variant('gate', 't-gate').id, len(registry.variants('gate')))\n"
        "print(*sorted({name.split('.')[1] for name in sys.modules if name[:10] == 'operators.'}))"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**environment, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    found, loaded = done.stdout.splitlines()
    assert found == f"t-gate {len(variants('gate'))}", done.stderr
    assert not set(loaded.split()) & ({*family_names()} - {"core", "gate"})


def test_the_folder_of_a_family_has_all_its_variants_but_those_of_the_core():
    for each in variants():
        assert each.family in ("core", module_of(each).split(".")[1])


def test_two_modules_with_one_id_are_both_named():
    found, where = {}, {}
    first = variant("gate", "t-gate")
    register(found, where, first, "operators.gate.one")
    register(found, where, dataclasses.replace(first, id="other"), "operators.gate.two")
    with pytest.raises(UsageError, match="both operators.gate.one and operators.gate.three"):
        register(found, where, dataclasses.replace(first, title="again"), "operators.gate.three")
    assert len(found) == 2


def test_a_variant_of_no_family_is_refused():
    lost = dataclasses.replace(variant("gate", "t-gate"), family="gates")
    with pytest.raises(UsageError, match="unknown family 'gates'; families are: .*gate"):
        register({}, {}, lost, "operators.gate.lost")


def test_a_variant_with_the_operations_of_another_family_is_refused():
    stray = dataclasses.replace(variant("gate", "t-gate"), operations=CoreOperations(None, {}))
    words = r"'t-gate' of family 'gate' \(operators.gate.stray\): .* CoreOperations, not GateOp"
    with pytest.raises(UsageError, match=words):
        register({}, {}, stray, "operators.gate.stray")


def test_nobody_declares_what_is_not_registered():
    with pytest.raises(UsageError, match="no module declares gate/nowhere"):
        module_of(dataclasses.replace(variant("gate", "t-gate"), id="nowhere"))


# --- families that are called alike ---------------------------------------------------------------


def test_families_of_one_name_are_one_operator_to_who_uses_them():
    assert called("theta_join") == called("join") == "join" and called("gate") == "gate"
    assert meant_by("join") == ("join", "theta_join")
    assert meant_by("theta_join") == ("theta_join",) and meant_by("gate") == ("gate",)
    for family_id in ("join", "theta_join"):
        for each in variants(family_id):
            assert named("join", each.id) is named(family_id, each.id) is each


def test_an_unknown_name_or_id_is_refused_with_what_users_call_those_there_are():
    with pytest.raises(UsageError, match="unknown family 'joins'; families are: ") as refused:
        named("joins", "scale-join")
    assert " join, " in str(refused.value) and "theta_join" not in str(refused.value)
    with pytest.raises(UsageError, match="unknown variant 'x' of family 'join'") as refused:
        named("join", "x")
    assert {"pim-tree", "scale-join"} <= set(str(refused.value).split(": ")[1].split(", "))
    with pytest.raises(UsageError, match="'pim-tree' of family 'theta_join'; there are: handsh"):
        named("theta_join", "pim-tree")


# The word is split, because the toy's name is replaced in the written file.
CALLED = FAMILY.replace("operations=Operations", "operations=Operations, called='ec' + 'ho'")


def test_a_family_from_outside_may_be_called_as_another_one(tmp_path):
    write_family(tmp_path)
    other = VARIANT.replace('id="toy"', 'id="other"')
    write_family(tmp_path, "reverb", family=CALLED, toy=other)
    with joined(tmp_path):
        assert meant_by("echo") == ("echo", "reverb") and meant_by("reverb") == ("reverb",)
        assert named("echo", "toy").family == "echo"
        assert named("echo", "other") is named("reverb", "other") is variant("reverb", "other")
        with pytest.raises(UsageError, match="of family 'echo'; there are: other, toy"):
            named("echo", "third")
    with pytest.raises(UsageError, match="unknown family 'echo'"):
        meant_by("echo")


@pytest.mark.parametrize("place", ["reverb", "anechoic"])
def test_families_that_are_called_alike_have_no_id_in_common(tmp_path, place):
    write_family(tmp_path)
    write_family(tmp_path, place, family=CALLED)
    words = (
        r"variant 'toy' is declared by both operators\.(\w+)\.toy in family '\1' and"
        r" operators\.(\w+)\.toy in family '\2', which are both called 'echo': rename one"
    )
    with joined(tmp_path), pytest.raises(UsageError, match=words):
        variants()


def test_families_that_are_called_otherwise_may_have_ids_in_common(tmp_path):
    write_family(tmp_path)
    write_family(tmp_path, "reverb")
    with joined(tmp_path):
        assert named("echo", "toy") is not named("reverb", "toy")


# --- a family from outside -----------------------------------------------------------------------


def test_a_folder_of_the_same_name_brings_a_family(tmp_path):
    write_family(tmp_path)
    with joined(tmp_path):
        assert "echo" in family_names() and family("echo").title == "a counter"
        (toy,) = variants("echo")
        assert toy.id == "toy" and module_of(toy) == "operators.echo.toy"
        assert {v.id for v in variants("core")} >= {"arena"}
    assert "echo" not in family_names()
    with pytest.raises(UsageError, match="unknown family 'echo'"):
        variants("echo")


def test_a_folder_of_the_same_name_brings_a_variant_to_a_family_that_exists(tmp_path):
    folder = tmp_path / "operators" / "gate"
    folder.mkdir(parents=True)
    mine = (
        "from dataclasses import replace\n"
        "from operators.gate.multi_queue import VARIANT as GIVEN\n"
        'VARIANT = replace(GIVEN, id="mine")\n'
    )
    (folder / "mine.py").write_text(mine)
    before = {each.id for each in variants("gate")}
    with joined(tmp_path):
        assert {each.id for each in variants("gate")} == {*before, "mine"}
        assert module_of(variant("gate", "mine")) == "operators.gate.mine"
    assert {each.id for each in variants("gate")} == before


def test_a_folder_that_is_added_later_is_searched_too(tmp_path):
    variants("gate")
    with joined(tmp_path / "elsewhere"):
        write_family(tmp_path)
        add_folder(tmp_path)
        assert "echo" in family_names()
    assert "echo" not in family_names()


def test_a_variant_may_stand_in_the_folder_of_another_family(tmp_path):
    write_family(tmp_path)
    guest = VARIANT.replace("operators.echo.family", "operators.host.family")
    write_family(tmp_path, "host", guest=guest.replace('family="echo"', 'family="host"'), toy="")
    with joined(tmp_path):
        assert module_of(variant("host", "toy")) == "operators.host.guest"
        assert module_of(variant("echo", "toy")) == "operators.echo.toy"


def test_a_family_by_another_name_than_its_folder_s_is_refused(tmp_path):
    write_family(tmp_path, family=FAMILY.replace('id="echo"', 'id="other"'))
    with joined(tmp_path):
        with pytest.raises(UsageError, match="family in operators/echo calls itself 'other'"):
            family("echo")
        with pytest.raises(UsageError, match="calls itself 'other'"):
            variants()


def test_pythonpath_is_all_it_takes(tmp_path):
    write_family(tmp_path)
    code = (
        "from operators import registry\n"
        "print(registry.variant('echo', 'toy').title, registry.variant('gate', 't-gate').id)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["Toy", "t-gate"], done.stderr
