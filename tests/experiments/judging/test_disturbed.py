"""A run whose cores lay otherwise than in most of its process is left out, as noisy ones are."""

from __future__ import annotations

from tests.invented import points_in, row


def throughputs(rows):
    return [point for point in points_in("13", rows) if point.quantity == "throughput_tps"]


def test_a_run_between_other_cores_than_most_of_its_process_is_disturbed():
    def rounds(*ways, others=(), **more):
        return [
            *(row("13", "mq", 20, round=n, throughput_tps=2e6 if way == 60 else 1e6,
                  transfer_ns=way, **more) for n, way in enumerate(ways, start=1)),
            *(row("13", "mqlf", 20, round=n, transfer_ns=way)
              for n, way in enumerate(others, start=1)),
        ]  # fmt: skip

    def found(rows):
        return list(next(p for p in throughputs(rows) if p.variant == "mq").values.values())

    assert found(rounds(60, 270, 60)) == [2e6, 2e6]
    # What most runs of the process had counts, and not what most of one setting had.
    assert found(rounds(60, 270, others=(60, 60, 61))) == [2e6]
    assert found(rounds(60, 270, others=(270, 271, 270))) == [1e6]
    # One thread has nobody to hand a line to.
    assert found(rounds(60, 270, 60, threads=1)) == [2e6, 1e6, 2e6]
    # As with what the row says itself, a setting that was mostly disturbed keeps all.
    assert sorted(found(rounds(270, 270, 60, others=(60,) * 5))) == [1e6, 1e6, 2e6]
    # In another process others may be usual; a machine that does not tell disturbs nobody.
    far = [each | {"repetition": 2} for each in rounds(270, 270)]
    assert sorted(found([*rounds(60, 60), *far])) == [1e6, 1e6, 2e6, 2e6]
    assert len(found(rounds(None, None, None))) == 3
