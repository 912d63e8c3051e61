"""Shorter failing schedules: a random one that fails is reduced to few switches of threads.

An exploration raises its bounds one by one, so that its first failure has the fewest preemptions. A
random schedule has dozens of them, of which two or three matter. Each block of steps of one thread
is left out in turn, so that the thread takes these steps in its next block; the shorter schedule is
kept when the same check fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from operators.check.explore import Explorer
from operators.check.scenario import DoesNotFit, EndlessLoop, Failure
from operators.check.schedules import Schedule, Turns, parse_schedule

# Schedules that are tried; each is a run.
MOST_RUNS = 300

# A thread and how many steps it takes in a row.
Blocks = list[tuple[int, int]]
# By thread and number of the step within the thread, the draws.
Draws = dict[tuple[int, int], list[int]]


def shorten(explorer: Explorer, failure: Failure) -> Failure:
    """Return the failure of a schedule with as few blocks and draws as are needed.

    A loop without an end is returned as it is: each try would take seconds.

    Parameters
    ----------
    explorer : Explorer
        The one that met the failure; the tally does not change, since the runs fail.
    failure : Failure
    """
    if isinstance(failure, EndlessLoop):
        return failure
    schedule = parse_schedule(failure.schedule)
    blocks = _blocks_of(schedule)
    draws = _draws_of(schedule, blocks)
    runs = 0
    shorter = True
    while shorter and runs < MOST_RUNS:
        shorter = False
        for fewer, kept in _shorter(blocks, draws):
            runs += 1
            found = _failure_of(explorer, fewer, kept)
            if found is not None and found.check == failure.check:
                # The run may have taken up again what was left out, or have ended earlier.
                schedule = parse_schedule(found.schedule)
                ran = _blocks_of(schedule)
                drew = _draws_of(schedule, ran)
                if (len(ran), len(drew)) < (len(blocks), len(draws)):
                    failure, blocks, draws, shorter = found, ran, drew, True
                    break
            if runs >= MOST_RUNS:
                break
    return failure


def _blocks_of(schedule: Schedule) -> Blocks:
    begins = sorted(schedule.turns)
    # A failure before the first step has no block.
    ends = [*begins[1:], schedule.steps][: len(begins)]
    return [(schedule.turns[begin], end - begin) for begin, end in zip(begins, ends, strict=True)]


def _steps_of(blocks: Blocks) -> list[tuple[int, int]]:
    """Return for each step the thread, and the number of the step within the thread."""
    taken: dict[int, int] = {}
    steps = []
    for thread, length in blocks:
        for _ in range(length):
            steps.append((thread, taken.get(thread, 0)))
            taken[thread] = taken.get(thread, 0) + 1
    return steps


def _draws_of(schedule: Schedule, blocks: Blocks) -> Draws:
    steps = _steps_of(blocks)
    return {steps[step]: draws for step, draws in schedule.late.items() if step < len(steps)}


def _shorter(blocks: Blocks, draws: Draws) -> Iterator[tuple[Blocks, Draws]]:
    """Yield schedules without one draw, and without one block."""
    for step in draws:
        yield blocks, {other: each for other, each in draws.items() if other != step}
    for number in range(len(blocks) - 1, -1, -1):
        yield _without(blocks, number), draws


def _without(blocks: Blocks, number: int) -> Blocks:
    """Return blocks without one, whose steps go into the thread's next block, if there is any."""
    thread, length = blocks[number]
    later = next((n for n in range(number + 1, len(blocks)) if blocks[n][0] == thread), None)
    merged: Blocks = []
    for place, (other, steps) in enumerate(blocks):
        if place == number:
            continue
        steps += length if place == later else 0
        if merged and merged[-1][0] == other:
            merged[-1] = other, merged[-1][1] + steps
        else:
            merged.append((other, steps))
    return merged


def _failure_of(explorer: Explorer, blocks: Blocks, draws: Draws) -> Failure | None:
    """Run a schedule; return the failure, or None where none shows or the schedule does not fit."""
    turns, step = {}, 0
    for thread, length in blocks:
        turns[step] = thread
        step += length
    number = {each: step for step, each in enumerate(_steps_of(blocks))}
    late = {number[each]: list(chosen) for each, chosen in draws.items() if each in number}
    try:
        explorer.run(Turns(turns), late)
    except DoesNotFit:
        return None
    except Failure as failure:
        return failure
    return None
