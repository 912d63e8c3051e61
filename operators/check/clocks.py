"""Vector clocks, the edges of C11's happens-before, and the data races that they show.

Edges come only from release and acquire or stronger. Each word carries the clock of the release
sequence of the current value: a store without release ends the sequence, a read-modify-write
continues it. Fences hand over the clocks of the relaxed accesses around them. Sequential
consistency of single accesses adds no edge.
"""

from __future__ import annotations

from operators.check.scenario import Failure
from operators.check.schedules import letter
from operators.check.shared_memory import NOBODY, THREAD_BITS, THREAD_MASK, Words
from operators.core.atomics import ACQ_REL, ACQUIRE, RELEASE, SEQ_CST

TICK = 1 << THREAD_BITS
CLOCKS = NOBODY + 1
RELEASES = (RELEASE, ACQ_REL, SEQ_CST)
ACQUIRES = (ACQUIRE, ACQ_REL, SEQ_CST)


class Clocks:
    """The clocks of a run's threads and words.

    Attributes
    ----------
    clock : list of int
        The running thread's vector clock; entry NOBODY is below all.
    epoch : int
        The running thread and the entry for it in `clock`.
    released : dict
        By word the release that the value carries: a clock, the releasing thread and the time;
        NOBODY if the clock joins several releases.
    before_fence, behind_fence : list
        By thread the clock of the last release fence, and the releases read by relaxed loads, which
        an acquire fence would take.
    """

    count: int

    def begin_clocks(self) -> None:
        """Reset the clocks: every thread knows nothing but itself."""
        count = self.count
        self.clocks = [[0] * CLOCKS for _ in range(count)]
        for thread, clock in enumerate(self.clocks):
            clock[thread], clock[NOBODY] = 1, -2
        self.released: dict[int, tuple[list[int], int, int]] = {}
        self.before_fence: list[list[int] | None] = [None] * count
        self.behind_fence: list[list[int] | None] = [None] * count
        self.trace: list[int] = []
        self.epochs: list[int] = []
        self.lost: set[int] = set()
        self._by_word: dict[int, list[int]] = {}
        self._listed = 0

    def turn_to(self, thread: int) -> None:
        """Make `thread` the running one."""
        self.thread = thread
        self.clock = self.clocks[thread]
        self.epoch = self.clock[thread] << THREAD_BITS | thread

    # --- edges ------------------------------------------------------------------------------------

    def join(self, other: list[int], into: list[int]) -> None:
        """Raise each entry of a clock to that of another."""
        for thread in range(self.count):
            if other[thread] > into[thread]:
                into[thread] = other[thread]

    def tick(self) -> None:
        """Advance the running thread's clock, so that later steps are not part of the release."""
        self.clock[self.thread] += 1
        self.epoch += TICK

    def acquire(self, released: tuple[list[int], int, int]) -> None:
        """Join the clock of a release into the running thread's."""
        clock, by, at = released
        if self.clock[by] < at:
            self.join(clock, self.clock)

    def see(self, key: int, order: int) -> None:
        """Take over the release that the word at `key` carries, as a read of `order` does."""
        self.take_release(self.released.get(key), order)

    def take_release(self, released: tuple[list[int], int, int] | None, order: int) -> None:
        """Take over the release that a read value carries, now or at an acquire fence."""
        if released is None:
            return
        if order in ACQUIRES:
            self.acquire(released)
        else:
            seen = self.behind_fence[self.thread]
            if seen is None:
                seen = self.behind_fence[self.thread] = [0] * CLOCKS
            self.join(released[0], seen)

    def hand_over(self, order: int) -> tuple[list[int], int, int] | None:
        """Return the release that a store of `order` heads: clock, thread and time."""
        if order in RELEASES:
            given = self.clock.copy(), self.thread, self.clock[self.thread]
            self.tick()
            return given
        fenced = self.before_fence[self.thread]
        return None if fenced is None else (fenced, NOBODY, -1)

    def publish(self, key: int, release: tuple[list[int], int, int] | None) -> None:
        """Let the word at `key` carry `release`, or none."""
        if release is None:
            self.released.pop(key, None)
        else:
            self.released[key] = release

    def continue_release(self, key: int, order: int) -> None:
        """Let a read-modify-write carry on the release of the value it replaced."""
        self.publish(key, self.joined(self.released.get(key), self.hand_over(order)))

    def joined(
        self, before: tuple[list[int], int, int] | None, added: tuple[list[int], int, int] | None
    ) -> tuple[list[int], int, int] | None:
        """Return the release of an update: that of the replaced value and that of the update."""
        if before is None or added is None:
            return added or before
        both = added[0].copy()
        self.join(before[0], both)
        return both, NOBODY, -1

    # --- failures --------------------------------------------------------------------------------

    def fail(self, check: str, message: str) -> None:
        """Raise a failure."""
        raise Failure(check, message)

    def fail_recycled(self, words: Words, index: int, what: str) -> None:
        """Report the use of a node before allocation or after release."""
        self.fail("recycled node", f"thread {self.name(self.thread)} {what}: {words.name}[{index}]")

    def fail_race(self, words: Words, index: int, other: int, what: str) -> None:
        """Report two accesses that are not ordered."""
        place = f"{words.name}[{index}]"
        me, them = self.name(self.thread), self.name(other)
        if index in words.poisoned or what == "frees":
            self.fail(
                "recycled node",
                f"thread {me} {what} {place}, and an access of thread {them} is not ordered with it"
                " although the node changes hands between them",
            )
        self.fail(
            "data race", f"thread {me} {what} {place}, not ordered with thread {them}'s access"
        )

    def name(self, thread: int) -> str:
        """Return the letter of a thread."""
        return letter(thread)

    # --- plain accesses, the slow path -----------------------------------------------------------

    def plain_read(self, words: Words, index: int) -> None:
        """Check a plain read against the last plain write and against atomic writes."""
        self.inside(words, index)
        written = words.writes[index]
        if self.clock[written & THREAD_MASK] < written >> THREAD_BITS:
            self.fail_race(words, index, written & THREAD_MASK, "reads")
        self._after_atomics(words, index, "reads", writes_only=True)

    def plain_write(self, words: Words, index: int, what: str = "writes") -> None:
        """Check a plain write against every earlier access."""
        self.check_handed_over(words, index, what)
        self.released.pop(words.base + 2 * index, None)

    def check_handed_over(self, words: Words, index: int, what: str) -> None:
        """Check that every earlier access of a word happens before the present."""
        self.inside(words, index)
        written = words.writes[index]
        if self.clock[written & THREAD_MASK] < written >> THREAD_BITS:
            self.fail_race(words, index, written & THREAD_MASK, what)
        other = words.unordered_reader(index, self.clock)
        if other >= 0:
            self.fail_race(words, index, other, what)
        if words.atomic[index]:
            self._after_atomics(words, index, what, writes_only=False)

    def inside(self, words: Words, index: int) -> None:
        """Refuse a negative index, which Python and NumPy would count from the end."""
        if index < 0:
            self.fail("exception", f"index {index} of {words.name} is below zero")

    def _after_atomics(self, words: Words, index: int, what: str, writes_only: bool) -> None:
        clock, trace, by_word = self.clock, self.trace, self._by_word
        # A trace is searched often and has hundreds of steps: each is listed by its word, once.
        for step in range(self._listed, len(trace)):
            by_word.setdefault(trace[step] | 1, []).append(step)
        self._listed = len(trace)
        for step in reversed(by_word.get(words.base + 2 * index | 1, ())):
            if not writes_only or (trace[step] & 1 and step not in self.lost):
                epoch = self.epochs[step]
                if clock[epoch & THREAD_MASK] < epoch >> THREAD_BITS:
                    self.fail_race(words, index, epoch & THREAD_MASK, what)
