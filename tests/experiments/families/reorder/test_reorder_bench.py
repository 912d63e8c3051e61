"""The bench of reorder buffers: the same work for each, and a receiver that detects errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments import families
from experiments.families import saturated_source
from experiments.families.reorder import bench as module
from experiments.families.saturated_source import SPEED_UP, SPEED_UPS, WORKER_TIME
from experiments.records.columns import CLOSED, OPEN
from experiments.timing.bench import Request
from experiments.timing.threads import hexadecimal
from operators import registry
from operators.contract import ACCEPTED, UsageError
from operators.core.jit import INTERPRETED, inlined
from operators.core.work import matrix_work
from operators.reorder.family import Sending
from operators.running.calibration import products_of

TOTAL = 6_000 if not INTERPRETED else 600


def ready(**settings):
    return families.ready("reorder", "non-blocking", {"slots": 16, **settings})


def broken(send):
    """Return a ready bench over a buffer with `send` instead of the variant's."""
    bench = ready(workers=2, work_us=0.5)
    variant = registry.variant("reorder", "non-blocking")
    operations = variant.operations._replace(make_sending=lambda receive: Sending(send, send))
    bench.variant = replace(variant, id="broken", operations=operations)
    return bench


@inlined
def send_at_once(state, receiver, serial, output):
    return module.receiver.receive(receiver, serial, output)


@inlined
def send_nothing(state, receiver, serial, output):
    return ACCEPTED


def test_outputs_out_of_turn_are_seen(monkeypatch):
    taken = broken(send_at_once)
    # One worker cannot be early; the counter of another run makes the second serial the first.
    start = taken.start

    def from_the_second(total, schedule, phase=CLOSED):
        started = start(total, schedule, phase)
        started.roles[0].arguments[1][0] = 1
        return started

    monkeypatch.setattr(taken, "start", from_the_second)
    problem = taken.measure(Request(1.0, tuples=TOTAL)).output.problem
    assert "received out of turn" in problem


def test_outputs_that_are_lost_are_seen():
    output = broken(send_nothing).measure(Request(1.0, tuples=TOTAL)).output
    assert output.problem == f"wrong output: 0 of {TOTAL} outputs were received"


def test_other_outputs_are_seen(monkeypatch):
    bench = ready()
    monkeypatch.setattr(module, "outputs_of", lambda products, total: np.zeros_like(products))
    output = bench.measure(Request(1.0, tuples=TOTAL)).output
    assert output.problem == "wrong output: other outputs than those of a serial run"


def test_a_closed_run_has_a_throughput_and_an_open_one_a_latency():
    bench = ready(work_us=0.2)
    row = bench.run(Request(0.05, tuples=TOTAL))
    assert row["valid"], row["invalid_reason"]
    assert row["throughput_tps"] > 0
    assert row["latency_ms_mean"] is None
    rate = 20_000.0 if not INTERPRETED else 500.0
    row = bench.run(Request(0.2, rate, OPEN))
    assert row["valid"], row["invalid_reason"]
    assert row["latency_samples"] > 0
    assert 0 < row["latency_ms_p50"] < 1_000


@pytest.mark.parametrize("kind", ["exponential", "constant"])
def test_work_has_the_mean_that_was_asked_for_and_follows_from_the_seed(kind):
    products = module.work_of(kind, 50, seed=3)
    assert products.mean() == pytest.approx(module.products_of(50), rel=0.02)
    np.testing.assert_array_equal(products, module.work_of(kind, 50, seed=3))
    spread = products.std() / products.mean()
    assert spread == pytest.approx(1.0 if kind == "exponential" else 0.0, abs=0.1)


def test_variants_of_one_seed_have_the_same_outputs():
    digests = {
        families.ready("reorder", variant.id, {"work_us": 0.1, "slots": 64})
        .measure(Request(1.0, tuples=TOTAL)).output.digest
        for variant in registry.variants("reorder")
    }  # fmt: skip
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be between 1 and 64, received 0"),
        ({"work_us": -1}, "work_us must be between 0 and 1000000 us, received -1"),
        (
            {"work_us": "0.0001"},
            "work_us must be a number of at most 3 decimals, received '0.0001'",
        ),
        ({"work": "normal"}, "work must be one of exponential, constant, received 'normal'"),
        ({"slots": 0}, "slots must be between 1 and 1048576, received 0"),
        ({"sigma": 1}, "reorder non-blocking has no setting 'sigma'"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises(UsageError, match=message.replace(".", r"\.")):
        ready(**settings)


# --- speed-up and worker time --------------------------------------------------------------------


@pytest.mark.timed
def test_a_speed_up_is_over_a_serial_run_of_the_same_work():
    bench = ready(workers=1, work="constant", work_us=20, send_us=0)
    row = bench.run(Request(0.05, tuples=1_000, phase=SPEED_UP))
    assert row["digest"] == row["oracle_digest"]
    assert row["serial_seconds"] > 0
    if not INTERPRETED:
        # A thousand tuples of 20 us. A wide range: other programs may have the core, in either of
        # the two.
        assert 0.01 < row["serial_seconds"] < 0.2
        assert 0.1 < SPEED_UPS.compute(row) < 5
        assert row["valid"] == (SPEED_UPS.compute(row) <= 1)
    assert bench.run(Request(0.05, tuples=1_000))["serial_seconds"] is None


def test_a_serial_run_has_the_digest_of_the_workers():
    bench = ready(workers=2)
    closed, again = (bench.run(Request(0.05, tuples=TOTAL, phase=p)) for p in (CLOSED, SPEED_UP))
    out = np.zeros(1, dtype=np.int64)
    module.run_serially(bench._products, products_of(bench.settings["send_us"]), TOTAL, out)
    assert closed["digest"] == again["digest"] == hexadecimal(int(out[0]))


def test_the_runs_of_a_round_divide_by_one_serial_time(monkeypatch):
    timed = []

    def timed_serial_run(products, sends, total):
        timed.append(total)
        return 1e-6 * module.work_until(products, sends, total) * len(timed)

    monkeypatch.setattr(saturated_source, "_timed", {})
    monkeypatch.setattr(module, "timed_serial_run", timed_serial_run)

    def seconds(total, round, **settings):
        bench = ready(workers=1, **settings)
        row = bench.run(Request(0.05, tuples=total, phase=SPEED_UP, round=round))
        sends = products_of(bench.settings["send_us"])
        return 1e6 * row["serial_seconds"] / module.work_until(bench._products, sends, total)

    # The first of two, which is faster by the fake clock; proportionally more for a longer run.
    assert seconds(300, 1) == pytest.approx(1)
    assert seconds(500, 1) == pytest.approx(1)
    assert timed == [300, 300]
    # The next round, other work, and a separate run each have a separate serial time.
    assert seconds(500, 2) == pytest.approx(3)
    assert seconds(300, 2, work_us=2) == pytest.approx(5)
    assert [seconds(300, None), seconds(300, None)] == pytest.approx([7, 9])


def test_the_work_of_a_run_begins_again_behind_the_last_place():
    products = np.arange(5, dtype=np.int64)
    assert module.work_until(products, 2, 12) == 2 * 10 + 0 + 1 + 12 * 3


@pytest.mark.parametrize(
    ("seconds", "threads", "fault"),
    [(1.9, 2, False), (2.1, 2, False), (2.3, 2, True), (1.2, 1, True), (2.9, 4, True)],
)
def test_a_speed_up_that_the_cores_do_not_allow_is_a_fault_of_the_run(
    monkeypatch, seconds, threads, fault
):
    monkeypatch.setattr(saturated_source.pinning, "cores", lambda: 2)
    # A thousand tuples in a second.
    row = {"tuples": 1_000, "throughput_tps": 1e3, "valid": True, "invalid_reason": None}
    found = saturated_source.with_speed_up(row, seconds, threads)
    assert SPEED_UPS.compute(found) == pytest.approx(seconds)
    assert found["valid"] == (not fault)
    if fault:
        told = f"a speed-up of {seconds:.2f} where the cores allow {min(threads, 2)}: "
        assert found["invalid_reason"].startswith(told)
    # An earlier error stays the reported one.
    wrong = row | {"valid": False, "invalid_reason": "wrong output"}
    assert saturated_source.with_speed_up(wrong, 9.0, threads)["invalid_reason"] == "wrong output"


def test_worker_time_is_that_of_all_workers():
    row = {"settings": {"workers": 4}, "throughput_tps": 2e5}
    assert WORKER_TIME.compute(row) == pytest.approx(20.0)
    assert WORKER_TIME.compute(row | {"throughput_tps": None}) is None


def test_outputs_are_worked_out_as_far_as_runs_come(monkeypatch):
    monkeypatch.setattr(module, "_worked", {})
    products = module.work_of("exponential", 1, seed=9)
    some = module.outputs_of(products, 10).copy()
    assert some[:10].all() and not some[10:].any()
    more = module.outputs_of(products, 30)
    assert more[10:30].all() and not more[30:].any()
    assert module.outputs_of(products, 20) is more
    wanted = [matrix_work(place, int(products[place])) for place in range(30)]
    assert list(more[:30]) == wanted
    # Work starts over after the last position.
    assert module.outputs_of(products, 3 * len(products)).all()
