"""The peers: a module each, which ends with ``PEER`` and imports its engine when it is asked to."""

from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
