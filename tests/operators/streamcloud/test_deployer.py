"""The deployer: descriptors read by line, and instances assigned as they say."""

from __future__ import annotations

import pytest

from operators.contract import UsageError
from operators.streamcloud.algebra import Aggregate, Input, Map, Query, TimeWindow
from operators.streamcloud.compiler import compile_query
from operators.streamcloud.deployer import deploy, parse_descriptor, read_descriptor

ADDRESSES = """# two nodes

10.0.0.1:7000
node-2.example.org:7001  # a name
[::1]:65535
"""


def words(places):
    return [str(place) for place in places]


def plan_of(strategy, instances):
    first = Map("first", Input("calls", {"a": "int64"}), {"a": "a"})
    count = Aggregate("count", first, TimeWindow(5, 5), {"n": "count()"}, ["a"])
    return compile_query(Query("chain", count), strategy, instances)


def test_addresses_are_read_with_their_lines():
    found = parse_descriptor(ADDRESSES)
    assert words(found) == ["10.0.0.1:7000", "node-2.example.org:7001", "[::1]:65535"]
    assert [place.line for place in found] == [3, 4, 5]


def test_processors_of_this_machine_are_read_and_may_be_there_again():
    assert [place.cpu for place in parse_descriptor("cpu 1\ncpu  0\ncpu 1")] == [1, 0, 1]


@pytest.mark.parametrize("text", [
    "- cpu 0\n- cpu 3\n",
    "processors: [cpu 0, cpu 3]  # flow\n",
    "processors:\n  - cpu 0\n\n  - cpu 3\n",
])  # fmt: skip
def test_yaml_is_a_list_of_the_same_words(text):
    assert words(parse_descriptor(text, as_yaml=True)) == ["cpu 0", "cpu 3"]


def test_yaml_keeps_addresses_that_look_like_numbers():
    found = parse_descriptor('- 10:30\n- "[::1]:70"\n', as_yaml=True)
    assert words(found) == ["10:30", "[::1]:70"]


def test_a_file_is_read_by_its_name(tmp_path):
    text, as_yaml = tmp_path / "two.txt", tmp_path / "two.yaml"
    text.write_text("cpu 0\ncpu 1\n")
    as_yaml.write_text("processors: [cpu 0, cpu 1]\n")
    assert words(read_descriptor(text)) == words(read_descriptor(as_yaml)) == ["cpu 0", "cpu 1"]
    with pytest.raises(UsageError, match=r"none\.txt: cannot be read as a descriptor"):
        read_descriptor(tmp_path / "none.txt")


@pytest.mark.parametrize("text, message", [
    ("cpu 0\ncpu\n", 'line 2: "cpu" is no processor: give "host:port", such as "10.0.0.1:7000",'
                     ' or "cpu 0"'),
    ("\n\ncpu -1", 'line 3: "cpu -1" is no processor'),
    ("node", 'line 1: "node" is no processor'),
    ("node:", 'line 1: "node:" is no processor'),
    (":7000", 'line 1: ":7000" is no processor'),
    ("node:80 node:81", 'line 1: "node:80 node:81" is no processor'),
    ("node:0", 'line 1: the port of "node:0" must be between 1 and 65535'),
    ("a:1\nnode:65536", 'line 2: the port of "node:65536" must be between 1 and 65535'),
    ("a:1\nb:1\nA:1", 'line 3: "A:1" is in line 1, too: one address is that of one instance;'
                      ' take another port'),
    ("a:1\n\ncpu 0", 'line 3: "cpu 0" among others such as "a:1" of line 1: name addresses, or'
                     ' processors of this machine, not both'),
    ("cpu 1\ncpu 4", 'line 2: "cpu 4" is not there: this machine has cpu 0 to cpu 3'),
    ("# nothing\n", 'names no processor: give one a line, "host:port" or "cpu 0"'),
    ("", "names no processor"),
])  # fmt: skip
def test_a_wrong_line_is_refused_by_its_number(text, message):
    with pytest.raises(UsageError) as error:
        parse_descriptor(text, "nodes.txt", cpus=4)
    assert str(error.value).startswith(f"nodes.txt: {message}")


@pytest.mark.parametrize("text, message", [
    ("- cpu 0\n- cpu x\n", 'line 2: "cpu x" is no processor'),
    ("processors:\n- cpu 0\nports: [1]\n",
     'line 3: key "ports" where there may be one, "processors"'),
    ("processors: [cpu 0]\nprocessors: [cpu 1]\n", 'line 1: key "processors" where there may be'),
    ("processors: cpu 0\n", "line 1: give a list of processors, one an item"),
    ("- cpu 0\n- host: a\n", "line 2: give a processor as"),
    ("- cpu 0\n- [::1]:7\n", "line 2: is no YAML"),
    ("", "names no processor"),
    ("{}", "names no processor"),
])  # fmt: skip
def test_wrong_yaml_is_refused_by_its_line(text, message):
    with pytest.raises(UsageError) as error:
        parse_descriptor(text, "nodes.yaml", as_yaml=True)
    assert str(error.value).startswith(f"nodes.yaml: {message}")


def test_instances_are_put_in_the_order_of_the_descriptor():
    places = parse_descriptor("\n".join(f"node:{7000 + number}" for number in range(6)))
    found = deploy(plan_of("subquery-cluster", {"first": 2, "count": 3}), places)
    assert [found.place_of("first", number).port for number in range(2)] == [7000, 7001]
    assert [found.place_of("count", number).port for number in range(3)] == [7002, 7003, 7004]
    assert words(found.idle) == ["node:7005"]


def test_under_query_cluster_a_processor_runs_an_instance_of_each_stage():
    found = deploy(plan_of("query-cluster", 2), parse_descriptor("cpu 0\ncpu 1"))
    assert found.place_of("first", 1) == found.place_of("count", 1)
    assert not found.idle


def test_threads_of_instances_are_bound_to_the_cores_that_are_named():
    found = deploy(plan_of("query-cluster", 2), parse_descriptor("cpu 3\ncpu 1"))
    assert found.cores() == {
        ("first", 0): 3, ("count", 0): 3, ("first", 1): 1, ("count", 1): 1
    }  # fmt: skip
    found = deploy(plan_of("query-cluster", 1), parse_descriptor("\nnode:7000"))
    with pytest.raises(UsageError, match="^chain: threads run on this machine, and line 2 of the"):
        found.cores()


def test_too_few_processors_are_refused():
    with pytest.raises(UsageError) as error:
        deploy(plan_of("subquery-cluster", {"first": 2, "count": 3}), parse_descriptor("cpu 0"))
    assert str(error.value) == (
        "chain: its subquery-cluster plan takes 5 processors (first 2, count 3), and the descriptor"
        " has 1: name more, or compile it for fewer instances"
    )


def test_an_instance_that_is_not_there_is_refused():
    found = deploy(plan_of("query-cluster", 2), parse_descriptor("cpu 0\ncpu 1"))
    with pytest.raises(UsageError, match="first: no instance 2, they are 0 to 1"):
        found.place_of("first", 2)
    with pytest.raises(UsageError, match='no stage "frist"'):
        found.place_of("frist", 0)
