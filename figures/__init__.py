"""From raw results to figures and the report: nothing here measures, or depends on an operator.

``load`` reads the measurements; the form of a figure (``forms``, or ``<paper>`` for figures that no
common form can draw) selects and draws them with the help of ``style`` and ``plot``; ``draw``
writes the files, which ``files`` names; ``report`` writes the page of a set of results and
``index_page`` that of all sets.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
