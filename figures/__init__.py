"""From raw results to figures and the report: nothing here measures, and nothing knows an operator.

``load`` reads what was measured, ``<paper>/fig_NN`` selects and draws one figure each with the help
of ``style`` and ``plot``, ``draw`` writes the files, ``report`` the page that shows them all.
"""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
