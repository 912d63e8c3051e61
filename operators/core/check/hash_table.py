"""Scenarios of the hash table, which belongs to one thread at a time."""

from __future__ import annotations

from typing import Any

from operators.check.scenario import Call, Scenario
from operators.contract import ACCEPTED, Variant
from operators.core import hash_table
from operators.core.check.handed_on import HandedOn, calls, every_script, handed_on
from operators.core.hash_table import NO_ENTRY, Tables
from operators.core.integers import mix64
from operators.core.reference import TableSpecification


def scenarios(variant: Variant) -> list[Scenario]:
    """Return the scenarios of a table of two keys: probing, full, and its generations' end."""
    tables = variant.operations
    near, far, other = _same_home(3, entries=4)

    def make() -> Tables:
        return tables.make_state(1, 2)

    def at_the_end() -> Tables:
        made = make()
        made.heads[hash_table.GENERATION] = (hash_table.LAST_GENERATION - 2) << hash_table.KEY_BITS
        return made

    def inside(state: HandedOn, call: Call) -> Any:
        return _in_table(tables.calls, state.inside, call)

    def scenario(name: str, *programs: tuple[Call, ...], make: Any = make, **more: Any):
        return handed_on(
            name,
            variant,
            make,
            inside,
            programs,
            specification=lambda: TableSpecification(2),
            **more,
        )

    count = {key: ("count", key) for key in (near, far, other)}
    steps = calls(count[near], count[far], ("find", far), "reset")
    return [
        scenario(
            "handed-on",
            calls(count[near], count[far], "members"),
            calls(count[far], count[other], ("find", near)),
        ),
        scenario("emptied", calls(count[near], "reset", count[far]), calls(count[near]) * 3),
        scenario(
            "generations-end",
            calls("reset", count[near], "reset"),
            calls(count[near], count[far], "reset"),
            make=at_the_end,
        ),
        every_script(
            variant,
            make,
            inside,
            lambda state: tables.calls["reset"](state.inside, 0),
            lambda: TableSpecification(2),
            steps,
        ),
        scenario(
            "three-threads",
            calls(count[near], "reset"),
            calls(count[far], ("find", near)),
            calls(count[other], "members"),
            deep=True,
        ),
    ]


def _same_home(count: int, entries: int) -> list[int]:
    """Return keys that belong to one entry, so that all but the first are probed for."""
    home = mix64(1) & (entries - 1)
    return [key for key in range(1, 100) if mix64(key) & (entries - 1) == home][:count]


def _in_table(table_calls: Any, tables: Tables, call: Call) -> Any:
    if call.name == "reset":
        table_calls["reset"](tables, 0)
        return ACCEPTED
    if call.name == "members":
        members = range(table_calls["member_count"](tables, 0))
        places = [table_calls["member_place"](tables, 0, member) for member in members]
        return tuple(int(table_calls["key_at"](tables, place)) for place in places)
    name = "find" if call.name == "find" else "find_or_insert"
    place = table_calls[name](tables, 0, *call.arguments)
    if place == NO_ENTRY:
        return NO_ENTRY
    if call.name == "count":
        tables.entries[place + 1] += 1
    return int(tables.entries[place + 1])
