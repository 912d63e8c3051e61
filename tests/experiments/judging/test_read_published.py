"""Refusals of read_published, and the findings it adds for statements that are in none."""

from __future__ import annotations

import pytest
import yaml

from experiments import papers
from experiments.judging import claim_types
from experiments.judging.published import Finding, claim_of, read_published
from operators.contract import UsageError
from tests.invented import PAPER, claim_about
from tests.published import publish

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
    "core_per_thread: 'yes'": "core_per_thread must be true or false or required, not 'yes'",
    "reads: [mq]": r"reads must be a mapping, not \['mq'\]",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: {from: few}}}":
        "reads.at.inputs.from must be a whole number, not 'few'",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: null}}":
        "reads.at.inputs must be true or false or a number or text or a list or a mapping, not ",
    "reads: {variants: [], rivals: [mqlf], at: {}}": "reads.variants is empty",
    "reads: {variants: [mq], rivals: [], at: {}}": "reads.rivals is empty",
    "reads: {variants: [mq], rivals: [mqlf], at: {inputs: []}}": "reads.at.inputs is empty",
    "reads: {variants: [7], rivals: [mqlf], at: {}}": "reads.variants must be text, not 7",
    # Gains are relative to one thing.
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
    "first_screen: {figure: '99', statements: []}": "there is no figure '99' of",
    "first_screen: {figure: '13', statements: [a-claim, no-claim]}":
        "unknown statement of first_screen 'no-claim'; there are: a-claim",
    "first_screen: {statements: []}": "lacks first_screen.figure",
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


LEAST = {"statement": "one", "least": 2}


@pytest.mark.parametrize(
    ("findings", "problem"),
    [
        ([finding("so", "one") | {"asks": [{"statement": "one"}]}], "needs least, most or every"),
        ([finding("so", "one") | {"asks": [LEAST | {"least": 0.5}]}], "factors of 1 or more"),
        ([finding("so", "one") | {"asks": [LEAST | {"statement": "two"}]}], "asks of 'two'"),
        ([finding("so", "one") | {"because": [{"text": "x", "statement": "one"}]}], "needs least"),
        (
            [finding("so", "one") | {"because": [LEAST | {"text": "x", "statement": "two"}]}],
            "because names 'two', which is no claim",
        ),
        ([finding("so", "none")], "a finding names 'none', which is no claim"),
        ([finding("so", "one"), finding("too", "one")], "claim 'one' stands under 2 findings"),
    ],
)
def test_a_finding_names_statements_that_are_there_and_each_once(
    findings, problem, tmp_path, monkeypatch
):
    publish(tmp_path, monkeypatch, claims=[claim_about(id="one")], findings=findings)
    with pytest.raises(UsageError, match=problem):
        read_published(PAPER)


def test_a_number_of_threads_from_which_on_is_a_record():
    asked = claim_about(reads=claim_about()["reads"] | {"at": {"inputs": {"from": 4}}})
    assert claim_of(PAPER, asked).reads.at == {"inputs": claim_types.From(from_=4)}
