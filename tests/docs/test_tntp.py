"""The module beside the tutorial about roads: forgiving about the form of TNTP files, strict about their content."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from goalbound.errors import FileFormatError, InputError
from goalbound.problems import Regime
from tests.support.documents import beside_tutorials

PLAIN = """<NUMBER OF ZONES> 2
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


@pytest.fixture(scope="module")
def tntp() -> ModuleType:
    return beside_tutorials("tntp")


def network(tntp: ModuleType, init: Any, term: Any, times: Any, **more: Any) -> Any:
    count = len(init)
    return tntp.Network(
        init=init, term=term, capacity=np.full(count, 10.0), length=np.ones(count), free_flow_time=times,
        b=np.full(count, 0.15), power=np.full(count, 4.0), nodes=max(*init, *term), **more,
    )  # fmt: skip


def written(folder: Path, text: str) -> Path:
    path = folder / "made.tntp"
    path.write_text(text)
    return path


def test_odd_headers_columns_comments_and_missing_semicolons_say_the_same(tntp: ModuleType, tmp_path: Path) -> None:
    plain, odd = (tntp.read_network(written(tmp_path, text)) for text in (PLAIN, ODD))
    for roads in (plain, odd):
        assert (roads.nodes, roads.zones, roads.first_thru_node) == (4, 2, 3)
        assert roads.init.tolist() == [1, 3, 4, 3]
        assert roads.term.tolist() == [3, 4, 2, 2]
        assert roads.free_flow_time.tolist() == [0, 6, 2, 9]
        assert roads.capacity.tolist() == [100, 200, 200, 100]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t3\t4\t200\t6", "\t3\t4\t200\tsix", r'line 9: length is "six", which is not a number; write'),
        ("\t3\t4\t200\t6", "\t3\t4\t1e999\t6", r"line 9: capacity is inf; it must be finite"),
        ("\t3\t4\t200\t6", "\t3\t9\t200\t6", r"line 9: term is 9; a node is a whole number from 1 to 4"),
        ("\t3\t4\t200\t6", "\t3\t4\t200\t6\t6\t6\t6", r"line 9: 13 fields; a row has 7 to 10"),
        ("\t9\t9\t0.15\t4\t50\t0.5\t2\t;\n", "", r"line 11: 3 fields; a row has 7 to 10"),
        ("<NUMBER OF LINKS> 4", "<NUMBER OF LINKS> 5", r"there are 4 rows of links, and <NUMBER OF LINKS> says"),
        ("<NUMBER OF ZONES> 2", "<NUMBER OF ZONES> 5", r"5 zones and the first thru node 3 do not fit 4 nodes"),
        ("<FIRST THRU NODE> 3", "<FIRST THRU NODE 3", r'line 3: "<FIRST THRU NODE 3" opens with < and has no >'),
        ("Free Flow Time", "Delay", r'line 7: the header names 0 columns "free_flow_time"'),
        (PLAIN[PLAIN.index("~") :], "", "there are 0 rows of links"),
    ],
)  # fmt: skip
def test_a_broken_file_is_an_error_that_names_the_place(
    tntp: ModuleType, tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in PLAIN
    with pytest.raises(FileFormatError, match=message) as error:
        tntp.read_network(written(tmp_path, PLAIN.replace(old, new)))
    assert "made.tntp" in str(error.value)


def test_the_time_of_a_link_is_that_of_the_bureau_of_public_roads(tntp: ModuleType) -> None:
    roads = network(tntp, [1, 2], [2, 1], [6, 0])
    # 6 (1 + 0.15 (20 / 10)^4) = 6 (1 + 0.15 * 16) = 20.4; a link of no time has none at any volume
    assert tntp.link_times(roads, [20, 20]) == pytest.approx([20.4, 0.0], abs=1e-12)
    closed = tntp.Network([1], [2], [0], [1], [3], [0.15], [4], nodes=2)
    assert tntp.link_times(closed, [0]).tolist() == [3]
    for links, volumes in ((closed, [2.0]), (roads, [0.0, -1.0]), (roads, [0.0, np.nan])):
        with pytest.raises(InputError, match="has volume"):
            tntp.link_times(links, volumes)


def test_states_are_nodes_and_actions_are_links_and_a_missed_turn_takes_another_link(tntp: ModuleType) -> None:
    roads = network(tntp, [1, 1, 1, 2, 3], [2, 3, 4, 4, 4], np.array([1, 2, 8, 4, 5]))
    regimes = [Regime("calm", roads.free_flow_time), Regime("rush", 2 * roads.free_flow_time, missed_turn=0.3)]
    problem = tntp.routing_problem(roads, destination=4, origin=1, regimes=regimes)
    assert problem.support.state_names == ("node 1", "node 2", "node 3")
    assert problem.support.action_names == ("to node 2", "to node 3", "to node 4")
    assert problem.loss_scale == 16  # the longest time: 2 * 8
    assert problem.start == 0
    pair = problem.support.pair("node 1", "to node 3")
    assert problem.probabilities[problem.support.row(pair)].tolist() == [[0, 0.15], [1, 0.7], [0, 0.15]]
    # calm: 2 / 16; rush: (0.7 * 4 + 0.15 * 2 + 0.15 * 16) / 16 = 5.5 / 16
    assert problem.losses[pair] == pytest.approx([2 / 16, 5.5 / 16], abs=1e-15)
