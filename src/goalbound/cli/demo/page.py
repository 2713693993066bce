"""The demo as one page that needs nothing else: no script, no other file."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version
from importlib.resources import files

from goalbound import __version__
from goalbound.cli.demo.charts import (
    BLOCKED,
    BLOWN,
    STILL,
    WALK,
    averaged_policy,
    best_policy,
    logarithmic_chart,
    optimistic_value_chart,
    regret_chart,
    symbol,
)
from goalbound.cli.demo.learning import DELTA, SEED, STEP_LIMIT, Learning
from goalbound.cli.demo.planning import Weather, outcome
from goalbound.models import LinearCSSP


def page(learning: Learning, weather: Weather) -> str:
    """The whole page."""
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>goalbound demo: no patient is the average patient</title><style>
{_style()}</style></head>
<body>
{_learning(learning)}
{_planning(weather)}
{_footer(learning)}
</body>
</html>
"""


def regret_figure(learning: Learning) -> str:
    """The regret of all learners, with a legend."""
    return f"""<ul class="key">{_line("proven")} LR-CSSP</li>
{_line("practical")} posterior sampling (not proven)</li>
{_line("blind")} LR-CSSP, blind to the context</li>
{_line("best")} clairvoyant</li></ul>
<div class="row charts"><figure>{regret_chart(learning)}</figure>
<figure>{logarithmic_chart(learning)}</figure></div>"""


def _learning(learning: Learning) -> str:
    proven, practical, blind = learning.runs
    times = blind.regret / proven.regret
    return f"""<section>
<h1>No patient is the average patient</h1>
<p>A patient takes one dose after the other, climbs down a ladder of {learning.problem.support.states} severities, and
is recovered: this is the <b>goal</b>. Each dose has a <b>loss</b>, and whether it helps depends on the patient, who is
a mix of three kinds: say 70% marker A, 20% marker B, 10% neither. This mix is the <b>context</b>. It is seen before the
first dose. A learner knows which drugs there are, that a dose moves a patient by one rung at most, and that no loss is
below {_floor(learning.problem):g}. The rest of this table it must find out.</p>
{_drugs(learning.problem)}

<h2>Only learners that see the context learn</h2>
<p>{learning.episodes:,} patients, the same for all learners. <b>Regret</b> is the expected loss beyond that of the
clairvoyant, who knows the problem. The first picture shows it as it is: the blind learner's goes up for ever, and is by
now {times:.0f} times that of LR-CSSP. The second shows the same in logarithms: a straight line is a power of the number
of patients K, its slope the exponent. At the end LR-CSSP grows as K<sup>{proven.growth:.2f}</sup>, the blind learner as
K<sup>{blind.growth:.2f}</sup>. The theorem promises LR-CSSP at most 1/2 in the long run.</p>
{regret_figure(learning)}
{_table(learning)}
<p class="note">Loss: expected, of one patient; mean over the first and over the last tenth of the patients. Abandoned:
given up after {STEP_LIMIT:,} doses; what they lost until then counts, so the true regret is larger. The blind learner
is LR-CSSP too, with the same constants, but all patients look the same to it. It gives the drugs that are best on
average, also to those whom they hardly ever help. One run of each learner. The problem is small, and chosen so that all
this shows within seconds: on larger ones proven sets need more episodes before they pay.</p>

<h2>Optimistic values approach the true value from below</h2>
<p>Optimism: LR-CSSP plans in the best model of its confidence sets. The value of that plan, its expected loss, is below
the true one and approaches it as the sets shrink: with probability {1.0 - DELTA:g} at all times and for all patients.
Here for a patient with a third of each kind, whose best expected loss is {learning.even_best:.2f}. Posterior sampling
plans in its estimate plus noise instead. It has {practical.regret / proven.regret:.2f} of the regret of LR-CSSP here,
and is what we would use where no proof is asked for.{_known(learning)}</p>
<div class="row charts"><figure>{optimistic_value_chart(learning)}</figure></div>
</section>"""


def _known(learning: Learning) -> str:
    if learning.runs[0].known > 0.0:
        return ""
    return " No pair of state and drug has become <i>known</i> to LR-CSSP, so it plans anew after every dose."


def _drugs(problem: LinearCSSP) -> str:
    """The loss of each drug, and the probability that a dose helps each kind of patient."""
    support, kinds = problem.support, problem.component_names or ()
    names = support.action_names or ()
    rows = []
    for pair in range(support.pair_start[0], support.pair_start[1]):  # on the lowest rung, where down is the goal
        row = support.row(pair)
        to_goal = problem.probabilities[row][support.next_state[row] == support.states]
        helps = to_goal[0] if len(to_goal) else [0.0] * len(kinds)
        rows.append(
            [names[support.pair_action[pair]], f"{problem.losses[pair, 0]:g}"] + [f"{share:.0%}" for share in helps]
        )
    return _html_table(["", "loss of a dose", *(f"helps, {kind}" for kind in kinds)], rows)


def _table(learning: Learning) -> str:
    rows = [
        [run.name, f"{run.regret:,.0f}", f"{run.early:.3f}", f"{run.late:.3f}", str(run.abandoned)]
        for run in learning.runs
    ]
    rows.append(["clairvoyant", "0", f"{learning.early_best:.3f}", f"{learning.late_best:.3f}", "0"])
    return _html_table(["learner", "regret", "loss, first tenth", "loss, last tenth", "abandoned"], rows)


def _planning(weather: Weather) -> str:
    best = "".join(
        _figure(best_policy(weather, day), day.name, f"expected loss {day.loss:.2f} in {day.steps:.1f} steps")
        for day in weather.corners
    )
    played = "".join(_figure(averaged_policy(weather, day), day.name, outcome(day)) for day in weather.corners)
    return f"""<section>
<h1>No day is the average day</h1>
<p>Why can the average be so bad? Because <b>what is best on average may never arrive</b>. Another small world shows
it, with nothing to learn: cross a grid from the north-west corner to the flag in the south-east. To walk one cell is a
loss of 0.4, and works nine times of ten in any weather. To drift is a loss of 0.1, and goes where the wind goes; in
the calm it goes nowhere. The context is today's weather.</p>

<h2>The best policy for each weather arrives</h2>
<ul class="key"><li>{symbol("")} start</li><li>{symbol(WALK)} walk</li>
<li>{symbol(BLOWN)} drift with the wind</li></ul>
<div class="row">{best}</div>

<h2>The best policy for the average weather does not</h2>
<p>For the average of the three, the best is to drift in every cell: it arrives from everywhere, with an expected loss
of {weather.average.loss:.2f}. Played in each of the three, this is what the same policy does.</p>
<ul class="key"><li>{symbol(BLOWN, "fine")} arrives</li><li>{symbol(BLOWN, "stuck")} may never arrive</li>
<li>{symbol(STILL, "trap")} {symbol(BLOCKED, "trap")} trapped for ever</li></ul>
<div class="row">{played}</div>
</section>"""


def _footer(learning: Learning) -> str:
    problem, runs = learning.problem, learning.runs
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return f"""<footer>
<p>Learning: problem treatment-ladder, {problem.support.states} levels, {problem.context_size - 1} markers; contexts
uniform on the simplex; losses without noise; {learning.episodes:,} episodes of at most {STEP_LIMIT:,} steps; seed
{SEED}. Learners: delta {DELTA:g}, loss floor {_floor(problem):g}, loss bound by doubling, regularization 1, the true
support; {"; ".join(f"{run.name}: {run.card}" for run in runs)}.</p>
<p>Planning: problem demo. The loss of each best policy is certified: its bounds agree to one part in
10<sup>9</sup>. <code>goalbound solve demo</code> prints the numbers.</p>
<p>Made by <code>goalbound demo</code>: goalbound {__version__}, Python {platform.python_version()}, {versions}.</p>
</footer>"""


def _floor(problem: LinearCSSP) -> float:
    return float(problem.losses.min())


def _line(kind: str) -> str:
    return f'<li><svg viewBox="0 0 30 8" aria-hidden="true"><polyline class="{kind}" points="0,4 30,4"/></svg>'


def _html_table(head: list[str], rows: list[list[str]]) -> str:
    top = "".join(f"<th>{escape(word)}</th>" for word in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(word)}</td>" for word in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(picture: str, title: str, note: str) -> str:
    return f"<figure>{picture}<figcaption><b>{escape(title)}</b><span>{escape(note)}</span></figcaption></figure>"


def _style() -> str:
    return files("goalbound.cli.demo").joinpath("demo.css").read_text(encoding="utf-8")
