"""The figures of README and of the pages width_scale, covariates and explorer, from results, the demo and the explorer.

goalbound demo
goalbound explore windy-grid
goalbound run experiments/first.toml
goalbound run experiments/width-scale.toml
goalbound run experiments/width-scale-gymnasium.toml
goalbound run experiments/covariates.toml
python docs/images/make_figures.py out            # the folder of the results
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from goalbound.experiments.figures.style import (
    INK,
    SOFT,
    LineStyle,
    figure_style,
    power_of_ten,
    save_figure,
    styles,
)
from goalbound.experiments.record_file import read_record
from goalbound.experiments.summary import Group, summarize

PRACTICAL = 0.5
"""The scale of ``LRCSSP.scaled``."""
TICKS = (1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
SEEN = ("blind", "line", "3 hats", "5 hats", "9 hats", "all 33")


def groups_of(folder: Path) -> list[Group]:
    """The summed runs of a folder of results."""
    return list(summarize(read_record(path) for path in sorted((folder / "records").iterdir())).groups)


def scale_of(learner: str) -> float | None:
    """0.5 of ``0.5 x sharp, full support``; None for the widths of the paper."""
    found = re.match(r"(?:([0-9.]+) x )?sharp", learner)
    return None if found is None else float(found[1] or 1.0)


def by_problem(groups: Iterable[Group]) -> dict[str, dict[float, Group]]:
    """The groups of each problem by scale; a full support is a problem of its own."""
    found: dict[str, dict[float, Group]] = {}
    for group in groups:
        scale = scale_of(group.learner)
        if scale is not None:
            _, comma, known = group.learner.partition(",")
            found.setdefault(group.problem + comma + known, {})[scale] = group
    return {name: dict(sorted(scales.items())) for name, scales in found.items()}


def width_scale_figure(groups: Iterable[Group]) -> Figure:
    """Regret relative to the best scale of each problem, and how often the intervals held the truth."""
    figure = Figure(figsize=(7.2, 4.0), layout="constrained")
    regret, coverage = figure.subplots(1, 2)
    found = by_problem(groups)
    looks = styles(sorted(found))
    for name, scales in sorted(found.items()):
        means = np.array([group.expected_regret.mean for group in scales.values()])
        worst = np.array([max(group.expected_regret.values) for group in scales.values()])
        colour, dash, marker = looks[name]
        style: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dash}
        regret.plot(list(scales), means / means.min(), label=name, **style)
        regret.plot(list(scales), worst / means.min(), color=colour, linewidth=0.5, alpha=0.7)
        coverage.plot(list(scales), [group.coverage.mean for group in scales.values()], **style)
    for axes in (regret, coverage):
        axes.set_xscale("log")
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        axes.invert_xaxis()
        axes.set_xlabel("scale")
        axes.axvline(PRACTICAL, color=SOFT, linewidth=0.8, linestyle=":")
    regret.set_yscale("log")
    regret.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    regret.minorticks_off()
    regret.set_title("regret, over that of the problem's best scale (thin: the worst seed)", loc="left", fontsize=7)
    coverage.set_title("intervals that began with the truth in all sets", loc="left", fontsize=7)
    coverage.set_yticks([0.0, 0.5, 1.0], ["0%", "50%", "100%"])
    coverage.text(0.47, 1.02, "LRCSSP.scaled", fontsize=6.5, color=SOFT)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=7)
    return figure


def covariates_figure(groups: Iterable[Group]) -> Figure:
    """Regret over episodes by what the learner sees, with proven intervals and with those of the practical scale."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    proven, practical = figure.subplots(1, 2, sharey=True)
    named = {group.learner: group for group in groups}
    proven.set_title("proven intervals", loc="left")
    practical.set_title(f"{PRACTICAL:g} x widths, not proven", loc="left")
    for axes, ending in ((proven, ""), (practical, f", {PRACTICAL:g} x widths")):
        for seen, look in styles(SEEN).items():
            draw_course(axes, named[seen + ending], look, seen)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(100, named[SEEN[0]].episodes)
        axes.set_ylim(10, 5e4)
        axes.xaxis.set_major_formatter(power_of_ten)
        axes.yaxis.set_major_formatter(power_of_ten)
        axes.minorticks_off()
        axes.set_xlabel("episodes")
    proven.set_ylabel("cumulative expected regret")
    handles = [line for line in proven.get_lines() if not str(line.get_label()).startswith("_")]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=7, handlelength=3)
    return figure


def draw_course(axes: Any, group: Group, look: LineStyle, label: str) -> None:
    """The mean and its band, and a bar where a learner found the environment not linear in what it sees."""
    curve = group.regret_curve
    axes.plot(curve.episode, curve.mean, color=look.colour, linestyle=look.dash, label=label)
    if curve.low is not None:
        axes.fill_between(curve.episode, curve.low, curve.high, color=look.colour, alpha=0.15, linewidth=0.0)
    for alarm in filter(None, group.alarms):
        found = re.match(r"episode (\d+):", alarm)
        if found:
            at = int(found[1])
            axes.plot(at, np.interp(at, curve.episode, curve.mean), "|", color=INK, markersize=9)


def photograph(
    page: Path, path: Path, *, chart: str | None, size: tuple[int, int], whole: bool = False, at: str = ""
) -> None:
    """A page as PNG, in headless Chromium, when a chart has been drawn: the first screen, or the chart alone.

    Without a chart it is the explorer, when the regions of its policies are drawn; ``at`` is the end of its address.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get(page.resolve().as_uri() + at)
        holder = browser.find_element("css selector", "body" if chart is None else f"[data-chart='{chart}']")
        drawn = "return Boolean(arguments[0]._fullLayout || arguments[0].dataset.regions)"
        WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(drawn, holder))
        path.write_bytes(browser.get_screenshot_as_png() if whole else holder.screenshot_as_png)
    finally:
        browser.quit()


def main(results: Path) -> None:
    """Draw all that has results."""
    here = Path(__file__).parent
    if (results / "first" / "report.html").exists():
        photograph(
            results / "first" / "report.html", here / "report.png", chart="regret-1", size=(1400, 720), whole=True
        )
    if (results / "demo" / "index.html").exists():
        photograph(results / "demo" / "index.html", here / "demo.png", chart="regret", size=(1400, 720))
    if (results / "explore-windy-grid.html").exists():
        photograph(
            results / "explore-windy-grid.html", here / "explorer.png", chart=None, size=(1400, 760), whole=True,
            at="#c=0.55,0.2,0.25&state=8",
        )  # fmt: skip
    with figure_style():
        width_scale = [results / name for name in ("width-scale", "width-scale-gymnasium") if (results / name).exists()]
        if width_scale:
            save_figure(
                width_scale_figure(group for folder in width_scale for group in groups_of(folder)),
                here,
                "width_scale",
                ["png"],
            )
        if (results / "covariates").exists():
            save_figure(covariates_figure(groups_of(results / "covariates")), here, "covariates", ["png"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
