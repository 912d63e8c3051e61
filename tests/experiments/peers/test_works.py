"""Every peer gives the oracle's rows, and an output that differs in one row is refused."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from experiments.families.pipeline.bench import serial_rows
from experiments.families.pipeline.inputs import Source
from experiments.peers import catalog
from experiments.peers.works import call_queries, shop_queries
from experiments.peers.works.band_join import BandJoin, digest_of_pairs
from experiments.peers.works.theta_join import ThetaJoin
from experiments.peers.works.windowed_counts import WindowedCounts
from operators import registry
from operators.contract import UsageError
from tests.experiments.peers.given import calls, clicks, keys, sales, streams
from tests.making_datasets import write_dataset

JOIN = {"keys": "uniform", "window": 200, "match_rate": 2}


def counts(folder, query="k-OI", role="meters", inputs=3) -> WindowedCounts:
    return WindowedCounts({"query": query, "inputs": inputs}, write_dataset(folder, role))


def band(**changed) -> BandJoin:
    variant = registry.variant("join", "b-plus-tree")
    settings = registry.family("join").resolve(variant, {**JOIN, **changed})
    return BandJoin(settings, keys())


def theta(**changed) -> ThetaJoin:
    variant = registry.variant("theta_join", "scale-join")
    given = {"density": 100, "window_s": 3, "purge": "opposite", **changed}
    settings = registry.family("theta_join").resolve(variant, given)
    return ThetaJoin(settings, streams())


# One of each, so that the serial run's kernels are compiled once.
SHOP = {"sales": sales(), "clicks": clicks()}
CALLS = calls()


def shop(query: str = "q3") -> shop_queries.ShopQuery:
    variant = registry.variant("pipeline", "ct")
    settings = registry.family("pipeline").resolve(variant, {"query": query})
    return shop_queries.ShopQuery(settings, SHOP["sales" if query in ("q1", "q15") else "clicks"])


def of_calls(query: str = "join") -> call_queries.CallQuery:
    variant = registry.variant("streamcloud", "subquery-cluster")
    settings = registry.family("streamcloud").resolve(variant, {"query": query, "density": 10})
    return call_queries.CallQuery(settings, CALLS)


WORKS = {
    "band_join": band,
    "theta_join": theta,
    "shop_queries": shop,
    "call_queries": of_calls,
}
# Works of several queries, and the rows of those that have few.
QUERIES = {"shop_queries": shop_queries.COLUMNS, "call_queries": call_queries.COLUMNS}
FEW = {"q2": 30, "q4": 1, "q15": 20}


@pytest.fixture
def work(request, tmp_path) -> catalog.Work:
    kind, *query = request.param.split()
    if kind == "windowed_counts":
        return counts(tmp_path / "data")
    return WORKS[kind](*query)


def output_of(name: str, kind: str, work: catalog.Work, request) -> pa.Table:
    peer = catalog.peer(name)
    if find_spec(peer.package) is None:
        pytest.skip(f"{peer.package} is not installed: make setup PEERS={name}")
    if name == "spark":
        # Its session is the one of all tests of a worker.
        request.getfixturevalue("spark")
    run = peer.work[kind](work.tables, work.settings, 2)
    run()
    return run()()


EACH = [
    pytest.param(name, kind, f"{kind} {query}".strip(), id=f"{name}-{kind}-{query}".strip("-"),
                 marks=[pytest.mark.xdist_group("spark")] if name == "spark" else [])
    for name in catalog.names() for kind in catalog.peer(name).work
    for query in QUERIES.get(kind, ("",))
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "work"), EACH, indirect=["work"])
def test_each_peer_gives_the_rows_of_the_oracle(name, kind, work, request):
    judged = work.judge(output_of(name, kind, work, request))
    assert judged.problem is None
    assert judged.digest == judged.oracle_digest != 0
    assert judged.outputs >= FEW.get(work.settings.get("query"), 101)


def test_counts_are_those_of_a_count_by_hand(tmp_path):
    work = counts(tmp_path / "data", "K-OI", "comments")
    times, codes = (work.tables["tuples"][name].to_pylist() for name in ("timestamp", "key"))
    advance, size = work.settings["advance"], work.settings["advance"] * work.settings["panes"]
    rows: dict[tuple[int, int], int] = {}
    for time, key in zip(times, codes, strict=True):
        start = time // advance * advance
        while start >= 0 and start > time - size:
            rows[start, key] = rows.get((start, key), 0) + 1
            start -= advance
    table = pa.table({
        "window_start": [start for start, _ in rows], "key": [key for _, key in rows],
        "value": list(rows.values()),
    })  # fmt: skip
    assert work.judge(table).problem is None


def test_pairs_are_those_of_the_definition():
    work = band()
    r, s = (work.tables[name]["x"].to_numpy() for name in "rs")
    near = np.abs(r[:, None] - s[None, :]) <= work.settings["half_width"]
    ahead = np.arange(len(s))[None, :] - np.arange(len(r))[:, None]
    window = work.settings["window"]
    pairs = np.argwhere(near & (ahead >= -window) & (ahead < window))
    table = pa.table({"r_position": pairs[::-1, 0], "s_position": pairs[::-1, 1]})
    assert work.judge(table).problem is None


def test_joined_tuples_are_those_of_the_definition():
    work = theta()
    r, s = (work.tables[name].to_pydict() for name in "rs")
    x, y, own = (np.array(r[name])[:, None] for name in ("x", "y", "time"))
    a, b, other = (np.array(s[name])[None, :] for name in ("a", "b", "time"))
    near = (np.abs(x - a) <= 10) & (y >= b - 10) & (y <= b + 10)
    pairs = np.argwhere(near & (np.abs(own - other) <= work.settings["span"]))
    ranks = np.array(r["rank"])[pairs[:, 0]], np.array(s["rank"])[pairs[:, 1]]
    assert work.judge(pa.table(dict(zip(("r_rank", "s_rank"), ranks, strict=True)))).problem is None
    swapped = pa.table(dict(zip(("s_rank", "r_rank"), ranks, strict=True)))
    assert work.judge(swapped).problem == "wrong output: a rank is none of its stream"


def test_the_digest_of_pairs_knows_who_is_of_which_stream():
    one, other = np.array([3, 5]), np.array([4, 4])
    assert digest_of_pairs(one, other) == digest_of_pairs(one[::-1], other)
    assert digest_of_pairs(one, other) != digest_of_pairs(other, one)


def changed(table: pa.Table, column: str, by: int) -> pa.Table:
    values = table[column].to_numpy().copy()
    values[7] += by
    return table.set_column(table.column_names.index(column), column, pa.array(values))


def without_values(table: pa.Table) -> pa.Table:
    name = table.column_names[-1]
    values = [None, *table[name].to_pylist()[1:]]
    return table.set_column(table.num_columns - 1, name, pa.array(values, pa.int64()))


def test_rows_of_calls_are_those_of_the_definition():
    work = of_calls()
    table = work.tables["calls"].to_pydict()
    columns = {name: np.array(values) for name, values in table.items()}
    ts, caller, start = (columns[name] for name in ("ts", "caller", "start"))
    apart = np.abs(ts[:, None] - ts[None, :])
    near = (apart <= work.settings["window"]) & (caller[:, None] == caller[None, :])
    one, other = np.nonzero(near & (start[:, None] < start[None, :]))
    across, up = (columns[name][one] - columns[name][other] for name in "xy")
    rows = np.maximum(ts[one], ts[other]), caller[one], start[other] - start[one], across**2 + up**2
    names = call_queries.COLUMNS["join"]
    assert work.judge(pa.table(dict(zip(names, rows, strict=True)))).problem is None


def test_carts_are_those_of_sessions_one_by_one():
    work = shop("q4")
    kinds = dict(zip(*(work.tables["pages"][name].to_pylist() for name in ("web_page_sk", "type")),
                     strict=True))  # fmt: skip
    sessions: dict[int, list[list[str]]] = {}
    last: dict[int, int] = {}
    for click in work.tables["clicks"].to_pylist():
        user, page = click["user_sk"], click["web_page_sk"]
        if user is None or page is None or click["sales_sk"] is not None:
            continue
        if user not in last or click["time"] - last[user] > 3_600:
            sessions.setdefault(user, []).append([])
        last[user] = click["time"]
        sessions[user][-1].append(kinds[page])
    left = [
        len(pages)
        for own in sessions.values()
        for pages in own
        if max([-1, *(n for n, page in enumerate(pages) if page == "dynamic")])
        > max([-1, *(n for n, page in enumerate(pages) if page == "order")])
    ]
    table = pa.table({"pages": [sum(left)], "sessions": [len(left)]})
    assert work.judge(table).problem is None and len(left) > 10


def right_output(kind: str, work: catalog.Work, request) -> pa.Table:
    if kind != "shop_queries":
        return output_of("arrow", kind, work, request)
    # Arrow has no such query: the oracle's own rows, from the last to the first.
    query = work.settings["query"]
    rows = serial_rows(Source(query, SHOP["clicks"]), work.tuples)[::-1]
    return pa.table(dict(zip(shop_queries.COLUMNS[query], rows.T, strict=True)))


@pytest.mark.parametrize("kind", ["shop_queries", "call_queries"])
def test_a_right_output_may_have_any_order(kind, request):
    work = WORKS[kind]()
    output = right_output(kind, work, request)
    order = np.random.default_rng(1).permutation(output.num_rows)
    judged = work.judge(output.take(order))
    assert judged.problem is None and judged.digest == judged.oracle_digest


WRONG = {
    "a row is missing": lambda table: table.slice(1),
    "a row is twice there": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "the first column differs": lambda table: changed(table, table.column_names[0], 1),
    "the last column differs": lambda table: changed(table, table.column_names[-1], 1),
    "a null": without_values,
    "no such column": lambda table: table.rename_columns(list("abcdefgh")[: table.num_columns]),
    "nothing": lambda table: table.slice(0, 0),
}


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize(
    ("kind", "work"), [(each, each) for each in ("windowed_counts", *WORKS)],
    indirect=["work"],
)  # fmt: skip
def test_a_wrong_output_is_refused(kind, work, how, request):
    judged = work.judge(WRONG[how](right_output(kind, work, request)))
    assert judged.problem is not None and judged.problem.startswith("wrong output")


def test_what_peers_cannot_do_is_refused(tmp_path):
    with pytest.raises(UsageError, match="compare k-OI or K-OI"):
        counts(tmp_path / "data", "k-OS")
    with pytest.raises(UsageError, match="two windows of 400 rows are needed"):
        band(window=400)
    with pytest.raises(UsageError, match="kind=self"):
        band(kind="self")
    with pytest.raises(UsageError, match="peers join at profile=even purge=opposite"):
        theta(purge="own")
    with pytest.raises(UsageError, match="peers answer the queries q1, q2, q3, q4, q15, received"):
        shop("parametric")
    with pytest.raises(UsageError, match="peers answer the queries map, .*, received query=relay"):
        of_calls("relay")
