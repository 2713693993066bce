"""The pages of the gallery: experiments and pages that are made when the site is built, and the text about them.

python docs/_ext/gallery.py out/gallery            # a few minutes the first time; finished runs are reused
python docs/_ext/gallery.py out/gallery --quick    # seconds: one seed, few episodes; the pages say so
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "out" / "gallery"
"""Where ``make gallery`` puts the pages, for ``make docs`` to include."""


@dataclass(frozen=True)
class Exhibit:
    """A page of the gallery.

    Attributes:
        name: of its file.
        title, text: what is shown, and what to look at.
        command: of goalbound; it is given ``--out FOLDER`` too, or the page in it if it writes nothing else.
        page: that the command leaves in this folder.
    """

    name: str
    title: str
    text: str
    command: tuple[str, ...]
    page: str = "report.html"


EXHIBITS = (
    Exhibit(
        "demo", "The demo",
        "What `make demo` leaves: learners with and without the context, and a grid where the policy that is best on "
        "average never arrives.", ("demo",), "index.html",
    ),
    Exhibit(
        "first", "What is it worth to look at the patient?",
        "The experiment of [the first report](../start/first_report.md).", ("run", "experiments/first.toml"),
    ),
    Exhibit(
        "explorer", "Which way when the wind turns?",
        "A page of [the explorer](../how_to/explorer.md): drag the weather, and see the best way, its loss, and where "
        "it changes. The page solves the problem at every context.", ("explore", "windy-grid"), "explorer.html",
    ),
    Exhibit(
        "theorem", "Does the regret grow like the square root of the episodes?",
        "A tenth of the published size, which has a million episodes. Look at the growth exponent against the number "
        "of episodes.", ("run", "experiments/theorem.toml", "--set", "episodes=100_000"),
    ),
)  # fmt: skip


def build(folder: Path, *, quick: bool) -> None:
    """Runs what has not been run, and writes the pages and ``manifest.json``."""
    pages, runs = folder / "gallery", folder.parent / f"{folder.name}-runs"
    pages.mkdir(parents=True, exist_ok=True)
    listing = []
    for one in EXHIBITS:
        out = runs / f"{one.name}{'-quick' if quick else ''}"
        command = _command(one, quick)
        print("goalbound", *command, flush=True)
        target = out / one.page if one.command[0] == "explore" else out
        subprocess.run([sys.executable, "-m", "goalbound", *command, "--out", str(target)], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        shutil.copyfile(out / one.page, pages / f"{one.name}.html")
        listing.append({"name": one.name, "command": " ".join(("goalbound", *command)), **_size(out)})
    (folder / "manifest.json").write_text(json.dumps(listing, indent=2) + "\n")


def _command(one: Exhibit, quick: bool) -> list[str]:
    """With ``quick`` an experiment has the size that its file says for a quick look."""
    return [*one.command[:2], "--quick"] if quick and one.command[0] == "run" else [*one.command]


def _size(folder: Path) -> dict[str, Any]:
    """What was really run, from the records' own listing."""
    summary = folder / "summary.json"
    if not summary.exists():
        return {}
    groups = json.loads(summary.read_text())["groups"]
    return {"episodes": max(one["episodes"] for one in groups), "seeds": max(len(one["seeds"]) for one in groups)}


def listing_text(built: Path = BUILT) -> str:
    """The sections of the gallery's page, in Markdown."""
    manifest = built / "manifest.json"
    if not manifest.exists():
        return "This build of the site is without them: they take some minutes. `make gallery docs` makes them.\n"
    found = {one["name"]: one for one in json.loads(manifest.read_text())}
    return "\n".join(_section(one, found[one.name]) for one in EXHIBITS if one.name in found)


def _section(one: Exhibit, about: dict[str, Any]) -> str:
    size = f" {about['episodes']:,} episodes, {_seeds(about['seeds'])}." if "episodes" in about else ""
    return (
        f"## {one.title}\n\n{one.text}{size} Made by `{about['command']}`.\n\n"
        f'<p><a href="{one.name}.html">Open it in the whole window.</a></p>\n\n'
        f'<iframe src="{one.name}.html" title="{one.title}" loading="lazy" class="exhibit"></iframe>\n'
    )


def _seeds(number: int) -> str:
    return "one seed, so nothing can be said about who is ahead" if number == 1 else f"{number} seeds"


if __name__ == "__main__":
    build(Path(sys.argv[1]), quick="--quick" in sys.argv[2:])
