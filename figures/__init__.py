"""From raw results to figures and the report: nothing here measures, and nothing knows an operator.

``load`` reads what was measured, the form of a figure (``forms``, or ``<paper>`` for what no form
can say) selects and draws it with the help of ``style`` and ``plot``, ``draw`` writes the files,
which ``files`` names, ``report`` the page of a set of results and ``front`` that of all sets.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
