"""What read_published refuses, and the findings that it makes whole."""

from __future__ import annotations

import copy

import pytest
import yaml

from experiments import papers
from experiments.judging import claim_types, fields
from experiments.judging.comparators import comparators_of
from experiments.judging.published import Finding, claim_of, read_published
from operators.contract import UsageError
from tests.invented import PAPER, PUBLISHED, claim_about
from tests.published import written

FILES = {paper: written(paper) for paper in papers.paper_names()}

SLIPS = {
    "comparator: vibes": "unknown comparator 'vibes'; there are: .*ordering",
    "quantity: speed_kmh": "unknown quantity 'speed_kmh'.*throughput_tps",
    "direction: sideways": "unknown direction 'sideways'; there are: higher, ",
    "kind: rumour": "unknown kind 'rumour'; there are: result, expectation, purpose, definition",
    "kind: purpose": "kind 'purpose' needs kind_why: why it is no result",
    "repeats: another": "repeats 'another', which is no claim that stands by itself",
    'figures: ["99"]': "there is no figure '99' of multiway_aggregation; there are: 7,",
    "figures: [fig_13]": "there is no figure 'fig_13'",
    "figures: []": "'ordering' takes one figure or more, not 0",
    "comparator: figure-ordering\nreads: {variants: [mq], at: {}}":
        "'figure-ordering' takes figures in pairs, not 1",
    "unit: time": "unknown unit 'time'; there are: times, t/s",
    "direction: near": "direction 'near' needs tolerance",
    "tolerance: 1.5": "direction 'higher' has no tolerance",
    "direction: near\ntolerance: 0.8": "tolerance is a factor above 1, not 0.8",
    "needs: threads": "unknown need 'threads'",
    "reads: {variants: [tumlsk], rivals: [mq], at: {}}":
        "unknown variant 'tumlsk'; there are: mq, .*tumlsc",
    "reads: {variants: [wiml], rivals: [mq], at: {}}":
        "unknown line of its figures 'wiml'; there are: mq, mqlf, tumlsc",
    "reads: {variants: [mq], rivals: [tumlsc], at: {imputs: 20}}":
        "unknown setting 'imputs'; there are: .*inputs",
    # Values that the setting does not take.
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: twenty}}":
        "reads.at.inputs: inputs must be a whole number, received 'twenty'",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: '20'}}":
        "reads.at.inputs: inputs must be a number, received '20'",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: [4, mayn]}}":
        "reads.at.inputs: inputs must be a whole number, received 'mayn'",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: true}}":
        "reads.at.inputs: inputs must be a whole number, received True",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: {from: -4}}}":
        "reads.at.inputs.from: inputs must be between .*, received -4",
    "reads: {variants: [mq], rivals: [mqlf], at: {query: k-OSS}}":
        "reads.at.query: query must be one of .*k-OS.*, received 'k-OSS'",
    "reads: {variants: [mq], rivals: [mqlf], at: {query: many}}":
        "reads.at.query: query must be one of .*, received 'many'",
    # Types.
    "section: 7.1": "section must be text, not 7.1",
    "figures: '13'": "figures must be a list, not '13'",
    "value: many": "value must be a number or lost or null, not 'many'",
    "core_per_thread: 'yes'": "core_per_thread must be true or false, not 'yes'",
    "reads: [mq]": r"reads must be a mapping, not \['mq'\]",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: {from: few}}}":
        "reads.at.inputs.from must be a whole number, not 'few'",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: null}}":
        "reads.at.inputs must be true or false or a number or text or a list or a mapping, not ",
    "reads: {variants: [], rivals: [mqlf], at: {}}": "reads.variants is empty",
    "reads: {variants: [mq], rivals: [], at: {}}": "reads.rivals is empty",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: []}}": "reads.at.inputs is empty",
    "reads: {variants: [7], rivals: [mqlf], at: {}}": "reads.variants must be text, not 7",
    # Gains are over one thing.
    "comparator: gain-ordering\nfigures: ['13', '14']\nreads: {variants: [mq], at: {}}":
        "reads gains over either reads.rivals or a setting, reads.over",
    "comparator: gain-ordering\nfigures: ['13', '14']\n"
    "reads: {variants: [mq], at: {}, over: inputs}":
        "reads.threads says which values of reads.over gain: most or every",
    "comparator: every-rate\nreads: {variants: [mq], rivals: [mqlf], at: {inputs: all}}":
        "'every-rate' is read at one inputs, not at 'all'",
    "comparator: bottleneck\nreads: {variants: [mq], at: {}}":
        "reads.at lacks inputs, a whole number",
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_what_does_not_fit_in_a_claim_is_an_error_that_says_what_would(slip, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=[claim_about() | yaml.safe_load(slip)])
    with pytest.raises(UsageError, match=f"published.yaml: claim 'a-claim': {SLIPS[slip]}"):
        read_published(PAPER)


def publish(folder, monkeypatch, **said):
    """Have a paper's statements read from a file that says this, None for nothing."""
    whole = {key: value for key, value in (PUBLISHED | said).items() if value is not None}
    path = folder / "published.yaml"
    path.write_text(yaml.safe_dump(whole))
    monkeypatch.setattr(papers, "published_file", lambda paper: path)


# By paper: a comparator, a field of its own, and a value that the field's setting does not take.
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


# Misspelt and missing fields.


def misspelt(name):
    """Return a name with two letters exchanged."""
    return name[:-2] + name[-1] + name[-2]


def fields_by_place(paper):
    """Yield each field of each claim of a paper: the claim, the record that has it, its name."""
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


# Each of these was read silently as if it were not there, or was a bare KeyError.
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
    assert (straight, sided) == (["monotone"], ["absolute"])


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


# The head of the file.

HEAD = {
    "paper": "lacks paper$",
    "hardware": "lacks hardware$",
    "variants": "lacks variants$",
    "claims": "lacks claims$",
}


@pytest.mark.parametrize("name", HEAD)
def test_what_a_paper_does_not_say_is_named(name, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, **{"claims": [claim_about()], name: None})
    with pytest.raises(UsageError, match=f"published.yaml: {HEAD[name]}"):
        read_published(PAPER)


WRONG_HEADS = {
    "finding: []": "unknown field 'finding'; did you mean 'findings'",
    "hardware: {cpu_model: Xeon, logical_core: 24}":
        "unknown field 'hardware.logical_core'; did you mean 'hardware.logical_cores'",
    "second_hardware: {cpu_modl: Xeon, logical_cores: 2}":
        "unknown field 'second_hardware.cpu_modl'; did you mean 'second_hardware.cpu_model'",
    "hardware: {cpu_model: Xeon}": "hardware needs physical_cores or logical_cores",
    "hardware: {logical_cores: 24}": "lacks hardware.cpu_model",
    "not_judged: [{quote: words, section: '1'}]": "not_judged, entry 1: lacks why",
    "findings: [{id: so, question: so, statement: [a-claim]}]":
        "findings, entry 1: unknown field 'statement'; did you mean 'statements'",
    "findings: [{id: so, question: so, statements: []}]":
        "findings, entry 1: statements is empty",
    "findings: [{id: so, statements: [a-claim]}]": "findings, entry 1: lacks question",
    "claims: [vibes]": "claim 1: a claim is a mapping of fields, not 'vibes'",
    "claims: {}": "claims must be a list, not {}",
    "variants: [mq]": r"variants must be a mapping, not \['mq'\]",
}  # fmt: skip


@pytest.mark.parametrize("slip", WRONG_HEADS)
def test_what_does_not_fit_in_the_head_is_refused(slip, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, **{"claims": [claim_about()]} | yaml.safe_load(slip))
    with pytest.raises(UsageError, match=f"published.yaml: {WRONG_HEADS[slip]}"):
        read_published(PAPER)


def test_a_file_that_is_no_mapping_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "published.yaml"
    monkeypatch.setattr(papers, "published_file", lambda paper: path)
    for text, told in (("- one\n", "it must be a mapping of fields"), ("{", "cannot read")):
        path.write_text(text)
        with pytest.raises(UsageError, match=told):
            read_published(PAPER)


def test_a_field_that_is_there_twice_is_refused_with_its_line(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=[claim_about()])
    path = tmp_path / "published.yaml"
    lines = path.read_text().splitlines()
    (number,) = (n for n, line in enumerate(lines) if line.strip() == "direction: higher")
    lines.insert(number + 1, lines[number].replace("higher", "lower"))
    path.write_text("\n".join(lines))
    both = f"in line {number + 1} and in line {number + 2}"
    with pytest.raises(UsageError, match=f"{path}: the key 'direction' is there twice, {both}$"):
        read_published(PAPER)


def test_a_field_may_be_given_in_the_place_of_an_anchors(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=None)
    path = tmp_path / "published.yaml"
    usual = yaml.safe_dump(claim_about(), default_flow_style=True, width=1_000).strip()
    again = f"claims: [&usual {usual}, {{<<: *usual, id: again, direction: lower}}]\n"
    path.write_text(path.read_text() + again)
    assert [claim.direction for claim in read_published(PAPER).claims] == ["higher", "lower"]


@pytest.mark.parametrize("name", ["id", "comparator", "quantity"])
def test_a_claim_that_lacks_a_field_is_named_by_its_id_or_its_place(name, tmp_path, monkeypatch):
    asked = {key: value for key, value in claim_about().items() if key != name}
    publish(tmp_path, monkeypatch, claims=[claim_about(id="one"), asked])
    called = "2" if name == "id" else "'a-claim'"
    with pytest.raises(UsageError, match=f"published.yaml: claim {called}: lacks {name}$"):
        read_published(PAPER)


def test_the_statements_of_another_paper_are_refused(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, paper="another", claims=[claim_about()])
    with pytest.raises(UsageError, match=f"is of 'another', not of '{PAPER}'"):
        read_published(PAPER)


def test_a_statement_repeats_one_that_stands_by_itself(tmp_path, monkeypatch):
    said = [claim_about(id=name) for name in ("one", "two", "three")]
    said[1]["repeats"] = "one"
    publish(tmp_path, monkeypatch, claims=said)
    assert read_published(PAPER).claims[1].repeats == "one"
    said[2]["repeats"] = "two"
    publish(tmp_path, monkeypatch, claims=said)
    with pytest.raises(UsageError, match="'three': repeats 'two', which is no claim that stands"):
        read_published(PAPER)


def test_two_claims_of_one_id_are_refused(tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=[claim_about(), claim_about(direction="lower")])
    with pytest.raises(UsageError, match="claim 'a-claim': there are two claims of this id"):
        read_published(PAPER)


def test_what_needs_something_may_name_figures_that_will_be_there(tmp_path, monkeypatch):
    reads = {"variants": ["mq"], "rivals": ["tumlsc"], "at": {"later": 1}}
    asked = claim_about(needs="time", figures=["99"], reads=reads)
    publish(tmp_path, monkeypatch, claims=[asked], needs={"time": "some time"})
    assert read_published(PAPER).claims[0].needs == "time"


# Findings.


def finding(name, *statements):
    return {"id": name, "question": f"Is it {name}?", "statements": list(statements)}


def test_a_statement_under_no_finding_is_one_of_its_own(tmp_path, monkeypatch):
    said = [claim_about(id=name, quote=f"it is {name}") for name in ("one", "two")]
    publish(tmp_path, monkeypatch, claims=said, findings=[finding("so", "two")])
    assert read_published(PAPER).findings == (
        Finding(id="so", question="Is it so?", statements=("two",)),
        Finding(id="one", question="it is one", statements=("one",)),
    )
    publish(tmp_path, monkeypatch, claims=said)
    assert [each.id for each in read_published(PAPER).findings] == ["one", "two"]


@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        ([finding("so", "none")], "a finding names 'none', which is no claim"),
        ([finding("so", "one"), finding("too", "one")], "claim 'one' stands under 2 findings"),
    ],
)
def test_findings_name_each_statement_once(findings, problem, tmp_path, monkeypatch):
    publish(tmp_path, monkeypatch, claims=[claim_about(id="one")], findings=findings)
    with pytest.raises(UsageError, match=problem):
        read_published(PAPER)


def test_a_number_of_threads_from_which_on_is_a_record():
    asked = claim_about(reads=claim_about()["reads"] | {"at": {"inputs": {"from": 4}}})
    assert claim_of(PAPER, asked).reads.at == {"inputs": claim_types.From(from_=4)}
