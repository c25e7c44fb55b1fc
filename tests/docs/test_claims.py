"""Every claim of guides to CuTe DSL kernels has its state here, a proof that runs, and a row of the page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.claims import CLAIMS, ROOT, Claim

PAGE = ROOT / "docs" / "guides" / "cute-dsl-claims.md"
PLACE = re.compile(r"(?<=<!-- tests/docs/claims.py -->\n)(.*?)(?=<!-- end of the table -->)", re.DOTALL)
STATES = ("same", "better", "different", "missing")


def table() -> str:
    counts = Counter(claim.state for claim in CLAIMS)
    said = ", ".join(f"{counts[state]} {state}" for state in STATES)
    rows = [f"| {claim.there} | {claim.state} | {claim.here} |" for claim in CLAIMS]
    return "\n".join(
        ["", f"{len(CLAIMS)} rows: {said}.", "", "| there | state | here |", "|---|---|---|", *rows, "", ""]
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.there)
def test_claim_holds(claim: Claim, tmp_path: Path) -> None:
    assert claim.state in STATES
    claim.prove(tmp_path)


def test_the_page_has_every_row(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(PLACE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    assert PLACE.findall(PAGE.read_text(encoding="utf-8")) == [table()], "run pytest tests/docs --update-golden"
