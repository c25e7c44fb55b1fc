"""The reading paths say of each public example what the list of programs that run says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.blackwell_programs import PROGRAMS as BLACKWELL
from benchmarks.public_programs import PROGRAMS as UP_TO_HOPPER

PAGE = Path(__file__).resolve().parents[2] / "docs" / "knowledge" / "reading-paths.md"
PLACE = re.compile(r"(?<=<!-- list of programs -->\n)(.*?)(?=<!-- end of the list -->)", re.DOTALL)
STEP = re.compile(r"^\| `([\w/]+\.py)` \| [^|]+ \| (runs|imported) \|(.*)\|$", re.MULTILINE)
STEPS = 13
RANKS_OR_EXPERIMENTAL = ("/distributed/", "cute_ext/blackwell/")
PROGRAMS = UP_TO_HOPPER | {
    "Blackwell": {name: args for name, args in BLACKWELL.items() if not any(p in name for p in RANKS_OR_EXPERIMENTAL)}
}
RUNNING = {name for programs in PROGRAMS.values() for name in programs}
_TIERS = ("tracing", "threads", "tensor cores", "TMA and clusters", "WGMMA", "tensor memory, SM120")
NEEDS = dict(zip(PROGRAMS, _TIERS, strict=True))


def listed() -> str:
    rows = [f"| {NEEDS[tier]} | {', '.join(f'`{name}`' for name in names)} |" for tier, names in PROGRAMS.items()]
    return "\n".join(["", "| needs | programs |", "|---|---|", *rows, "", ""])


def test_each_step_has_its_state_and_what_to_run_instead() -> None:
    steps = STEP.findall(PAGE.read_text(encoding="utf-8"))
    assert len(steps) == STEPS
    for name, state, instead in steps:
        assert (state == "runs") == (name in RUNNING), name
        assert set(re.findall(r"`([\w/]+\.py)`", instead)) <= RUNNING, name
        assert state == "runs" or instead.strip(), name


def test_every_program_that_runs_is_listed(pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(PLACE.sub(lambda _: listed(), text), encoding="utf-8")
    assert PLACE.findall(PAGE.read_text(encoding="utf-8")) == [listed()], "run pytest tests/docs --update-golden"
