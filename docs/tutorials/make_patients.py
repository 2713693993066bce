"""Runs the tutorial about patients at full size: its numbers and its picture come from here, not from a keyboard.

    python docs/tutorials/make_patients.py

The python blocks of patients.md are run in order (some four minutes). What a block printed replaces the text block
that follows it, and docs/images/patients.png is drawn from what the blocks leave behind.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # the page imports patient_table.py

PAGE = Path(__file__).with_name("patients.md")
PICTURE = Path(__file__).parents[1] / "images" / "patients.png"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)
BINS = 12
COLOURS = ("#1b6ca8", "#8e5ea2", "#c8553d", "#6a994e", "#8d8d8d")


def run_page(*, change: Callable[[str], str] = lambda code: code) -> tuple[dict, list[str]]:
    """Runs the blocks in the present folder; their names, and what each printed."""
    names: dict = {}
    printed = []
    for found in BLOCK.finditer(PAGE.read_text()):
        out = io.StringIO()
        began = time.perf_counter()
        with contextlib.redirect_stdout(out):
            exec(compile(change(found["code"]), f"{PAGE.name}, block {len(printed)}", "exec"), names)
        print(f"block {len(printed)}: {time.perf_counter() - began:.1f} s", file=sys.stderr)
        printed.append(out.getvalue())
    return names, printed


def with_outputs(page: str, printed: list[str]) -> str:
    """The page with each text block replaced by what the python block before it printed."""
    outputs = iter(printed)

    def replaced(found: re.Match[str]) -> str:
        output = next(outputs)
        if found["text"] is None:
            return found[0]
        first, last = (place - found.start() for place in found.span("text"))
        return found[0][:first] + output + found[0][last:]

    return BLOCK.sub(replaced, page)


def draw(runs: dict[str, list], groups: tuple[str, ...], picture: Path = PICTURE) -> None:
    """Regret per patient in each group, by the number of patients of that group; mean, least and most of the seeds."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, constrained_layout=True)
    for group, axes in enumerate(panels):
        for colour, (name, histories) in zip(COLOURS, runs.items(), strict=False):
            regrets = [history.expected_regret[history.contexts[:, group] == 1.0] for history in histories]
            shortest = min(map(len, regrets))
            ends = np.unique(np.geomspace(min(10, shortest), shortest, BINS).astype(int))
            means = np.array([[part.mean() for part in np.split(one[: ends[-1]], ends[:-1])] for one in regrets])
            middle = np.sqrt(np.concatenate(([1], ends[:-1])) * ends)
            axes.fill_between(middle, means.min(axis=0), means.max(axis=0), color=colour, alpha=0.15, linewidth=0)
            axes.plot(middle, means.mean(axis=0), "o-", markersize=3.5, color=colour, label=name)
        axes.set(xscale="log", yscale="log", xlabel=f"patients of {groups[group]} so far", title=groups[group])
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("regret per patient")
    panels[0].legend(frameon=False, fontsize=9)
    figure.savefig(picture, dpi=130)


def main() -> None:
    """Fill the page and draw the picture."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names, printed = run_page()
    PAGE.write_text(with_outputs(PAGE.read_text(), printed))
    draw(names["runs"], names["GROUPS"])


if __name__ == "__main__":
    main()
