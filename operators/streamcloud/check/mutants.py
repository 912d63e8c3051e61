"""Mutants of mergers, balancers, channels, and of the end of a stream."""

from __future__ import annotations

from functools import partial

from operators.check.mutants import Mutant

_of = partial(Mutant, variant="streamcloud/subquery-cluster")
_channels = partial(_of, module="operators.streamcloud.carriers.channels")
_threads = partial(_of, module="operators.streamcloud.carriers.threads")
_merger = partial(_of, module="operators.streamcloud.merger")
_balancer = partial(_of, module="operators.streamcloud.balancer")
_sources = partial(_of, module="operators.streamcloud.sources")

_PUT = """\
        self._rows[place] = row
        self.rings.records[place] = tuples
        publish(self.rings, ring)
"""
_PUBLISHED_FIRST = """\
        publish(self.rings, ring)
        self._rows[place] = row
        self.rings.records[place] = tuples
"""
_TAKEN = """\
        row, self._rows[place] = self._rows[place], None
        self._came += int(self.rings.records[place])
        release(self.rings, ring)
"""
_GIVEN_BACK_FIRST = """\
        release(self.rings, ring)
        row, self._rows[place] = self._rows[place], None
        self._came += int(self.rings.records[place])
"""
_ROWS = "sent.append([Row(dest, *head, each) for dest, each in enumerate(split)])"
_ROWS_OF_TUPLES = """\
sent.append([Row(dest, *head, each) for dest, each in enumerate(split)
                         if each.shape[1] or head[-1] == (1 << 63) - 1])"""

MUTANTS = (
    _channels(
        name="channel-position-before-row",
        old=_PUT,
        new=_PUBLISHED_FIRST,
        breaks="a receiver finds a slot whose row is not there yet",
        canary=True,
    ),
    _channels(
        name="channel-slot-back-before-row",
        old=_TAKEN,
        new=_GIVEN_BACK_FIRST,
        breaks="a sender overwrites a row that is being taken",
    ),
    _channels(
        name="channel-without-looking-for-room",
        old="while (place := claim(self.rings, ring)) == NO_SLOT:",
        new="while (place := max(claim(self.rings, ring), ring)) == NO_SLOT:",
        breaks="a sender puts a row into a full ring",
    ),
    _channels(
        name="channel-never-reads-ahead",
        old="if self._progress[each] == least] or there",
        new="if self._progress[each] == least]",
        breaks="the late way of a diamond waits for a sender that the other way has stopped",
    ),
    _channels(
        name="channel-steps-with-every-row",
        old="        return self._eager and any(",
        new="        return any(each is not None for each in self._taken) or any(",
        breaks="an instance steps although it can put out nothing",
    ),
    _channels(
        name="channel-one-end-ends-all",
        old="        if row.progress == END:\n            del self._sending[sender]\n",
        new="        if row.progress == END:\n            self._sending.clear()\n",
        breaks="the end of one sender is taken for the end of all",
    ),
    _channels(
        name="channel-waits-behind-the-end",
        old="        if row.progress == END:\n            del self._sending[sender]\n",
        new="",
        breaks="a receiver waits for rows of a sender that has ended",
    ),
    _channels(
        name="channel-pause-forgotten",
        old="            self.paused = True\n",
        new="",
        breaks="a pause is not known of behind the first stage",
    ),
    _threads(
        name="threads-pause-before-rows",
        old="        while rows := thread.take(inbox):\n            with thread.stepping",
        new="        while rows := (not inbox.paused and thread.take(inbox)):\n"
        "            with thread.stepping",
        breaks="an instance passes a pause on although others still send to it",
    ),
    _merger(
        name="merger-one-side-only",
        old="return min([sender.progress for side in self.sides for sender in side.senders])",
        new="return min([sender.progress for side in self.sides[:1] for sender in side.senders])",
        breaks="W is the least progress of one side, and the other is not waited for",
    ),
    _merger(
        name="merger-most-progress",
        old="return min([sender.progress for side in self.sides for sender in side.senders])",
        new="return max([sender.progress for side in self.sides for sender in side.senders])",
        breaks="a tuple is given out while an earlier one may come",
    ),
    _merger(
        name="merger-ties-given-out",
        old="            if first[0, -1] < floor:\n",
        new="            if first[0, -1] <= floor:\n",
        breaks="a tuple of time W is given out before another of that time",
    ),
    _merger(
        name="merger-swallows-dummies",
        old="                sender.check(each)\n                sender.progress = each.progress\n",
        new="                sender.check(each)\n"
        "                if each.batch.shape[1] or each.progress == (1 << 63) - 1:\n"
        "                    sender.progress = each.progress\n",
        breaks="a row without tuples brings no progress, and what others sent comes out late",
    ),
    _merger(
        name="merger-forgets-what-waits",
        old="return Log(self.taken, joined(self.parts, words))",
        new="return Log(self.taken, joined([], words))",
        breaks="what waits in a merger is lost by a pause",
    ),
    _balancer(
        name="balancer-sends-no-dummies",
        old=_ROWS,
        new=_ROWS_OF_TUPLES,
        breaks="who has nothing for a receiver tells it no progress",
    ),
    _balancer(
        name="balancer-promises-too-much",
        old="self.seq, progress[way.output]\n",
        new="self.seq, min(progress[way.output] + 1, (1 << 63) - 1)\n",
        breaks="the promised progress is beyond tuples that are still to come",
    ),
    _balancer(
        name="balancer-rows-not-counted",
        old="        self.seq += 1\n",
        new="",
        breaks="a second row counts as the first one come twice",
    ),
    _balancer(
        name="balancer-turns-by-arrival",
        old="            self._positions[output] += batches[output].shape[1]\n",
        new="            self._positions[output] = 0\n",
        breaks="which turn it is depends on the steps, and not on the position",
    ),
    _of(
        name="instance-progress-before-windows",
        module="operators.streamcloud.instance",
        old="self._progress[output] = max(self._progress[output], floors[place])",
        new="self._progress[output] = max(self._progress[output], given.floor)",
        breaks="an aggregate tells the merger's progress, and not that of its open windows",
    ),
    _sources(
        name="source-ends-before-the-last",
        old="END if self.position >= self.total else",
        new="END if self.position >= self.total - 1 else",
        breaks="the end is told before the last tuple is sent",
    ),
    _sources(
        name="source-ends-twice",
        old="        self.ended = until == self.total\n",
        new="        self.ended = self.ended or batch.shape[1] == 0\n",
        breaks="a row comes behind the end of its sender",
    ),
)
