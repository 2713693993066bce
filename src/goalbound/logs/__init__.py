"""Logs of what people did: tables and files in, checked steps out.

>>> from goalbound import LossScale
>>> rows = {"case": [7, 7], "time": [0, 5], "state": ["detected", "degraded"], "action": ["restart", "roll back"],
...         "minutes": [5, 12], "next_state": ["degraded", "recovered"]}
>>> log = read_log(rows, columns=LogColumns(loss="minutes"), goal="recovered", loss_scale=LossScale("min", cap=60))
>>> log
Log(2 steps, 1 case, 2 states, 2 pairs; support inferred)
>>> list(log)[1]
(array([1.]), Step(state=0, action=0, loss=0.2, next_state=2))
"""

from goalbound.logs.columns import LogColumns
from goalbound.logs.compare import MapComparison, MapScores, Score, compare_maps
from goalbound.logs.log import Log, LogArrays, SkippedRow
from goalbound.logs.loss_floor import PairBelowFloor, pairs_below_floor
from goalbound.logs.off_policy import PolicyEstimate, PolicyEvaluation, evaluate_policy
from goalbound.logs.read import read_log
from goalbound.logs.report import LogReport, PairReport

__all__ = [
    "Log", "LogArrays", "LogColumns", "LogReport", "MapComparison", "MapScores", "PairBelowFloor", "PairReport",
    "PolicyEstimate", "PolicyEvaluation", "Score", "SkippedRow", "compare_maps", "evaluate_policy", "pairs_below_floor",
    "read_log",
]  # fmt: skip
