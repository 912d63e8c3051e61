"""The names of a figure's files and of the module that draws it: all that planning needs.

Nothing here imports a drawing library, because every start of Snakemake would wait for the import.
"""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec

from experiments import series
from experiments.declare import Figure, paper_of
from experiments.judging.points import UsageError
from figures import forms

PICTURES = ("pdf", "svg", "png")
KINDS = (*PICTURES, "csv")
EXTENDED = "_extended"
# The stem of a paper's forest plot, which shows verdicts and no figure of the paper.
FOREST = "forest"
# The stem of the figure of peers, which only a run that names peers draws.
PEERS = "fig_peers"
# The stem of the picture of the machine, one a set of results.
MACHINE = "machine"
# The answers of a set to the questions about designs, beside the page of the set.
ANSWERS = "answers.json"


def forms_of(figure: Figure) -> tuple[str, ...]:
    """Return the suffixes of a figure's file names, one for each form of the figure.

    An extended form counts only if it has lines or quantities that the paper's form lacks.
    """
    more = set(series.measured(figure)) - set(figure.lines)
    more |= set(figure.extended_quantities) - set(figure.quantities)
    return ("", EXTENDED) if more else ("",)


def form_name(figure: Figure) -> str:
    """Return the name of the module that draws a figure: of the paper, or of the common forms.

    Raises
    ------
    UsageError
        When neither has a form of that name, or the figure is of no paper.
    """
    paper = paper_of(figure)
    for place in (f"figures.{paper}", forms.__name__):
        if find_spec(place) and find_spec(f"{place}.{figure.form}"):
            return f"{place}.{figure.form}"
    common = sorted(module.name for module in pkgutil.iter_modules(forms.__path__))
    raise UsageError(
        f"figure {figure.id} of {paper} has the unknown form {figure.form!r}; there are:"
        f" {', '.join(common)}, and modules of figures/{paper}"
    )
