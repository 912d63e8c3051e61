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
    " < self.most_body": ("a batch of exactly the most bytes is cut into one piece: itself"),
    "operators.streamcloud.instance __init__: swap self._wiring, self._leaving = self._wired()"
    " self._steps = self._rows_in = self._tuples_in = 0 -> self._steps = self._rows_in ="
    " self._tuples_in = 0 self._wiring, self._leaving = self._wired()": (
        "fields of an object that nobody has yet, and the wiring is not made of the other three"
    ),
}
