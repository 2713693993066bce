"""The page about the paper: its table is that of the claims, and what a claim names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guarantees.__main__ import PARTS
from guarantees.claims import DOCUMENT, RECOMPUTED, Claim, load_claims, measured, updated_document
from guarantees.result import Check, Result
from guarantees.statements import QUICK, statements
from tests.support.documents import ROOT, named_function

CLAIMS = load_claims()
PAGE = DOCUMENT.read_text(encoding="utf-8")


def test_the_page_has_the_table_of_the_claims() -> None:
    assert updated_document(PAGE, CLAIMS) == PAGE, "run python -m guarantees.claims"
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS) >= 40


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.key for claim in CLAIMS])
def test_what_a_claim_names_exists(claim: Claim) -> None:
    assert claim.functions
    assert claim.tests
    for function in claim.functions:
        holder, name = named_function(function)
        assert hasattr(holder, name), function
    for place in claim.tests:
        path, _, test = place.partition("::")
        assert re.search(rf"^def {test or 'test_'}", (ROOT / path).read_text(), re.MULTILINE), place
    assert set(claim.parts) <= set(PARTS)
    if claim.change:
        assert f"\n### {claim.title}\n" in PAGE


def test_every_recomputed_statement_is_about_a_claim_and_the_other_way_round() -> None:
    keys = {check.claim.partition(":")[0] for check in statements(QUICK).checks}
    assert keys == {claim.key for claim in CLAIMS if RECOMPUTED in claim.parts}


def test_links_within_the_page_lead_to_a_heading() -> None:
    headings = {re.sub(r"[^\w-]", "", line.lstrip("# ").lower().replace(" ", "-")) for line in PAGE.splitlines()
                if line.startswith("#")}  # fmt: skip
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= headings


def test_a_claim_says_what_held_in_this_run() -> None:
    claim = next(claim for claim in CLAIMS if claim.parts == ("b", "l"))
    b = Result("b", "", "", [Check("x", True, ""), Check("y", True, "")], [], [])
    other = Result("l", "", "", [Check(f"{claim.key}: z", False, ""), Check("another: z", True, "")], [], [])
    assert measured(claim, []) == ("b: not run; l: not run", "")
    assert measured(claim, [b]) == ("b: 2 of 2 hold; l: not run", "held")
    assert measured(claim, [b, other]) == ("b: 2 of 2 hold; l: 0 of 1 hold", "failed")


def test_a_claim_that_is_corrected_says_what_has_to_be_changed(tmp_path: Path) -> None:
    table = tmp_path / "claims.toml"
    fields = 'title = "x"\nplace = ""\nsays = ""\nhow = ""\nfunctions = []\ntests = []\nparts = []\nchange = ""\n'
    for status in ("corrected", "proven"):
        table.write_text(f'[[claim]]\n{fields}status = "{status}"\n')
        with pytest.raises(ValueError, match=status):
            load_claims(table)
    with pytest.raises(ValueError, match="two places"):
        updated_document("# A page\n", CLAIMS)
