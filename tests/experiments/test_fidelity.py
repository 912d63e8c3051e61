"""What differs from the papers: read, complete, and the same on its page."""

from __future__ import annotations

import re

import pytest
import yaml

from experiments import fidelity, papers
from experiments.judging.published import read_published
from operators.contract import UsageError
from operators.core.sources import ROOT

PAPERS = papers.paper_names()
SCALEJOIN = "scalejoin"
ONE = {
    "id": "gate",
    "paper": "A list.",
    "here": "A tree.",
    "files": ["operators/gate/t_gate.py"],
    "figures": ["7a"],
    "effect": "None.",
    "favours": "nobody",
}
# What is assumed there is of no paper's algorithm or experiment.
OF_NO_PAPER = {
    "experiments/judging/floors.py": "how noise of a latency is told, in every paper alike",
    "experiments/judging/pairs.py": "the same of a sustained rate",
    "operators/check/dpor.py": "the proving ground runs nothing that is measured",
    "operators/check/progress.py": "the proving ground runs nothing that is measured",
}


def assuming() -> set[str]:
    """Return the files that assume something, but for those that say what differs."""
    found = set()
    for package in ("operators", "experiments", "datasets"):
        for kind in ("py", "yaml"):
            for file in (ROOT / package).rglob(f"*.{kind}"):
                if "ASSUME:" in file.read_text("utf-8"):
                    found.add(file.relative_to(ROOT).as_posix())
    return found


def read(*deviations, paper=SCALEJOIN):
    """Return what a file with these deviations says of a paper."""
    return fidelity.deviations_of(SCALEJOIN, {"paper": paper, "deviations": list(deviations)})


def test_the_page_is_what_the_files_say():
    written = fidelity.PAGE.read_text("utf-8")
    assert written == fidelity.page(), "run `python -m experiments.fidelity`"


@pytest.mark.parametrize("paper", PAPERS)
def test_each_paper_says_what_differs(paper):
    assert len(fidelity.read_fidelity(paper)) >= 10
    designs = set(read_published(paper).variants.values())
    for each in fidelity.read_fidelity(paper):
        if not isinstance(each.favours, str):
            assert set(each.favours) <= designs, each.id


def test_each_assumption_is_told():
    told = [each for paper in PAPERS for each in fidelity.read_fidelity(paper)]
    named = {name for each in told for name in each.files}
    assert assuming() - named == OF_NO_PAPER.keys()


def test_what_the_page_tells_of_a_deviation():
    row = next(line for line in fidelity.page().splitlines() if "addInput of figure 7" in line)
    cells = re.split(r"(?<!\\) \| ", row.strip("| "))
    assert len(cells) == len(fidelity.COLUMNS)
    assert cells[3] == "nobody"
    assert cells[4] == "9, 10, 11"
    assert cells[5].startswith("`operators/partition/hybrid.py`<br>`")


def test_a_figure_is_touched_by_name_or_with_all():
    (named,) = read(ONE)
    (everywhere,) = read(ONE | {"figures": "all"})
    (nowhere,) = read(ONE | {"figures": "none"})
    assert named.touches("7a")
    assert not named.touches("7b")
    assert everywhere.touches("7a")
    assert not nowhere.touches("7a")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"favour": "nobody"}, "deviation 'gate': unknown field 'favour'; did you mean 'favours'?"),
        ({"figures": "most"}, "figures must be all or none or a list, not 'most'"),
        ({"figures": ["70"]}, "deviation 'gate': there is no figure '70' of scalejoin"),
        ({"files": ["operators/gate/no.py"]}, "there is no file 'operators/gate/no.py'"),
        ({"files": []}, "files, figures and favours name one at least"),
        ({"favours": []}, "files, figures and favours name one at least"),
    ],
)
def test_what_is_wrong_is_refused(change, told):
    with pytest.raises(UsageError, match=re.escape(told)):
        read(ONE | change)


def test_a_missing_field_is_refused():
    with pytest.raises(UsageError, match="deviation 'gate': lacks effect"):
        read({name: value for name, value in ONE.items() if name != "effect"})


def test_two_of_one_id_and_another_papers_file_are_refused():
    with pytest.raises(UsageError, match="there are two deviations 'gate'"):
        read(ONE, ONE)
    with pytest.raises(UsageError, match="it is of 'toys', not of 'scalejoin'"):
        read(ONE, paper="toys")


def test_a_key_that_is_there_twice_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "fidelity.yaml"
    written = yaml.safe_dump({"paper": SCALEJOIN, "deviations": [ONE]}, sort_keys=False)
    file.write_text(f"{written}  effect: Much.\n")
    monkeypatch.setattr(papers, "fidelity_file", lambda _: file)
    with pytest.raises(UsageError, match="the key 'effect' is there twice"):
        fidelity.read_fidelity.__wrapped__(SCALEJOIN)


def test_a_paper_need_not_have_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "fidelity_file", lambda _: tmp_path / "none.yaml")
    assert fidelity.read_fidelity.__wrapped__(SCALEJOIN) == ()
