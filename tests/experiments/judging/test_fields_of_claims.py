"""A misspelt field of a claim, a missing one, and one of another comparator are refused."""

from __future__ import annotations

import copy

import pytest

from experiments import papers
from experiments.judging import fields
from experiments.judging.comparators import comparators_of
from experiments.judging.published import claim_of, read_published
from operators.contract import UsageError
from tests.invented import PAPER, claim_about
from tests.published import publish, written

FILES = {paper: written(paper) for paper in papers.paper_names()}


def misspelt(name):
    """Return a name with two letters exchanged."""
    return name[:-2] + name[-1] + name[-2]


def fields_by_place(paper):
    """Yield each field of each claim of a paper: the claim, the record with the field, the name."""
    for claim in FILES[paper]["claims"]:
        for record in ((), ("reads",)):
            for name in claim["reads"] if record else claim:
                yield claim, record, name


def changed(claim, record, change):
    """Return a copy of a claim after a change to one of its records."""
    found = copy.deepcopy(claim)
    change(found[record[0]] if record else found)
    return found


@pytest.mark.parametrize("paper", FILES)
def test_each_field_of_each_claim_misspelt_is_refused_with_the_right_word(paper):
    seen = set()
    for claim, record, name in fields_by_place(paper):
        if name in ("id", "comparator"):
            continue
        wrong = misspelt(name) if len(name) > 3 else f"{name}s"
        slip = changed(claim, record, lambda own, n=name, w=wrong: own.update({w: own.pop(n)}))
        dotted = ".".join((*record, name))
        with pytest.raises(UsageError) as refused:
            claim_of(paper, slip)
        told = f"unknown field '{'.'.join((*record, wrong))}' of comparator '{claim['comparator']}'"
        assert str(refused.value).startswith(told), (claim["id"], dotted)
        if len(name) > 3:
            assert str(refused.value).endswith(f"; did you mean '{dotted}'?")
        seen.add(dotted)
    assert seen >= {"direction", "reads.at", "assumed"}


def given(paper, name, record=()):
    """Return the first claim of a paper that has a field."""
    return next(c for c, where, each in fields_by_place(paper) if (where, each) == (record, name))


# Each of these was once ignored silently, or raised a bare KeyError.
ONCE_SILENT = [
    ("scalejoin", ("reads",), "up_to", "upto"),
    ("multiway_aggregation", (), "tolerance", "tolerence"),
    ("ordered_processing", (), "tolerance", "tolerence"),
    ("multiway_aggregation", (), "core_per_thread", "cores_per_thread"),
    ("pim_tree", (), "repeats", "repeat"),
    ("pim_tree", ("reads",), "over", "ovr"),
    ("multiway_aggregation", ("reads",), "cost", "costs"),
    ("multiway_aggregation", (), "direction", "dirction"),
    ("multiway_aggregation", ("reads",), "baselines", "baseline"),
]


@pytest.mark.parametrize(("paper", "record", "name", "slip"), ONCE_SILENT)
def test_a_misspelt_field_in_a_file_is_named_with_paper_and_claim(
    paper, record, name, slip, tmp_path, monkeypatch
):
    claim = given(paper, name, record)
    wrong = changed(claim, record, lambda own: own.update({slip: own.pop(name)}))
    whole = FILES[paper]
    rest = [wrong if each is claim else each for each in whole["claims"]]
    folder = tmp_path / paper
    folder.mkdir()
    publish(folder, monkeypatch, **{**whole, "claims": rest})
    dotted, right = (".".join((*record, each)) for each in (slip, name))
    with pytest.raises(UsageError) as refused:
        read_published(paper)
    assert str(refused.value) == (
        f"{folder}/published.yaml: claim '{claim['id']}': unknown field '{dotted}' of"
        f" comparator '{claim['comparator']}'; did you mean '{right}'?"
    )


@pytest.mark.parametrize("paper", FILES)
def test_each_field_that_a_claim_must_have_is_missed(paper):
    of_kind = {claim["comparator"]: claim for claim in FILES[paper]["claims"]}
    for name, claim in of_kind.items():
        kind = comparators_of(paper)[name].claim
        for record in ((), ("reads",)):
            known = fields.fields_of(fields.fields_of(kind)["reads"][1] if record else kind)
            needed = {each for each, (own, _) in known.items() if fields.is_required(own)}
            assert needed >= ({"variants", "at"} if record else {"id", "quantity", "reads"})
            for field in needed:
                lacking = changed(claim, record, lambda own, field=field: own.pop(field))
                with pytest.raises(UsageError, match=f"lacks {'.'.join((*record, field))}$"):
                    claim_of(paper, lacking)


@pytest.mark.parametrize("paper", FILES)
def test_a_field_that_the_comparator_of_a_claim_does_not_read_is_refused(paper):
    own_kinds = {name: each.claim for name, each in comparators_of(paper).items()}
    records = {name: fields.fields_of(kind)["reads"][1] for name, kind in own_kinds.items()}
    reads = {name: fields.fields_of(record) for name, record in records.items()}
    every = {field for own in reads.values() for field in own}
    of_kind = {claim["comparator"]: claim for claim in FILES[paper]["claims"]}
    refused = 0
    for name, claim in of_kind.items():
        for field in every - reads[name].keys():
            more = changed(claim, ("reads",), lambda own, field=field: own.update({field: "all"}))
            with pytest.raises(UsageError, match=f"unknown field 'reads.{field}' of comparator"):
                claim_of(paper, more)
            refused += 1
    assert refused > 3 * len(of_kind)
    straight = [name for name, k in own_kinds.items() if "straight" in fields.fields_of(k)]
    sided = [name for name, k in own_kinds.items() if "direction" not in fields.fields_of(k)]
    assert (straight, sided) == (["monotone"], ["absolute", "all-right", "reached"])


def test_a_field_in_the_wrong_record_is_sent_to_the_right_one():
    asked = claim_about(rivals=["mq"])
    with pytest.raises(UsageError, match="field 'rivals' of .*; did you mean 'reads.rivals'"):
        claim_of(PAPER, asked)
    asked = claim_about(reads=claim_about()["reads"] | {"direction": "higher"})
    with pytest.raises(UsageError, match="field 'reads.direction' of .*; did you mean 'direction'"):
        claim_of(PAPER, asked)
    reads = claim_about()["reads"] | {"at": {"inputs": {"form": 4}}}
    with pytest.raises(UsageError, match="inputs.form' of .*; did you mean 'reads.at.inputs.from'"):
        claim_of(PAPER, claim_about(reads=reads))
    with pytest.raises(UsageError, match="unknown field 'xyz' of .*; there are: id, quote, "):
        claim_of(PAPER, claim_about(xyz=1))


@pytest.mark.parametrize("paper", FILES)
def test_the_file_of_each_paper_is_read_whole(paper):
    published, said = read_published(paper), FILES[paper]
    assert [claim.id for claim in published.claims] == [claim["id"] for claim in said["claims"]]
    for claim, wrote in zip(published.claims, said["claims"], strict=True):
        assert isinstance(claim, comparators_of(paper)[wrote["comparator"]].claim)
        assert (claim.value, type(claim.value)) == (wrote["value"], type(wrote["value"]))
        assert list(claim.reads.variants) == wrote["reads"]["variants"]
        assert (claim.repeats, claim.words) == (wrote.get("repeats"), wrote.get("words"))


# By paper: a comparator, a field specific to it, and a value that the field's setting does not
# take.
OWN_VALUES = {
    "ordered_processing": [
        ("more-operators", {"more": ["q1", "q99"]},
         "reads.more: query must be one of q1, .*, received 'q99'"),
        ("more-operators", {"fewer": ["q51"]},
         "reads.fewer: query must be one of q1, .*, received 'q51'"),
    ],
    "pim_tree": [
        ("against-best", {"point": "lats"}, "reads.point: .* must be .*, received 'lats'"),
        ("against-best", {"point": -1}, "reads.point: .* must be between .*, received -1"),
        ("against-best", {"over": "lines", "point": 0.5},
         "reads.point over lines is first or last, not 0.5"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("paper", "comparator", "slip", "problem"),
    [(paper, *each) for paper, slips in OWN_VALUES.items() for each in slips],
)
def test_a_misspelt_value_in_a_field_of_one_comparator_is_refused(
    paper, comparator, slip, problem, tmp_path, monkeypatch
):
    claim = next(each for each in FILES[paper]["claims"] if each["comparator"] == comparator)
    wrong = changed(claim, ("reads",), lambda own: own.update(slip))
    rest = [wrong if each is claim else each for each in FILES[paper]["claims"]]
    publish(tmp_path, monkeypatch, **{**FILES[paper], "claims": rest})
    with pytest.raises(UsageError, match=f"claim '{claim['id']}': {problem}"):
        read_published(paper)
