"""What a figure's files are called, and which module draws it: all that planning needs to know.

Nothing here imports a drawing library, for which every start of Snakemake would wait.
"""

from __future__ import annotations

import pkgutil
from importlib.util import find_spec

from experiments.declare import Figure, paper_of
from experiments.judging.points import UsageError
from figures import forms

PICTURES = ("pdf", "svg", "png")
KINDS = (*PICTURES, "csv")
EXTENDED = "_extended"


def form_name(figure: Figure) -> str:
    """Return the name of the module that draws a figure: of its paper, or of the common forms.

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
