"""``millrace replay join`` with any theta join whose loops other tests do not compile.

The loops of a variant take six seconds to compile. `test_theta_replay` has one variant of each
kind; here each run of the tests has all of them interpreted, and ``make test-full`` both ways.
"""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from experiments.commands.arguments import make_parser
from experiments.replay.theta_join import running
from experiments.replay.theta_join.request import make_request
from operators.running.run_threads import RunFailed
from operators.theta_join.family import SORT_FULL
from tests.covering import interpreted_is_enough
from tests.experiments.replay.theta_join.replaying import (
    CASES,
    LARGEST,
    VARIANTS,
    asked,
    at_the_edges,
    bands,
    command,
    expected,
    files,
    replay,
    stream,
    takes,
)

# On one worker, which compiles the loops of each variant once.
pytestmark = pytest.mark.xdist_group("theta_replay")


@interpreted_is_enough
@pytest.mark.parametrize("case", ["at random", "several streams with ties"])
def test_every_variant_has_the_rows_of_the_procedure(tmp_path, case):
    r, s, windows = CASES[case]
    for number, window in enumerate(windows):
        wanted = expected(r, s, **window)
        for place, variant in enumerate(VARIANTS):
            if takes(variant, len(r) + len(s), window):
                threads = ("--threads", 1 + (number + place) % 5)
                options = (*files(tmp_path, r, s), *bands(), *asked(window), *threads)
                assert replay(tmp_path, variant, *options, name=f"{number} {variant}") == wanted


@interpreted_is_enough
def test_a_band_of_no_width_is_equality_and_one_band_is_enough(tmp_path):
    r, s = [stream(32, 90, 100, wide=4)], [stream(33, 90, 100, wide=4)]
    options = (*files(tmp_path, r, s), "--window-count", 20)
    for variant in VARIANTS:
        found = replay(tmp_path, variant, *options, *bands(("0",)), name=variant)
        assert found == expected(r, s, ("0",), count=20)
        assert all(r[0][row[2]][1] == s[0][row[4]][1] for row in found)


@interpreted_is_enough
def test_a_table_takes_numbers_to_the_edges_of_64_bits(tmp_path):
    r, s = at_the_edges()
    options = (*files(tmp_path, r, s), "--window-count", 9)
    for width in (1, LARGEST):
        found = replay(tmp_path, "scale-join-hash", *options, *bands((width,)), name=str(width))
        assert found == expected(r, s, (width,), count=9)


def requested(folder, variant, *options):
    parsed = make_parser().parse_args(command(folder, variant, *options))
    return make_request(parsed.variant, parsed)


@interpreted_is_enough
def test_a_buffer_that_is_too_small_for_the_pairs_is_made_larger(tmp_path, monkeypatch):
    rows = [(place, 0, 0) for place in range(150)]
    options = (*files(tmp_path, [rows], [rows]), *bands(), "--window", 100)
    request = requested(tmp_path, "handshake-low-latency", *options)
    request.parameters["sort"] = 1
    sizes = []
    monkeypatch.setattr(running, "MORE", 4)
    run = running._run
    monkeypatch.setattr(
        running, "_run", lambda *given: (sizes.append(given[2]["sort"]), run(*given))
    )
    done = running.replay(request)
    assert done.rows == len(expected([rows], [rows], span=100, purge="opposite"))
    assert sizes == [4**n for n in range(len(sizes))] and len(sizes) > 1
    # Abandoned rows are not in the file.
    assert pq.read_table(request.output).num_rows == done.rows


@interpreted_is_enough
def test_what_has_no_larger_buffer_fails(tmp_path):
    options = (*files(tmp_path, [[]], [[]]), *bands(), "--window", 5)
    request = requested(tmp_path, "handshake-low-latency", *options)
    with pytest.raises(RunFailed, match="more than 16777216 pairs wait .* take scale-join"):
        running._give_more(request, {"sort": 1 << 24}, RunFailed("full", SORT_FULL))
    with pytest.raises(RunFailed, match="full"):
        request = requested(tmp_path, "scale-join", *options)
        running._give_more(request, request.parameters, RunFailed("full", SORT_FULL))
