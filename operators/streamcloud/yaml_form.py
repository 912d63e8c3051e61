"""The query as YAML: the form that ``millrace replay streamcloud`` takes, read and written.

::

    query: busy-districts
    inputs:
      calls:    {time: ts, schema: {ts: int64, caller: int64, duration: int64, district: int64}}
    operators:
      long:     {filter: {input: calls, where: ["duration >= 60"]}}
      minutes:  {map: {input: long.0, columns: {district: district, minutes: "duration // 60"}}}
      busy:     {aggregate: {input: minutes, group_by: [district],
                             window: {time: 60, advance: 10},
                             columns: {calls: "count()", mean: "avg(minutes)"}}}
    outputs: [busy]

A name is an input, an operator, or ``operator.k`` for output k of a filter. Operators may be listed
in any order; that order is used for tie-breaking where the query leaves one open. ``_FORMS`` has
the keys of each operator, and the record of `operators.streamcloud.algebra` that it becomes: the
record documents and checks the keys.

All of YAML is read as text: ``on`` is a key and no truth value, ``010`` no octal number. Errors
name file, operator and key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from operators.contract import UsageError
from operators.streamcloud.algebra import (
    HASH,
    LARGER,
    Aggregate,
    CountWindow,
    Filter,
    Input,
    Join,
    Map,
    Node,
    Output,
    Product,
    Query,
    TimeWindow,
    Union,
)
from operators.streamcloud.checks import check_name
from operators.streamcloud.expressions import Called, Computed
from operators.streamcloud.schema import TIME, did_you_mean, listed
from operators.streamcloud.windows import ALIGNED, Window

_Taken = tuple[Output | Node, ...]
_QUERY_KEYS = ("query", "inputs", "operators", "outputs")


def read_query(source: str | Path | Mapping[str, Any]) -> Query:
    """Return the query of a YAML file, or of the mapping that such a file holds.

    Parameters
    ----------
    source : path or mapping

    Raises
    ------
    UsageError
        When it is invalid: file, operator, key, alternatives, and the remedy.
    """
    if isinstance(source, Mapping):
        return _query(source)
    if not isinstance(source, str | Path):
        raise UsageError(
            "a query is a Query, the path of a YAML file, or the mapping that such a file holds,"
            f" received {type(source).__name__}"
        )
    try:
        return _query(_load(Path(source)))
    except UsageError as error:
        # A quotation in the message may have several lines.
        raise UsageError(f"{source}: {' '.join(str(error).splitlines())}") from error.__cause__


def to_mapping(query: Query) -> dict[str, Any]:
    """Return the mapping from which `read_query` makes this query.

    Raises
    ------
    UsageError
        When it calls a function of a user, which YAML cannot express.
    """
    forms = {form.record: form for form in _FORMS.values()}
    return {
        "query": query.name,
        "inputs": {
            each.name: {
                "time": each.time,
                "schema": {
                    each.time if name == TIME else name: kind for name, kind in each.schema.columns
                },
            }
            for each in query.inputs
        },
        "operators": {
            each.name: {each.kind: forms[type(each)].write(each)} for each in query.operators
        },
        "outputs": [each.name for each in query.outputs],
    }


# --- the file -------------------------------------------------------------------------------------


class _Texts(yaml.BaseLoader):
    """Reads every word as text, and refuses duplicate keys, of which YAML would drop one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping whose keys are texts, each once."""
        found: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if not isinstance(key, str):
                raise UsageError(f"line {line}: a key is a word, and this is {key}")
            if key in found:
                raise UsageError(f'line {line}: key "{key}" is there twice: call one another')
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _load(path: Path) -> Any:
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Texts)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text: a query is a YAML file") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "cannot be read"
        raise UsageError(f"is not YAML{line}: {problem}") from None


# --- the query ------------------------------------------------------------------------------------


def _query(found: Any) -> Query:
    given = _keys("query", found, _QUERY_KEYS, _QUERY_KEYS)
    check_name(given["query"], "query")
    inputs = _mapping("inputs", given["inputs"])
    operators = _mapping("operators", given["operators"])
    for name in inputs:
        if name in operators:
            raise UsageError(f"{name}: an input and an operator have this name: call one another")
    asked = {name: _asked(name, operator) for name, operator in operators.items()}
    nodes: dict[str, Node] = {name: _input(name, each) for name, each in inputs.items()}
    for name in _in_order(asked, nodes):
        form, keys = asked[name]
        taken = [_output(f"{name}.{key}", each, nodes) for key, each in form.taken(name, keys)]
        nodes[name] = form.read(name, keys, tuple(taken))
    outputs = _list("outputs", given["outputs"])
    for name in outputs:
        _known("outputs", name, nodes)
    return Query(
        given["query"],
        tuple(_output("outputs", name, nodes) for name in outputs),
        tuple(nodes[name] for name in (*inputs, *operators)),
    )


def _input(name: str, found: Any) -> Input:
    given = _keys(name, found, ("time", "schema"), ("schema",))
    schema = _mapping(f"{name}.schema", given["schema"])
    time = given.get("time", TIME)
    if not isinstance(time, str) or time not in schema:
        raise UsageError(
            f'{name}.time: no column "{time}" in its schema ({listed(schema)}): say which one is'
            f" the time{did_you_mean(str(time), schema)}"
        )
    return Input(name, schema, time)


class _Asked(NamedTuple):
    form: _Form
    keys: Mapping[str, Any]


def _asked(name: str, found: Any) -> _Asked:
    """Return the kind of an operator, and the keys, checked."""
    check_name(name, "operator")
    given = _mapping(name, found)
    for kind in given:
        if kind not in _FORMS:
            raise UsageError(
                f'{name}: unknown kind "{kind}"; there are {listed(_FORMS)}'
                f"{did_you_mean(str(kind), _FORMS)}"
            )
    if len(given) > 1:
        raise UsageError(f"{name}: is {listed(given)}: an operator is of one kind")
    ((kind, keys),) = given.items()
    form = _FORMS[kind]
    return _Asked(form, _keys(f"{name}.{kind}", keys, form.keys, form.needed))


def _in_order(asked: Mapping[str, _Asked], inputs: Iterable[str]) -> list[str]:
    """Return the operators' names in topological order; refuse a cycle, and name it."""
    known = [*inputs, *asked]
    takes = {
        name: [_known(f"{name}.{key}", taken, known) for key, taken in form.taken(name, keys)]
        for name, (form, keys) in asked.items()
    }
    done: list[str] = []
    path: list[str] = []

    def reach(name: str) -> None:
        if name in done or name not in takes:
            return
        if name in path:
            around = " -> ".join([*path[path.index(name) :], name])
            raise UsageError(
                f"{name}: takes what is made of itself, a cycle (from taker to taken): {around};"
                " take one of these from elsewhere"
            )
        path.append(name)
        for taken in takes[name]:
            reach(taken)
        done.append(path.pop())

    for name in asked:
        reach(name)
    return done


def _known(where: str, taken: Any, known: Iterable[str]) -> str:
    """Return the operator or input that is named, directly or by one of the outputs."""
    node = str(taken).partition(".")[0]
    if node not in known:
        raise UsageError(
            f'{where}: no input or operator "{taken}"; there are {listed(known)}'
            f"{did_you_mean(node, known)}"
        )
    return node


def _output(where: str, taken: Any, nodes: Mapping[str, Node]) -> Output | Node:
    """Return the output of a name."""
    name, point, number = str(taken).partition(".")
    node = nodes[name]
    if not point:
        return node
    names = [each.name for each in node.outputs]
    if taken not in names:
        raise UsageError(f'{where}: no output "{taken}"; of {name} there is {listed(names)}')
    return Output(node, int(number))


# --- words of the form ----------------------------------------------------------------------------


def _mapping(where: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, Mapping) or not found:
        raise UsageError(f"{where}: must hold names and what they are, received {found!r}")
    return found


def _list(where: str, found: Any) -> list[Any]:
    """Return a list; a single word is a list of one."""
    if isinstance(found, str | int | float):
        found = [found]
    if not isinstance(found, Sequence) or not found:
        raise UsageError(f"{where}: must be a list, received {found!r}")
    return list(found)


def _keys(where: str, found: Any, keys: Sequence[str], needed: Sequence[str]) -> Mapping[str, Any]:
    """Return a mapping that has only these keys."""
    if not isinstance(found, Mapping):
        raise UsageError(f"{where}: must hold the keys {listed(keys)}, received {found!r}")
    for key in found:
        if key not in keys:
            raise UsageError(
                f'{where}: unknown key "{key}"; there are {listed(keys)}'
                f"{did_you_mean(str(key), keys)}"
            )
    for key in needed:
        if key not in found:
            raise UsageError(f'{where}: key "{key}" is missing; it must have {listed(needed)}')
    return found


def _window(where: str, found: Any) -> Window:
    given = _keys(where, found, ("time", "count", "advance", "start"), ())
    if ("time" in given) == ("count" in given):
        raise UsageError(f"{where}: give time: SIZE or count: SIZE")
    advance = given.get("advance")
    if "time" in given:
        return TimeWindow(given["time"], advance, given.get("start", ALIGNED))
    if "start" in given:
        raise UsageError(f"{where}: start is for windows of time: take it away")
    return CountWindow(given["count"], advance)


def _write_window(window: Window) -> dict[str, Any]:
    kind = "time" if isinstance(window, TimeWindow) else "count"
    found: dict[str, Any] = {kind: window.size}
    if window.advance is not None:
        found["advance"] = window.advance
    if getattr(window, "start", ALIGNED) != ALIGNED:
        found["start"] = window.start
    return found


def _text(where: str, computed: Computed) -> str:
    if isinstance(computed, Called):
        raise UsageError(f"{where}: {computed.text} is a function, and YAML has no words for it:"
                         " give the query as Python objects")  # fmt: skip
    return computed.text


def _write_columns(node: Map | Product) -> dict[str, str]:
    return {name: _text(f"{node.name}.columns.{name}", value) for name, value in node.columns}


# --- operators ------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """The form of one kind of operator.

    ``read(name, keys, taken)`` makes the record, ``taken`` being the outputs that it takes;
    ``write(record)`` returns the keys of a record.
    """

    record: type[Node]
    keys: tuple[str, ...]
    needed: tuple[str, ...]
    read: Callable[[str, Mapping[str, Any], _Taken], Node]
    write: Callable[[Any], dict[str, Any]]

    def taken(self, name: str, keys: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return the names of an operator's inputs, each with the key."""
        if "inputs" in self.keys:
            return [("inputs", each) for each in _list(f"{name}.inputs", keys["inputs"])]
        return [(key, keys[key]) for key in ("input", "left", "right") if key in self.keys]


def _read_map(name: str, keys: Mapping[str, Any], taken: _Taken) -> Map:
    return Map(name, taken, _mapping(f"{name}.columns", keys["columns"]))


def _write_map(node: Map) -> dict[str, Any]:
    return {"input": node.inputs[0].name, "columns": _write_columns(node)}


def _read_filter(name: str, keys: Mapping[str, Any], taken: _Taken) -> Filter:
    return Filter(name, taken, tuple(_list(f"{name}.where", keys["where"])))


def _write_filter(node: Filter) -> dict[str, Any]:
    where = [_text(f"{node.name}.where", each) for each in node.predicates]
    return {"input": node.inputs[0].name, "where": where}


def _read_union(name: str, keys: Mapping[str, Any], taken: _Taken) -> Union:
    return Union(name, taken)


def _write_union(node: Union) -> dict[str, Any]:
    return {"inputs": [each.name for each in node.inputs]}


def _read_aggregate(name: str, keys: Mapping[str, Any], taken: _Taken) -> Aggregate:
    group_by = tuple(_list(f"{name}.group_by", keys["group_by"])) if keys.get("group_by") else ()
    window = _window(f"{name}.window", keys["window"])
    columns = _mapping(f"{name}.columns", keys["columns"])
    return Aggregate(name, taken, window, columns, group_by)


def _write_aggregate(node: Aggregate) -> dict[str, Any]:
    columns = {}
    for name, function, argument in node.columns:
        of = "" if argument is None else _text(f"{node.name}.columns.{name}", argument)
        columns[name] = f"{function}({of})"
    found = {"input": node.inputs[0].name, "window": _write_window(node.window), "columns": columns}
    return found | ({"group_by": list(node.group_by)} if node.group_by else {})


def _of_pairs(name: str, keys: Mapping[str, Any], taken: _Taken) -> dict[str, Any]:
    return {
        "inputs": taken,
        "window": _window(f"{name}.window", keys["window"]),
        "columns": _mapping(f"{name}.columns", keys["columns"]),
        "where": keys.get("where"),
        "time": keys.get("time", LARGER),
    }


def _read_product(name: str, keys: Mapping[str, Any], taken: _Taken) -> Product:
    return Product(name, **_of_pairs(name, keys, taken))


def _write_product(node: Product) -> dict[str, Any]:
    left, right = node.inputs
    found: dict[str, Any] = {"left": left.name, "right": right.name}
    found |= {"window": _write_window(node.window), "columns": _write_columns(node)}
    if node.where is not None:
        found["where"] = _text(f"{node.name}.where", node.where)
    return found | ({"time": node.time} if node.time != LARGER else {})


def _read_join(name: str, keys: Mapping[str, Any], taken: _Taken) -> Join:
    on, method = _list(f"{name}.on", keys["on"]), keys.get("method", HASH)
    return Join(name, **_of_pairs(name, keys, taken), on=on, method=method)


def _write_join(node: Join) -> dict[str, Any]:
    found = _write_product(node) | {"on": [list(pair) for pair in node.on]}
    return found | ({"method": node.method} if node.method != HASH else {})


_PAIR_KEYS = ("left", "right", "window", "where", "columns", "time")
_PAIR_NEEDED = ("left", "right", "window", "columns")
_FORMS = {
    "map": _Form(Map, ("input", "columns"), ("input", "columns"), _read_map, _write_map),
    "filter": _Form(Filter, ("input", "where"), ("input", "where"), _read_filter, _write_filter),
    "union": _Form(Union, ("inputs",), ("inputs",), _read_union, _write_union),
    "aggregate": _Form(
        Aggregate,
        ("input", "group_by", "window", "columns"),
        ("input", "window", "columns"),
        _read_aggregate,
        _write_aggregate,
    ),
    "join": _Form(
        Join, (*_PAIR_KEYS, "on", "method"), (*_PAIR_NEEDED, "on"), _read_join, _write_join
    ),
    "product": _Form(Product, _PAIR_KEYS, _PAIR_NEEDED, _read_product, _write_product),
}
