"""What the extra ``pandas`` is for: results as data frames."""

from goalbound import solve
from goalbound.problems import treatment_ladder

frame = solve(treatment_ladder(2, markers=1).at([0.5, 0.5])).frame()
assert type(frame).__module__.startswith("pandas")
assert len(frame) > 0
