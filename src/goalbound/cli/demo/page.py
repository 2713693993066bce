"""The demo's page: one HTML file that loads nothing, for light and dark screens."""

from __future__ import annotations

from html import escape

from goalbound import __version__
from goalbound.cli.demo.pictures import BLOCKED, BLOWN, STILL, WALK, averaged_policy, best_policy, loss_curve, symbol
from goalbound.cli.demo.world import Demo, fate

STYLE = """
:root { color-scheme: light dark; --ink: #1f2733; --soft: #626d7f; --page: #fbfaf7; --cell: #ffffff; --rule: #dad6cc;
  --walk: #1d5fae; --drift: #0c857b; --stuck: #fcebe1; --trap: #f6c9b3; --bad: #c2410c; --fine: #dff1e8;
  --flag: #d19a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --soft: #9ca5b4; --page: #14181f; --cell: #1c222c;
  --rule: #3a4350; --walk: #7db4f5; --drift: #5fd0c3; --stuck: #35241d; --trap: #6a3218; --bad: #ff9a6b;
  --fine: #1b3a32; --flag: #ecc04b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .7rem; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .3rem; }
p { margin: .3rem 0 .9rem; max-width: 46rem; }
figcaption span, footer { color: var(--soft); }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); gap: 1.5rem; }
figure { margin: 0; } figcaption { margin-top: .4rem; font-size: .94rem; } figcaption b { display: block; }
.wide { max-width: 46rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.key { display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; font-size: .92rem; margin: .7rem 0 1.2rem; padding: 0; }
.key li { display: flex; align-items: center; gap: .5rem; list-style: none; } .key svg { width: 30px; }
.key i { width: 1.7rem; height: 3px; border-radius: 2px; }
.cell { fill: var(--cell); stroke: var(--rule); } .stuck { fill: var(--stuck); }
.trap { fill: var(--trap); } .fine { fill: var(--fine); }
.walk, .drift, .pole { fill: none; stroke-width: 2.1; stroke-linecap: round; stroke-linejoin: round; }
.walk { stroke: var(--walk); } .drift, .in-fine .drift { stroke: var(--drift); }
.in-stuck .drift, .in-trap .drift { stroke: var(--bad); }
.start { fill: none; stroke: var(--ink); stroke-width: 1.4; } .pole { stroke: var(--ink); } .flag { fill: var(--flag); }
.rule { stroke: var(--rule); } polyline { fill: none; stroke-width: 2.6; stroke-linejoin: round; }
polyline.best { stroke: var(--walk); } polyline.averaged { stroke: var(--bad); }
footer { margin-top: 2.6rem; padding-top: .8rem; border-top: 1px solid var(--rule); font-size: .88rem; }
"""


def page(demo: Demo) -> str:
    """The whole page."""
    best = "".join(
        _figure(best_policy(demo, day), day.name, f"expected loss {day.loss:.2f} in {day.steps:.1f} steps")
        for day in demo.corners
    )
    played = "".join(_figure(averaged_policy(demo, day), day.name, fate(day)) for day in demo.corners)
    most = max(best_loss for _, best_loss, _ in demo.curve)
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>goalbound demo: no day is the average day</title><style>{STYLE}</style></head>
<body>
<h1>No day is the average day</h1>
<p>Cross a grid from the north-west corner to the flag in the south-east. To walk one cell is a loss of 0.4, and works
nine times of ten in any weather. To drift is a loss of 0.1, and goes where the wind goes; in the calm it goes nowhere.
The <b>context</b> is today's weather: calm, west wind, north wind, or a mixture of them.</p>

<h2>The best policy for each weather arrives</h2>
<ul class="key"><li>{symbol("")} start</li><li>{symbol(WALK)} walk</li>
<li>{symbol(BLOWN)} drift with the wind</li></ul>
<div class="row">{best}</div>

<h2>The best policy for the average weather does not</h2>
<p>For the average of the three, the best is to drift in every cell: it arrives from everywhere, with an expected loss
of {demo.average.loss:.2f}. Played in each of the three, this is what the same policy does.</p>
<ul class="key"><li>{symbol(BLOWN, "fine")} arrives</li><li>{symbol(BLOWN, "stuck")} may never arrive</li>
<li>{symbol(STILL, "trap")} {symbol(BLOCKED, "trap")} caught for ever</li></ul>
<div class="row">{played}</div>

<h2>The calmer, the worse</h2>
<p>Expected loss from the start as the context moves from the average weather to the calm. The policy for the average
loses without bound; the best policy for each context never loses more than {most:.2f}.</p>
<ul class="key"><li><i style="background: var(--walk)"></i> best policy for each context</li>
<li><i style="background: var(--bad)"></i> policy for the average</li></ul>
<figure class="wide">{loss_curve(demo)}</figure>

<footer>goalbound {__version__}. The loss of each best policy is certified: its bounds agree to one part in
10<sup>9</sup>. Made by <code>goalbound demo</code>; <code>goalbound solve demo</code> prints the numbers.</footer>
</body>
</html>
"""


def _figure(picture: str, title: str, note: str) -> str:
    return f"<figure>{picture}<figcaption><b>{escape(title)}</b><span>{escape(note)}</span></figcaption></figure>"
