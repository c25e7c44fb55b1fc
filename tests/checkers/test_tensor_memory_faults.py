"""Every planted fault of tensor memory, block scales and launch control has its row in the guide, with the text that
a user sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.checkers.block_scale_pairs import BLOCK_SCALES
from tests.checkers.launch_control_pairs import LAUNCH_CONTROL
from tests.checkers.pairs import Pair, is_found, judged
from tests.checkers.tensor_memory_pairs import TENSOR_MEMORY
from tests.golden import Golden

PAGE = Path(__file__).parents[2] / "docs/guides/tensor-memory-faults.md"
HEAD = "| what is wrong | code | what the report says |\n|---|---|---|\n"
DEADLOCK = "TT0622"
FAULTS = (*TENSOR_MEMORY, *BLOCK_SCALES, *LAUNCH_CONTROL)
NEWEST = len(TENSOR_MEMORY)


def row(pair: Pair, folder: Path) -> str:
    """What is said of a wrong program: the first error, in a row of the table."""
    verdict = judged(pair, folder, wrong=True)
    assert is_found(pair, verdict), "\n\n".join(verdict.texts)
    said = next(text for text in verdict.texts if text.startswith(f"[{pair.code}]") and pair.says in text)
    title = said.splitlines()[0].partition("] ")[2]
    found = re.search(r"^ *= found: (.*)$", said, re.MULTILINE)
    says = found[1].partition("; threads diverge")[0] if pair.code == DEADLOCK and found else title
    return f"| {pair.name} | {pair.code} | {says} |\n"


def page(rows: list[str]) -> str:
    """The guide with these rows in its table."""
    before, head, behind = PAGE.read_text(encoding="utf-8").partition(HEAD)
    assert head, "the guide has a table"
    rest = behind.partition("\n\n")[2]
    return before + head + "".join(rows) + (f"\n{rest}" if rest else "")


@pytest.mark.slow
def test_the_guide_says_what_users_see(golden: Golden, tmp_path: Path) -> None:
    golden.check(PAGE, page([row(pair, tmp_path) for pair in FAULTS]))


@pytest.mark.parametrize("pair", [*TENSOR_MEMORY[::6], *FAULTS[NEWEST + 1 :: 5]], ids=lambda pair: pair.name)
def test_a_row_is_what_users_see(pair: Pair, tmp_path: Path) -> None:
    assert row(pair, tmp_path) in PAGE.read_text(encoding="utf-8")
    right = judged(pair, tmp_path, wrong=False)
    assert not right.findings, "\n\n".join(right.texts)


def test_there_are_rows_for_all_rules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len({pair.name for pair in FAULTS}) == len(FAULTS) == text.count("| TT0")
