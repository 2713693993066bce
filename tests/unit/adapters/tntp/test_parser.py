"""Reading TNTP files: forgiving about form, strict about content."""

from pathlib import Path

import numpy as np
import pytest

from goalbound.adapters.tntp import (
    Flows,
    Regime,
    read_flows,
    read_network,
    routing_problem,
)
from goalbound.errors import FileFormatError
from tests.support.networks import network

GREEDY = """<NUMBER OF ZONES> 2
<NUMBER OF NODES> 4
<FIRST THRU NODE> 3
<NUMBER OF LINKS> 4
<END OF METADATA>

~ \tInit node \tTerm node \tCapacity \tLength \tFree Flow Time \tB\tPower\tSpeed limit \tToll \tType\t;
\t1\t3\t100\t1\t0\t0.15\t4\t50\t0\t1\t;
\t3\t4\t200\t6\t6\t0.15\t4\t50\t0\t1\t;
\t4\t2\t200\t2\t2\t0.15\t4\t50\t0\t1\t;
\t3\t2\t100\t9\t9\t0.15\t4\t50\t0.5\t2\t;
"""


ODD = """~ a network, made by hand from memory to show what occurs
<end of metadata>
<first thru node>\t3
<Number of  Links> 4 ~ counted twice
<ORIGINAL HEADER>~ Init node Term node Capacity ;
<NUMBER OF NODES> 4
<NUMBER OF ZONES>2
type  b  Power  Tail Head  Free-Flow Time (min)  Length (ft)  Capacity (veh/h)

1 0.15 4 1 3 0 1 100
1 0.15 4 3 4 6 6 200 ; 1 .15 4. 4 2 2 2 2e2;
2 0.15 4 3 2 9 9 100 ; ~ the long way
"""


def written(tmp_path: Path, text: str, name: str = "made_net.tntp") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_plain_file_is_read_into_arrays(tmp_path):
    roads = read_network(written(tmp_path, GREEDY))
    assert (roads.nodes, roads.zones, roads.first_thru_node, roads.links) == (4, 2, 3, 4)
    assert roads.init.tolist() == [1, 3, 4, 3]
    assert roads.term.tolist() == [3, 4, 2, 2]
    assert roads.free_flow_time.tolist() == [0, 6, 2, 9]
    assert roads.toll.tolist() == [0, 0, 0, 0.5]
    assert repr(roads) == "Network(4 nodes, 4 links, 2 zones)"
    with pytest.raises(ValueError, match="read-only"):
        roads.length[0] = 2.0


def test_odd_headers_columns_comments_and_missing_semicolons_say_the_same(tmp_path):
    plain, odd = read_network(written(tmp_path, GREEDY)), read_network(written(tmp_path, ODD, "odd_net.tntp"))
    for name in ("init", "term", "capacity", "length", "free_flow_time", "b", "power", "link_type"):
        assert np.array_equal(getattr(plain, name), getattr(odd, name)), name
    assert (odd.nodes, odd.zones, odd.first_thru_node) == (4, 2, 3)
    assert odd.speed.tolist() == [0, 0, 0, 0]  # the odd file has no such column


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
def test_windows_line_ends_byte_marks_and_old_encodings_do_not_matter(tmp_path, encoding):
    path = tmp_path / "made_net.tntp"
    path.write_bytes(("~ Köln\n" + GREEDY).replace("\n", "\r\n").encode(encoding))
    assert read_network(path).links == 4


def test_metadata_that_is_missing_is_taken_from_the_rows(tmp_path):
    roads = read_network(written(tmp_path, "1 2 10 1 1 0.15 4\n2 7 10 1 1 0.15 4 50 0 1 ;\n"))
    assert (roads.nodes, roads.zones, roads.first_thru_node, roads.links) == (7, 0, 1, 2)


def test_a_column_nobody_knows_is_passed_over(tmp_path):
    text = "init_node\tterm_node\tlanes\tcapacity\tlength\tfree_flow_time\tb\tpower\n1\t2\ttwo\t10\t3\t5\t0.15\t4\n"
    assert read_network(written(tmp_path, text)).free_flow_time.tolist() == [5]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t3\t4\t200\t6", "\t3\t4\t200\tsix", r'line 9: length is "six", which is not a number; write'),
        ("\t3\t4\t200\t6", "\t3\t4\t1_000\t6", r'line 9: capacity is "1_000", which is not a number'),
        ("\t3\t4\t200\t6", "\t3\t4\tnan\t6", r'line 9: capacity is "nan", which is not a number'),
        ("\t3\t4\t200\t6", "\t3\t4\t1e999\t6", r"line 9: capacity inf is not allowed; it must be finite"),
        ("\t3\t4\t200\t6", "\t3\t4\t200\t-6", r"line 9: length -6 is not allowed; .* not negative"),
        ("\t3\t4\t200\t6", "\t3\t9\t200\t6", r"line 9: term 9 is not a node; nodes are the whole numbers 1 to 4"),
        ("\t3\t4\t200\t6", "\t3.5\t4\t200\t6", r"line 9: init 3.5 is not a node"),
        ("\t3\t4\t200\t6", "\t3\t4\t200\t6\t6\t6\t6", r"line 9: 13 fields; a row has 7 to 10: init, term"),
        ("\t9\t9\t0.15\t4\t50\t0.5\t2\t;\n", "", r"line 11: 3 fields; a row has 7 to 10"),
        ("<NUMBER OF LINKS> 4", "<NUMBER OF LINKS> 5", r"<NUMBER OF LINKS> says 5, but there are 4 rows"),
        ("<NUMBER OF NODES> 4", "<NUMBER OF NODES> 4000000000", r"number of nodes is 4000000000; it must be 1 to"),
        ("<NUMBER OF NODES> 4", "<NUMBER OF NODES> many", r'line 2: <NUMBER OF NODES> is "many"; it must be'),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 5", r"number of zones is 5; it must be 0 to 4"),
        ("<FIRST THRU NODE> 3", "<FIRST THRU NODE> 9", r"first thru node is 9; it must be 1 to 5"),
        ("<FIRST THRU NODE> 3", "<FIRST THRU NODE 3", r'line 3: "<FIRST THRU NODE 3" opens with < and has no >'),
        ("<END OF METADATA>", "<NUMBER OF NODES> 5", r'line 5: <NUMBER OF NODES> is "5" here and "4" in line 2'),
        ("Free Flow Time", "Delay", r'line 7: the header names no column "free_flow_time"'),
        ("Toll", "Power", r'line 7: the header names column "power" twice'),
    ],
)  # fmt: skip
def test_a_broken_file_is_an_error_that_names_the_place_and_the_remedy(tmp_path, old, new, message):
    assert old in GREEDY
    with pytest.raises(FileFormatError, match=message) as error:
        read_network(written(tmp_path, GREEDY.replace(old, new)))
    assert "made_net.tntp" in str(error.value)


def test_a_damaged_file_is_read_or_refused_but_never_breaks_the_reader(tmp_path):
    rng = np.random.default_rng(11)
    path = tmp_path / "made_net.tntp"
    outcomes = []
    for _ in range(400):
        damaged = bytearray(GREEDY.encode())
        for _ in range(int(rng.integers(1, 4))):
            start = int(rng.integers(len(damaged)))
            damaged[start : start + int(rng.integers(3))] = (
                rng.choice(list(b"<>~;:-.9e\t\n\xff "), size=2).astype(np.uint8).tobytes()
            )
        path.write_bytes(bytes(damaged))
        try:
            outcomes.append(read_network(path).links == 4)
        except FileFormatError:
            outcomes.append(False)
    assert 40 < sum(outcomes) < 360  # both happen


def test_a_file_without_links_is_an_error(tmp_path):
    with pytest.raises(FileFormatError, match="there are no links"):
        read_network(written(tmp_path, GREEDY.split("~")[0]))


@pytest.mark.parametrize(
    "text",
    [
        "From \tTo \tVolume \tCost \n3\t2\t5\t9.5\n1\t3\t20\t0\n3\t4\t15\t6.5\n4\t2\t15\t2.5\n",
        "<NUMBER OF NODES> 4\n~ \tTail \tHead \t: \tVolume \tCost \t; \n"
        "\t1 \t3 \t: \t20 \t0 \t; \n 3 2 : 5 9.5;\n 3 4 : 15 6.5;\n 4 2 : 15 2.5;\n",
    ],
)
def test_flows_are_matched_to_the_links_in_the_order_of_the_network(tmp_path, text):
    roads = read_network(written(tmp_path, GREEDY))
    flows = read_flows(written(tmp_path, text, "made_flow.tntp"), roads)
    assert flows.volume.tolist() == [20, 15, 15, 5]
    assert flows.cost is not None
    assert flows.cost.tolist() == [0, 6.5, 2.5, 9.5]


def test_flows_of_parallel_links_are_matched_in_their_order_and_cost_may_be_absent(tmp_path):
    roads = network([1, 1, 1], [2, 2, 2], times=[1, 2, 3])
    flows = read_flows(written(tmp_path, "from to volume\n1 2 7\n1 2 8\n1 2 9\n"), roads)
    assert isinstance(flows, Flows)
    assert flows.volume.tolist() == [7, 8, 9]
    assert flows.cost is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1 2 7 1\n", r"no flow for link 1 \(node 2 to node 1\) \(missing: 1 of 2 links\); give each link a row"),
        ("1 2 7 1\n1 2 7 1\n", r"line 2: a flow from node 1 to node 2, but the network has fewer such links"),
        ("2 2 7 1\n", r"line 1: a flow from node 2 to node 2, but the network has no such link"),
        ("1 3 7 1\n", r"line 1: term 3 is not a node"),
        ("1 2 -7 1\n", r"line 1: volume -7 is not allowed"),
        ("1 2\n", r"line 1: 2 fields; a row has 3 to 4"),
    ],
)
def test_flows_that_do_not_fit_the_network_are_an_error(tmp_path, rows, message):
    with pytest.raises(FileFormatError, match=message):
        read_flows(written(tmp_path, rows), network([1, 2], [2, 1], times=[1, 1]))


def test_a_network_of_a_city_is_read_and_turned_into_a_problem_quickly(tmp_path):
    side = 60
    node = np.arange(1, side * side + 1).reshape(side, side)
    streets = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    ends = np.concatenate(
        [np.column_stack((a.ravel(), b.ravel())) for one, two in streets for a, b in ((one, two), (two, one))]
    )
    rows = "".join(f"\t{a}\t{b}\t1000\t1\t1\t0.15\t4\t0\t0\t1\t;\n" for a, b in ends.tolist())
    roads = read_network(written(tmp_path, f"<NUMBER OF LINKS> {len(ends)}\n<END OF METADATA>\n{rows}"))
    problem = routing_problem(roads, destination=side * side, regimes=[Regime("all", roads.free_flow_time, 0.1)])
    assert problem.support.states == side * side - 1
    assert problem.support.pairs == 4 * side * (side - 1) - 2  # all links but the two that leave the destination
