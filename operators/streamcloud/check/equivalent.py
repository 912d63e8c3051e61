"""Automatic mutants of StreamCloud that no check can kill, with the reasons."""

EQUIVALENT = {
    "operators.streamcloud.sources __init__: swap self.balancer = Balancer(plan, output.node.name,"
    " number) self.position = 0 -> self.position = 0 self.balancer = Balancer(plan,"
    " output.node.name, number)": "two fields of an object that nobody has yet",
    "operators.streamcloud.sources compile: drop self.merger.compile() -> pass": (
        "what is not compiled before is compiled at the first use"
    ),
    "operators.streamcloud.instance compile: swap other.balancer.compile() other.load(other.save())"
    " -> other.load(other.save()) other.balancer.compile()": "it only compiles, in either order",
    "operators.streamcloud.merger _lay: swap out[behind : behind + own - 1] = piece[1:own]"
    " # No comparison reads these words: paths differ before. out[behind + own - 1 : self.width] ="
    " 0 -> out[behind + own - 1 : self.width] = 0 # No comparison reads these words: paths differ"
    " before. out[behind : behind + own - 1] = piece[1:own]": "the two ranges do not overlap",
    "operators.streamcloud.carriers.threads __init__: constant 0 -> 1": (
        "the common start, by which only a run at a pace goes; the start sets it"
    ),
    "operators.streamcloud.carriers.channels _take_one: drop self._room_bells[ring].ring() ->"
    " pass": "nobody sleeps on the machine; tests/operators/streamcloud/test_channels.py",
    "operators.streamcloud.parts compile: drop self.source.compile() -> pass": "it only compiles",
    "operators.streamcloud.carriers.threads keep_all: drop thread.report(taken) -> pass": (
        "a number for who watches the run"
    ),
    "operators.streamcloud.carriers.bells wait: not round > FIRST_WAIT -> not (round >"
    " FIRST_WAIT)": "in which rounds a thread sleeps, which none does on the machine",
    "operators.streamcloud.carriers.threads __init__: drop self.go = 0 -> pass": (
        "the start of a run is set before it is read"
    ),
    "operators.streamcloud.balancer _cut: compare max([batch.nbytes for batch in"
    " batches.values()]) <= self.most_body -> max([batch.nbytes for batch in batches.values()])"
    " < self.most_body": "a batch of exactly the most bytes is cut into one piece: itself",
    "operators.streamcloud.instance __init__: swap self._wiring, self._leaving = self._wired()"
    " self._steps = self._rows_in = self._tuples_in = 0 -> self._steps = self._rows_in ="
    " self._tuples_in = 0 self._wiring, self._leaving = self._wired()": (
        "fields of an object that nobody has yet, and the wiring is not made of the other three"
    ),
    "operators.streamcloud.carriers.channels __init__: swap self._progress = {each: END if each"
    " in ended else NO_PROGRESS for each in self._numbers} self._sending = {s: number for s,"
    " number in self._numbers.items() if s not in ended} -> self._sending = {s: number for s,"
    " number in self._numbers.items() if s not in ended} self._progress = {each: END if each in"
    " ended else NO_PROGRESS for each in self._numbers}": (
        "two fields of an object that nobody has yet, neither made of the other"
    ),
    "operators.streamcloud.parts __init__: swap self.instances = [ [Instance(plan, stage.name,"
    " number, coding.codes) for number in range(stage.instances)] for stage in plan.stages ]"
    " self.sinks = [OutputSink(plan, sink) for sink in plan.sinks] -> self.sinks ="
    " [OutputSink(plan, sink) for sink in plan.sinks] self.instances = [ [Instance(plan,"
    " stage.name, number, coding.codes) for number in range(stage.instances)] for stage in"
    " plan.stages ]": "two fields of an object that nobody has yet, neither made of the other",
    "operators.streamcloud.instance __init__: compare len(node.inputs) > 1 -> len(node.inputs)"
    " >= 1": "the merger waits for what is certain although it need not: the same rows, later",
    "operators.streamcloud.carriers.channels put: drop self._came_bell.ring() -> pass": (
        "nobody sleeps on the machine; tests/operators/streamcloud/test_channels.py"
    ),
    "operators.streamcloud.carriers.channels _from_whom: swap least = min(self._progress[each]"
    " for each in self._sending) there = [s for s, ring in self._sending.items() if"
    " front(self.rings, ring) != NO_SLOT] -> there = [s for s, ring in self._sending.items() if"
    " front(self.rings, ring) != NO_SLOT] least = min(self._progress[each] for each in"
    " self._sending)": "one reads words of the receiver alone",
}
