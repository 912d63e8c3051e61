"""The section of a page that explains the answers, and gives the noise floors of the machine."""

from __future__ import annotations

from experiments.judging.floors import ENOUGH
from experiments.judging.pool import PRACTICALLY_EQUAL
from figures import page
from figures.page_data import PageData

HOW_TO_READ = """
<p>A <b>finding</b> is a question that a reader of the paper has. Under it stand the paper's own
statements, word for word, each with the answer that was measured here:</p>
<p>{holds} here. {does not hold} here: the opposite was seen, both are practically equal, or less
was seen than was asked for. {mixed} it holds in some places and not in others. {cannot tell} it was
measured, and what was measured leaves it open. {not measured here} nothing was measured that could
tell: it is not built, needs another machine, is not in this profile, or is a value that is only
shown. Each statement that counts is a <b>part</b> of the finding, with a mark of its own. A finding
is mixed when parts that were told differ, and what they say where they agree and are half of the
parts or more; a minority answers nothing. What is not measured is in no headline. Only results
count, each once: no expectation, purpose or definition of the paper, and nothing that our own data
make true.</p>
<p>A statement is answered from all of its <b>pairs</b>: one variant over another, on the same query
with the same inputs, process by process and round by round. Their ratios are pooled as a geometric
mean, in which the median of its rounds stands for a process. Two times within {equal} of each other
are <b>practically equal</b>: of more than a hundred statements a few would else be clear by chance.
So from six processes on, the 95 % interval of Student's t must lie on one side of 1, and the ratio
beyond {equal}, or 1/{equal} where it is to be lower. With fewer there is no interval: every process
(every round, of a single one) must lie on that side, and the ratio further off than medians of so
many equal runs differ by, within a process and from one to another. Of fewer than {enough} pairs of
equal runs that is unknown, and the statement cannot be told. The count of signs stands beside it;
with under two thirds of them on the side of a clear ratio it is mixed. Where a best is asked for,
some rounds choose it and others judge it.</p>
<p><b>Size</b> is how large it is here and in the paper. <b>Regime</b> is how many threads ran on
how many cores: with more threads than cores a run times the work of all threads together, and not
what they gain side by side. <b>Evidence</b> is what stands behind it. A setting <b>fell behind</b>
when it was seen not to take 70 % of its own closed-loop throughput, offered at a steady rate; that
others kept up means no more than that they were not seen to fall behind. A pair of which both fell
behind is left out; where one alone kept up, the sign is its, and there is no ratio. None of the
three changes an answer.</p>
<p>In figures, a grey background stands where threads are more than cores, a pale point is noisy,
not steady or did not keep up, a caret at the edge is a latency at saturation, and a red cross is a
run that failed. <b>Grey dashes</b> are predicted and not measured. Variants of ours, which no paper
has, are in the wide form under each figure.</p>
<p>Compare the variants with each other and not with the papers' absolute values, which other
machines and other languages gave: each statement names the machine it was made on. A number that
the paper's text has lost is never filled in: its statement is judged by its order.</p>
"""


def section(data: PageData) -> str:
    """Return the section; the answers in it have the marks of the page."""
    text = HOW_TO_READ
    for answer in page.BADGES:
        text = text.replace(f"{{{answer}}}", page.badge(answer))
    text = text.replace("{equal}", f"{PRACTICALLY_EQUAL:g}").replace("{enough}", str(ENOUGH))
    return page.section("read", "How to read this page", text + _floors(data))


def _floors(data: PageData) -> str:
    """Return the noise floors of the machine, as the verdicts give them."""
    rows = []
    for floor in data.verdicts["floors"]:
        crowded = floor["oversubscribed"]
        threads = "more threads than cores" if crowded else "a core for every thread"
        apart = f"{floor['factor']:.3f}" if floor["pairs"] >= ENOUGH else "too few to say"
        rows.append((floor["of"], threads, apart, floor["pairs"]))
    if not rows:
        return "<p>No equal runs were made, so nothing says how far two of them lie apart.</p>"
    head = ("equal runs", "threads", "times apart, at most 95 of 100", "pairs of runs")
    return page.table(head, rows)
