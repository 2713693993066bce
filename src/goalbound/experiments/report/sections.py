"""The sections of a report as HTML. Everything that comes from a file or a label is escaped here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from goalbound.experiments.report import phrases
from goalbound.experiments.report.tables import Cell, comparison, differences, named, table, terms
from goalbound.learners.card import NONE, ORACLE, PROVEN
from goalbound.terminal import pluralize

Data = Mapping[str, Any]
PAPER = "D. Polikar, A. Cohen: Regret Guarantees for Linear Contextual Stochastic Shortest Path"

MANY = 8
"""With more learners than colours, charts are taller, and all can be shown or hidden at once."""


def _header(data: Data) -> str:
    question = escape(data["question"] or data["name"])
    return f"""<p class="eyebrow">goalbound · experiment <b>{escape(data["name"])}</b></p>
<h1>{question}</h1>"""


def _conclusions(data: Data) -> str:
    if not data["panels"]:
        return "<p>No run has a result yet.</p>"
    blocks = []
    for part in data["phrases"]["conclusions"]:
        title = f"<h3>{escape(part['title'])}</h3>" if len(data["panels"]) > 1 else ""
        blocks.append(f"<div>{title}{_list(part['sentences'])}</div>")
    trouble = ""
    if data["failures"] or data["missing"]:
        trouble = '<p class="warning">Some runs have no result: see <a href="#failures">failures</a>.</p>'
    headline = f'<p class="headline">{escape(data["phrases"]["headline"])}</p>' if data["phrases"]["headline"] else ""
    caveat = f'<p class="note">{escape(data["phrases"]["caveat"])}</p>' if data["phrases"]["caveat"] else ""
    return f'{headline}<div class="answers">{"".join(blocks)}</div>{caveat}{alarm_warning(data)}{trouble}'


def alarm_warning(data: Data) -> str:
    """The alarms as HTML; nothing where there are none."""
    if not data["alarms"]:
        return ""
    said = "<b>Alarm.</b> These learners found that what they observe contradicts their model; each line says how."
    return f'<div class="warning">{said}<ul>{"".join(map(_alarm_line, data["alarms"]))}</ul></div>'


def _alarm_line(alarm: Data) -> str:
    where = ", ".join(alarm[kind] for kind in ("learner", "problem", "contexts"))
    count = f"{len(alarm['seeds'])} of {pluralize(alarm['runs'], 'run')}"
    return f"<li><b>{escape(where)}</b>: {count}. Seed {alarm['seeds'][0]}, {escape(alarm['text'])}.</li>"


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{_powers(escape(one))}</li>" for one in sentences) + "</ul>"


def _powers(text: str) -> str:
    """K^0.5 as a power."""
    head, *rest = text.split("K^")
    parts = [head]
    for part in rest:
        digits = len(part) - len(part.lstrip("0123456789."))
        number = part[:digits].rstrip(".")
        parts.append(f"K<sup>{number}</sup>{part[len(number) :]}")
    return "".join(parts)


def _setup(data: Data) -> str:
    sentences = "".join(f"<p>{escape(one)}</p>" for one in data["phrases"]["setup"])
    problems = [
        (component["label"], _used(component), f"{component['summary']} {phrases.describe_problem(component)}")
        for component in data["problems"]
    ]
    contexts = [(component["label"], _used(component), component["summary"]) for component in data["contexts"]]
    learners = [
        (f"{one['tag']} {one['label']}", f"{one['use']}; {one['constants']}", phrases.prior_information(one))
        for one in data["learners"]
    ]
    parts = {name: f"<h3>{name}</h3><dl>{''.join(_description(*one) for one in items)}</dl>" for name, items in
             (("Problems", problems), ("Contexts", contexts), ("Learners", learners))}  # fmt: skip
    blocks = f"<div>{parts['Problems']}{parts['Contexts']}</div><div>{parts['Learners']}</div>"
    return f'{sentences}<div class="components">{blocks}</div>{_deviations(data)}'


def _used(component: Data) -> str:
    settings = phrases.describe_settings(component["settings"])
    return component["use"] + (f": {settings}" if settings else "")


def _description(name: str, use: str, text: str) -> str:
    return f"<dt>{escape(name)}</dt><dd><code>{escape(use)}</code> {escape(text)}</dd>"


def _deviations(data: Data) -> str:
    """Deviations from the constants of the papers, and a warning where no theorem applies."""
    found = phrases.deviations(data)
    guarantees = [one["card"]["guarantee"] for one in data["learners"] if one["card"]]
    if not found:
        proven = PROVEN in guarantees and len(guarantees) == len(data["learners"])
        return "<p>All constants are those of the paper.</p>" if proven else ""
    said = "<b>Constants that deviate from the paper.</b>"
    if all(one in (PROVEN, ORACLE) for one in guarantees):
        return f"<div>{said}{_list(found)}</div>"
    said += " A learner in this list has a guarantee only where it says proven, or that the theorem covers it."
    return f'<div class="warning">{said}{_list(found)}</div>'


def _legend(data: Data) -> str:
    buttons = "".join(
        f'<button type="button" class="key" data-toggle="{place}" aria-pressed="true">{named(one)}</button>'
        for place, one in enumerate(data["learners"])
    )
    if len(data["learners"]) > MANY:
        buttons += "".join(
            f'<button type="button" class="key" data-all="{word}">{word}</button>' for word in ("all", "none")
        )
    return f'<div class="legend" role="group" aria-label="Show or hide learners">{buttons}</div>'


def _regret(data: Data) -> str:
    if not data["panels"]:
        return "<p>No run has a result yet.</p>"
    bounded = any(result["regret"]["bound"] for panel in data["panels"] for result in panel["results"])
    bands = any(result["regret"]["low"] for panel in data["panels"] for result in panel["results"])
    boxes = _box("guides", "guides K<sup>1/2</sup>, K<sup>2/3</sup>", True)
    boxes += _box("bands", "bands over seeds", True) if bands else ""
    boxes += _box("bounds", "a-posteriori bounds", False) if bounded else ""
    axes = _choice("axes", [("log", "log-log"), ("linear", "linear")], "Axes")
    shown = [one for one in data["learners"] if one["card"] and one["card"]["guarantee"] not in (NONE, ORACLE)]
    constants = "; ".join(f"{one['tag']}: {one['constants']}" for one in shown)
    note = "Guides are powers of K that meet the first learner shown at its last episode. "
    if bounded:
        note += ("The a-posteriori bound is a number for the whole run, about the realised regret: true where the "
                 "confidence sets held the truth, but for a small probability. ")  # fmt: skip
    note += "A regret of 0 has no logarithm and is not drawn on such axes. "
    note += f"Constants: {constants}." if constants else ""
    panels = "".join(_regret_panel(place, panel) for place, panel in enumerate(data["panels"]))
    alone = " alone" if len(data["panels"]) == 1 else ""
    return f"""<div class="controls">{axes}{boxes}</div>{_legend(data)}
<div class="panels{alone}">{panels}</div>
<p class="note">{escape(note)}</p>"""


def _regret_panel(place: int, panel: Data) -> str:
    rows = "<tr><th>&nbsp;</th><td></td><td></td></tr>" * len(panel["results"])
    height = "tallest" if len(panel["results"]) > 2 * MANY else "tall"
    band = " <small>(95% band)</small>" if any(result["regret"]["low"] for result in panel["results"]) else ""
    return f"""<figure class="panel"><figcaption><b>{escape(panel["title"])}</b></figcaption>
<div class="chart {height}" data-panel="{place}" data-kind="regret"></div>
<div class="scroll"><table class="readout"><caption>after <b>{panel["episode"][-1]:,}</b> episodes</caption>
<thead><tr><th scope="col">learner</th><th scope="col">expected regret{band}</th>
<th scope="col">per episode</th></tr></thead><tbody>{rows}</tbody></table></div></figure>"""


def _box(name: str, text: str, checked: bool) -> str:
    state = " checked" if checked else ""
    return f'<label><input type="checkbox" data-show="{name}"{state}> <span>{text}</span></label>'


def _choice(name: str, options: list[tuple[str, str]], label: str) -> str:
    buttons = "".join(
        f'<button type="button" data-choose="{name}" data-value="{escape(value)}" '
        f'aria-pressed="{str(not place).lower()}">{escape(text)}</button>'
        for place, (value, text) in enumerate(options)
    )
    return f'<div class="choice" role="group" aria-label="{label}">{buttons}</div>'


def _panes(data: Data, draw: Callable[[int, Data], str], extra: str = "") -> str:
    """One pane for each panel that has something; with several, buttons choose one, and paper shows all."""
    panels = data["panels"]
    chooser = ""
    if len(panels) > 1:
        chooser = _choice(
            "pane", [(str(at), panel["title"]) for at, panel in enumerate(panels)], "Problem and contexts"
        )
    panes = []
    for at, panel in enumerate(panels):
        hidden = " hidden" if at else ""
        title = f'<h3 class="pane-title">{escape(panel["title"])}</h3>' if len(panels) > 1 else ""
        drawn = draw(at, panel) or '<p class="note">Nothing to show here.</p>'
        panes.append(f'<div class="pane" data-pane="{at}"{hidden}>{title}{drawn}</div>')
    return f'<div class="controls">{chooser}{extra}</div>{"".join(panes)}'


def _terms(data: Data) -> str:
    return _panes(data, lambda _, panel: terms(panel, data["learners"]))


def _known(data: Data) -> str:
    def draw(at: int, panel: Data) -> str:
        shown = [result for result in panel["results"] if result["known"]]
        if not shown:
            return ""
        none = all(result["numbers"]["known_share"]["mean"] == 0.0 for result in shown)
        said = (
            "<p>No pair became known in any run: every step opened a new interval, with a new plan.</p>" if none else ""
        )
        kinds = ("intervals",) if none else ("known", "intervals")
        holders = "".join(
            f'<figure><div class="chart" data-panel="{at}" data-kind="{kind}"></div></figure>' for kind in kinds
        )
        return f'{said}<div class="pair">{holders}</div>'

    return _panes(data, draw)


def _colours() -> str:
    return _choice("colours", [("own", "a scale for each"), ("same", "one scale for all")], "Scale")


def _simplex(data: Data) -> str:
    def draw(at: int, panel: Data) -> str:
        shown = [result for result in panel["results"] if result["simplex"]]
        if not shown:
            return '<p class="note">Contexts of one component: there is nothing to spread over.</p>'
        return f'{_selector(panel, shown, data)}<div class="{_fields(panel)}" data-simplex="{at}"></div>'

    return _panes(data, draw, _colours())


def _fields(panel: Data) -> str:
    return "fields lines" if panel["context_size"] == 2 else "fields"


def _selector(panel: Data, shown: list[Data], data: Data) -> str:
    if panel["context_size"] <= 3:
        return ""
    learners = [(one["learner"], data["learners"][one["learner"]]) for one in shown]
    options = "".join(f'<option value="{at}">{one["tag"]} {escape(one["label"])}</option>' for at, one in learners)
    return f'<p class="controls"><label>Learner <select data-learner>{options}</select></label></p>'


def _policies(data: Data) -> str:
    def draw(at: int, panel: Data) -> str:
        if panel["policies"] is None or not any(result["policy"] for result in panel["results"]):
            return '<p class="note">No learner here provides its policy, or the problem is too large.</p>'
        if panel["context_size"] > 3:
            return _policy_table(panel, data["learners"])
        return f'<div class="{_fields(panel)}" data-policies="{at}"></div>'

    return _panes(data, draw, _colours())


def _policy_table(panel: Data, learners: list[Data]) -> str:
    """Above three components: the contexts in rows."""
    results = [result for result in panel["results"] if result["policy"]]
    heads = ["context", "best policy", *(f"{learners[one['learner']]['tag']} above the best" for one in results)]
    rows = []
    for at, context in enumerate(panel["policies"]["contexts"]):
        mixed = ", ".join(
            f"{100 * share:.3g}% {name}" for share, name in zip(context, panel["components"], strict=True) if share
        )
        cells = [Cell(mixed), Cell(str(panel["policies"]["best"][at] + 1))]
        for result in results:
            gap, improper = result["policy"]["gap"][at], result["policy"]["improper"][at]
            cells.append(Cell("not proper" if improper else phrases.humanize(gap), None if improper else gap))
        rows.append(cells)
    return table(heads, rows, caption="How much more the learned policy loses than the best one", sortable=True)


def _failures(data: Data) -> str:
    if not data["failures"] and not data["missing"]:
        return "<p>None: every run has a result.</p>"
    parts = []
    for one in data["failures"]:
        where = ", ".join(one[kind] for kind in ("learner", "problem", "contexts") if one[kind])
        trace = f"<pre>{escape(one['traceback'])}</pre>" if one["traceback"] else ""
        parts.append(
            f"<details><summary><b>{escape(where)}, seed {escape(str(one['seed']))}</b>: {escape(one['error'])} "
            f"<code>{escape(one['id'])}</code></summary>{trace}</details>"
        )
    missing = [
        f"{one['learner']}, {one['problem']}, {one['contexts']}: not run yet, seeds {', '.join(map(str, one['seeds']))}"
        for one in data["missing"]
    ]
    return "".join(parts) + (_list(missing) if missing else "")


def _provenance(data: Data) -> str:
    found = data["provenance"]
    versions = "; ".join(f"{name} {', '.join(all_of)}" for name, all_of in sorted(found["versions"].items()))
    mixed = any(len(all_of) > 1 for all_of in found["versions"].values())
    warning = '<p class="warning">Runs were made with different versions.</p>' if mixed else ""
    timed = ""
    if found["seconds"]:
        timed = (
            f"<p>{found['timed']} timed runs took {phrases.humanize(found['seconds'])} seconds of computing in all.</p>"
        )
    rows = [
        [Cell(run["labels"][2]), Cell(run["labels"][0]), Cell(run["labels"][1]), Cell(str(run["seed"]), run["seed"]),
         Cell(run["id"])]
        for run in found["runs"]
    ]  # fmt: skip
    runs = table(["learner", "problem", "contexts", "seed", "id"], rows, caption="Runs", sortable=True, texts=5)
    allowed = "".join(f" --plugin {module}" for module in _plugins(data))
    command = f"goalbound run spec.toml --out {data['name']}-again{allowed}"
    version = ", ".join(found["versions"].get("goalbound", ["unknown"]))
    return f"""{warning}<p>Made with {escape(versions) or "unknown versions"}.</p>{timed}
<p>A run's id is a hash of its settings and its seed, and of what is not goalbound's own: a problem by its arrays, a
learner or a source of contexts by the source of its module and of those of the same package or folder that it imports.
With the same versions of all packages the same id gives the same record, to the byte.</p>
<details><summary>{len(found["runs"])} runs with their ids and seeds</summary>{runs}</details>
<h3>Run it again</h3>
<p>The file <code>spec.toml</code> beside this page says all. Records of the same id come out the same:</p>
<pre>{escape(command)}</pre>
<h3>Cite</h3>
<p>The goalbound authors: goalbound, linear contextual stochastic shortest path problems. Version {escape(version)}.<br>
{PAPER}.</p>"""


def _plugins(data: Data) -> list[str]:
    """The modules that the spec names, and that are to be allowed."""
    uses = [one["use"] for group in ("problems", "contexts", "learners") for one in data[group]]
    return sorted({use.partition(":")[0] for use in uses if ":" in use})


SECTIONS: Mapping[str, Callable[[Data], str]] = {
    "header": _header, "conclusions": _conclusions, "setup": _setup, "regret": _regret,
    "comparison": lambda data: comparison(data) + differences(data), "terms": _terms, "known": _known,
    "simplex": _simplex, "policies": _policies, "failures": _failures, "provenance": _provenance,
}  # fmt: skip
"""The placeholders of the template and their renderers."""
