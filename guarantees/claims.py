"""The paper, claim by claim: the table of ``claims.toml``, as Markdown for the documentation and as rows of the page.

``python -m guarantees.claims`` writes the table and the list of ``docs/theory/paper_checked.md`` anew.
"""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guarantees.result import Check, Result

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).with_name("claims.toml")
DOCUMENT = ROOT / "docs" / "theory" / "paper_checked.md"
BEGIN, END = "<!-- claims: written by python -m guarantees.claims -->", "<!-- end of claims -->"
STATUSES = ("verified", "corrected", "open")
RECOMPUTED = "l"
"""The part whose checks are each about one claim, and begin with its key."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what was found.

    Attributes:
        title: its name here.
        place: where it stands in the paper.
        says: what it says, in our words.
        status: verified, corrected (what stands there is not right as printed), or open.
        how: how it was checked.
        change: what has to be changed; empty if nothing.
        functions: where it is implemented.
        tests: what would fail if it were wrong; a file, or a file and a function.
        parts: letters of the parts of ``make paper`` that measure it.
    """

    title: str
    place: str
    says: str
    status: str
    how: str
    change: str
    functions: tuple[str, ...]
    tests: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def key(self) -> str:
        """The title as an anchor.

        >>> Claim("Line 13", "", "", "verified", "", "", (), (), ()).key
        'line-13'
        """
        return re.sub(r"[^\w-]", "", self.title.lower().replace(" ", "-"))


def load_claims(path: Path = SOURCE) -> tuple[Claim, ...]:
    """The table. A status that is none, or a claim that is corrected without a change, is an error."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    lists = ("functions", "tests", "parts")
    claims = tuple(Claim(**{key: tuple(x) if key in lists else x for key, x in entry.items()}) for entry in entries)
    for claim in claims:
        if claim.status not in STATUSES or bool(claim.change) == (claim.status == "verified"):
            raise ValueError(
                f"{path.name}, {claim.title!r}: status {claim.status!r}, change {claim.change!r}; a status is one of "
                f"{', '.join(STATUSES)}, and what is verified needs no change, all else does"
            )
    return claims


def checks_of(claim: Claim, results: Sequence[Result]) -> dict[str, list[Check]]:
    """The checks of each part of a claim that was run."""
    return {
        result.part: [
            check for check in result.checks if result.part != RECOMPUTED or check.claim.startswith(f"{claim.key}: ")
        ]
        for result in results
        if result.part in claim.parts
    }


def measured(claim: Claim, results: Sequence[Result]) -> tuple[str, str]:
    """What the parts of this run say of a claim, and a class for it: "held", "failed" or "".

    >>> claim = Claim("Goal", "", "", "verified", "", "", (), (), ("b", "l"))
    >>> measured(claim, [Result("b", "", "", [Check("x", False, "0 of 3")], [], [])])
    ('b: 0 of 1 hold; l: not run', 'failed')
    """
    if not claim.parts:
        return "no measured part", ""
    found = checks_of(claim, results)
    words = [
        f"{part}: {sum(check.held for check in found[part])} of {len(found[part])} hold" if part in found
        else f"{part}: not run"
        for part in claim.parts
    ]  # fmt: skip
    held = all(check.held for checks in found.values() for check in checks)
    return "; ".join(words), ("held" if held else "failed") if found else ""


def count_by_status(claims: Sequence[Claim]) -> str:
    """Such as "19 verified, 22 corrected"; what does not occur is not named."""
    counts = {status: sum(claim.status == status for claim in claims) for status in STATUSES}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count)


def markdown_table(claims: Sequence[Claim]) -> str:
    """The table of the documentation: what each claim says, and what was found."""
    lines = ["| claim | what it says | found |", "|---|---|---|"]
    for claim in claims:
        title = f"[{claim.title}](#{claim.key})" if claim.change else claim.title
        found = f"**corrected.** {claim.change}" if claim.change else f"{claim.status}: {claim.how}"
        cells = [f"**{title}**<br>{claim.place}", claim.says, found]
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |")
    return "\n".join(lines)


def markdown_places(claims: Sequence[Claim]) -> str:
    """Where each claim is implemented, tested and measured, as a list."""
    lines = []
    for claim in claims:
        places = (name.replace("::", "`: `") for name in (*claim.functions, *claim.tests))
        names = ", ".join(f"`{name}`" for name in places)
        parts = f"; measured in part {', '.join(claim.parts)}" if claim.parts else ""
        lines.append(f"- **{claim.title}** ({claim.how}): {names}{parts}")
    return "\n".join("\n  ".join(_wrapped(line)) for line in lines)


def updated_document(text: str, claims: Sequence[Claim]) -> str:
    """The page with the table between the first two marks, and the list of places between the next two."""
    if (text.count(BEGIN), text.count(END)) != (2, 2):
        raise ValueError(f"{DOCUMENT.name} needs two places for what is written here, from {BEGIN!r} to {END!r}")
    count = f"{len(claims)} claims: {count_by_status(claims)}."
    written = iter((f"{count}\n\n{markdown_table(claims)}", markdown_places(claims)))
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{next(written)}\n\n{END}", text)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, 118, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    DOCUMENT.write_text(updated_document(DOCUMENT.read_text(encoding="utf-8"), load_claims()), encoding="utf-8")
