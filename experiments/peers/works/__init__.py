"""The kinds of work that peers do: a module each, with ``make(settings, dataset)``.

``make`` returns a ``experiments.peers.catalog.Work``: what a peer is given, and how its output is
judged.
"""
