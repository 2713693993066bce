"""Road networks in TNTP files, and driving through them as a contextual problem.

TNTP is the text format of the TransportationNetworks collection. No network is shipped: the files there are for
academic use, fetch your own. A network is read with :func:`read_network`, link flows with :func:`read_flows`;
:func:`link_times` turns volumes into times, and :func:`routing_problem` turns regimes of times into a problem.

>>> network = Network(init=[1, 1, 3], term=[2, 3, 2], capacity=[10, 10, 10], length=[5, 1, 1],
...                   free_flow_time=[5, 1, 1], b=[0.15, 0.15, 0.15], power=[4, 4, 4], nodes=3)
>>> empty = Regime("empty", network.free_flow_time)
>>> rush = Regime("rush", link_times(network, [0, 30, 30]), missed_turn=0.1)
>>> routing_problem(network, destination=2, regimes=[empty, rush], origin=1)
LinearCSSP(2 components, 2 states, 3 pairs, 5 next states)
"""

from goalbound.adapters.tntp.network import Network, link_times, routing_problem, stranded_nodes
from goalbound.adapters.tntp.parser import Flows, read_flows, read_network
from goalbound.problems.roads import Regime

__all__ = [
    "Flows",
    "Network",
    "Regime",
    "link_times",
    "read_flows",
    "read_network",
    "routing_problem",
    "stranded_nodes",
]
