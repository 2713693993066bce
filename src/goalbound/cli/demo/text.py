"""The text output of the demo."""

from __future__ import annotations

from goalbound.cli.demo.learning import SEED, STEP_LIMIT, Learning
from goalbound.cli.demo.planning import Day, Weather, outcome
from goalbound.cli.text import column
from goalbound.terminal import table


def learning_text(learning: Learning) -> str:
    """What was learned, in a screen of text."""
    proven, small, blind = learning.runs
    rows = [
        [run.name, f"{run.regret:,.0f}", f"{run.early:.4f}", f"{run.late:.4f}", str(run.abandoned)]
        for run in learning.runs
    ]
    rows.append(["clairvoyant", "0", f"{learning.early_best:.4f}", f"{learning.late_best:.4f}", "0"])
    return f"""\
NO PATIENT IS THE AVERAGE PATIENT
A patient takes one dose after the other until recovered, the goal. Drug A helps those with marker A, drug B those
with marker B, at a loss of 0.1 a dose. The broad drug helps everyone, seldom, at a loss of 0.4. The context is the
patient: which part marker A, which part B, which part neither. Learners have to find all that out.

{learning.episodes:,} patients, the same for all (seed {SEED}):

{table(["learner", "regret", "loss, first tenth", "loss, last tenth", "abandoned"], rows, "lrrrr")}

regret        expected loss beyond the clairvoyant's, who knows the problem; all patients together
loss          expected loss of one patient: mean over the first tenth of them, and over the last
abandoned     patients given up after {STEP_LIMIT:,} doses; what they lost counts, the true regret is larger
{small.widths.scale:g} x widths  all radii of the confidence sets, and the known test, times {small.widths.scale:g}: \
nothing is proven

The regret of LR-CSSP grows as patients^{proven.growth:.2f} by now; the theorem promises 0.5 at most in the long run.
That of the blind learner, to whom all patients look the same, grows as patients^{blind.growth:.2f}."""


def planning_text(weather: Weather) -> str:
    """What was planned, in a screen of text."""
    days = [*weather.corners, weather.average]
    rows = zip(
        (day.name for day in days),
        column([day.loss for day in days]),
        column([day.steps for day in days]),
        column([day.averaged_loss for day in days]),
        (outcome(day) for day in days),
        strict=True,
    )
    lessons = "\n".join(f"  {day.name:10}  {lesson(day, weather)}" for day in weather.corners)
    return f"""\
NO DAY IS THE AVERAGE DAY
A grid of {weather.rows} x {weather.columns} cells, to be crossed from north-west to south-east. To walk one cell
is a loss of 0.4, in any weather. To drift with the wind is a loss of 0.1 a step; in the calm, drifting goes nowhere.
The context is today's weather. Here all is known, and one only has to plan.

{table(["context", "best loss", "steps", "averaged policy", "outcome"], rows, "lrrrl")}

best loss, steps  expected until the goal, by the best policy for this context (bounds certified to 1e-9)
averaged policy   expected loss of the policy that is best for the average context: drift, everywhere

On average drifting is best, because some wind always helps. But no day is the average day:
{lessons}"""


def lesson(day: Day, weather: Weather) -> str:
    """Where the averaged model's policy is trapped."""
    columns = {int(cell) % weather.columns for cell in day.trapped.nonzero()[0]}
    if not columns:
        return "it arrives"
    if day.trapped.all():
        return "nothing moves: it waits for ever where it is"
    border = "east" if columns == {weather.columns - 1} else "south"
    return f"it is blown to the {border} border and waits there for ever"
