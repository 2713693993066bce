"""Runs the tutorial about patients at full size: its numbers and its picture come from here, not from a keyboard.

    python docs/tutorial/make_patients.py sepsis_diab_tables.npz

The python blocks of patients.md are run in order (some six minutes). What a block printed replaces the text block that
follows it, and docs/images/patients.png is drawn from what the blocks leave behind.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAGE = Path(__file__).with_name("patients.md")
PICTURE = Path(__file__).parents[1] / "images" / "patients.png"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)
COLOURS = ("#1b6ca8", "#c8553d", "#6a994e", "#8d8d8d")


def run_page(table: Path, *, change: Callable[[str], str] = lambda code: code) -> tuple[dict, list[str]]:
    """Runs the blocks in the present folder, with ``TABLE`` set; their names, and what each printed."""
    names: dict = {"TABLE": table}
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


def draw(rows: list[dict], optimum: list[float], groups: tuple[str, ...]) -> None:
    """What each learner's plan loses in each group, after so many patients; one panel for each group."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharex=True, sharey=True, constrained_layout=True)
    for group, axes in enumerate(panels):
        for colour, name in zip(COLOURS, dict.fromkeys(row["learner"] for row in rows), strict=True):
            mine = [row for row in rows if row["learner"] == name]
            losses = [row["losses"][group] for row in mine]
            if not all(map(math.isfinite, losses)):
                raise ValueError(f"{name}: a plan loses {losses}; what is infinite cannot be drawn, say it in words")
            axes.plot([row["patients"] for row in mine], losses, "o-", color=colour, label=name)
        axes.axhline(optimum[group], color="black", linestyle=":", label="optimum")
        axes.set(xscale="log", yscale="log", xlabel="patients (seed 1)", title=groups[group])
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("expected loss of the plan")
    panels[0].set_yticks([1, 2, 4, 8, 16], labels=["1", "2", "4", "8", "16"])
    panels[0].minorticks_off()
    panels[1].legend(frameon=False, fontsize=9)
    figure.savefig(PICTURE, dpi=130)


def main() -> None:
    """Fill the page and draw the picture."""
    table = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        names, printed = run_page(table)
    PAGE.write_text(with_outputs(PAGE.read_text(), printed))
    draw(names["rows"], names["optimum"], names["problem"].component_names)


if __name__ == "__main__":
    main()
