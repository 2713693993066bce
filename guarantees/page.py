"""A page with all results that are there: one HTML file, pictures inside, that loads nothing."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from goalbound import __version__
from guarantees.result import Result, format_cell

STYLE = """
:root { color-scheme: light; --ink: #1f2733; --soft: #626d7f; --rule: #dad6cc; --bad: #c2410c; --good: #0c6b62; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 3rem; max-width: 70rem; background: #fbfaf7; color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .6rem; } h2 { font-size: 1.15rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0 .8rem; max-width: 52rem; } .soft, footer { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; margin: .6rem 0; }
th, td { padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--rule); text-align: left; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
ul { padding-left: 1.1rem; } li.held::marker { content: "\\2713  "; color: var(--good); }
li.failed::marker { content: "\\2717  "; color: var(--bad); } li.failed { color: var(--bad); }
img { max-width: 100%; height: auto; margin: .6rem 0; }
"""


def write_page(folder: Path) -> None:
    """Write ``index.html`` from the results in a folder."""
    results = [Result.load(path) for path in sorted(folder.glob("?.json"))]
    parts = "".join(_part(result, folder) for result in results)
    held = sum(check.held for result in results for check in result.checks)
    total = sum(len(result.checks) for result in results)
    text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>goalbound: the paper's claims</title><style>{STYLE}</style></head><body>
<h1>The paper's claims, measured</h1>
<p>{held} of {total} checks hold. The paper is "Regret Guarantees for Linear Contextual Stochastic Shortest Path"
(D. Polikar, A. Cohen); measured with goalbound {__version__} by <code>python -m guarantees</code>.</p>
{parts}</body></html>
"""
    (folder / "index.html").write_text(text, encoding="utf-8")


def _part(result: Result, folder: Path) -> str:
    checks = "".join(
        f'<li class="{"held" if check.held else "failed"}">{escape(check.claim)}: {escape(check.numbers)}</li>'
        for check in result.checks
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in result.columns)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in result.rows)
    notes = "".join(f'<p class="soft">{escape(remark)}.</p>' for remark in result.remarks)
    return (
        f'<h2>{escape(result.part)}. {escape(result.title)}</h2><p class="soft">{escape(result.setting)}. '
        f"{result.seconds:.0f} s.</p><ul>{checks}</ul>{_picture(result, folder)}"
        f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>{notes}'
    )


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{' class=number' if number else ''}>{escape(format_cell(value))}</td>"


def _picture(result: Result, folder: Path) -> str:
    path = folder / f"{result.part}.svg"
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(result.title)}" src="data:image/svg+xml;base64,{data}">'
