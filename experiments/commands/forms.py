"""The options of ``millrace replay``: those of the form that family and variant select.

A family provides a form (``experiments/replay/<family>``). Families that share a name on the
command line look like one operator to the user; there the variant selects the form.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType

from experiments import discovery
from operators import registry
from operators.contract import UsageError

JSON = "print JSON, and nothing else, on stdout"
VARIANT = "VARIANT"
SEE = "see millrace list variants"
HELP = ("-h", "--help")
HELP_WIDTH = 90


def add_families(parser: argparse.ArgumentParser, given: Sequence[str]) -> None:
    """Add a parser for each command-line name of a family with a form; see ``Parser.later``."""
    forms = {family: discovery.replay_of(family) for family in discovery.replayed()}
    parser.epilog = "\n".join(form.EXAMPLES for form in forms.values())
    named = parser.add_subparsers(dest="family", metavar="FAMILY", required=True)
    names = set(map(registry.called, forms))
    for name in sorted(names):
        meant = {family: forms[family] for family in registry.meant_by(name) if family in forms}
        first, *others = (form.ABOUT for form in meant.values())
        about = "; or ".join([first, *(each[:1].lower() + each[1:] for each in others)])
        named.add_parser(name, help=about, later=partial(_add_form, name, meant))
    for family in sorted(forms.keys() - names):
        # By id, which is accepted but not listed.
        named.add_parser(family, later=partial(_add_form, family, {family: forms[family]}))


def _add_form(
    name: str,
    forms: Mapping[str, ModuleType],
    parser: argparse.ArgumentParser,
    given: Sequence[str],
) -> None:
    """Add the options of the form that the given words select."""
    family = _family_meant(forms, given)
    if family is None:
        _add_choice(name, forms, parser, given)
        return
    form = forms[family]
    parser.description, parser.epilog = f"{form.ABOUT}.", form.EXAMPLES
    parser.set_defaults(family=family)
    parser.add_argument("--json", action="store_true", help=JSON)
    # Most families take a variant; a form that takes something else describes it.
    metavar, meaning = getattr(form, "NAMED", (VARIANT, SEE))
    parser.add_argument("variant", metavar=metavar, help=meaning)
    form.add_arguments(parser)


def _family_meant(forms: Mapping[str, ModuleType], given: Sequence[str]) -> str | None:
    """Return the family that has the named variant, or the only family."""
    if len(forms) == 1:
        return next(iter(forms))
    whose = {each.id: family for family in forms for each in registry.variants(family)}
    # The variant comes first, or after options: then it is the first word that names one.
    words = given if given and given[0].startswith("-") else given[:1]
    return next((whose[word] for word in words if word in whose), None)


def _add_choice(
    name: str,
    forms: Mapping[str, ModuleType],
    parser: argparse.ArgumentParser,
    given: Sequence[str],
) -> None:
    """Prepare the help that lists the variants of each form.

    Raises
    ------
    UsageError
        When no help is requested: a variant is missing, or unknown.
    """
    if not any(word in HELP for word in given):
        if given and not given[0].startswith("-"):
            # A variant of a family with this name but without a form, if it is known at all.
            variant = registry.named(name, given[0])
            raise UsageError(f"{name} {variant.id} cannot be replayed; see {parser.prog} --help")
        raise UsageError(f"name the {VARIANT} behind {name}; {SEE}, or {parser.prog} --help")
    parser.usage = f"{parser.prog} {VARIANT} ..."
    parser.add_argument("variant", metavar=VARIANT, help="says which form is meant, see below")
    told = []
    for family, form in forms.items():
        ids = [each.id for each in registry.variants(family)]
        lines = textwrap.wrap(", ".join(ids), HELP_WIDTH, break_on_hyphens=False)
        told.append("\n  ".join([f"{form.ABOUT}:", *lines]))
        told.append(f"  options: {parser.prog} {VARIANT} --help, with one of these\n")
    parser.epilog = "\n".join([*told, *(form.EXAMPLES for form in forms.values())])
