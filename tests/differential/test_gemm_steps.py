"""The steps of the guide to asynchronous kernels compute NumPy's product to the bit, and the guide quotes them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.support import gemm_steps
from tests.support.gemm_steps import STEPS, gemm, operand_of, small_integers

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "pipelined-gemm.md"
DIFFERENT = [step for step in STEPS if step not in ("WGMMA", "two warpgroups")]
"""The last step is the kernel of those two, with more of everything."""


@pytest.mark.parametrize("step", DIFFERENT)
def test_a_step_agrees_with_numpy(step: str) -> None:
    """Six tiles along k: every stage is used, and one of them again. Small tiles compile faster."""
    x, w = small_integers(256, 192, 0), small_integers(64, 192, 1)
    y = np.full((256, 64), np.nan, np.float32)
    gemm(operand_of(x), operand_of(w), operand_of(y), step, 32, 32)
    np.testing.assert_array_equal(y, x.astype(np.float32) @ w.astype(np.float32).T)


def test_the_guide_quotes_the_steps() -> None:
    source = {line.strip() for line in Path(gemm_steps.__file__).read_text(encoding="utf-8").splitlines()}
    page = GUIDE.read_text(encoding="utf-8")
    quoted = [
        line.strip() for block in re.findall(r"^```py\n(.*?)^```$", page, re.M | re.S) for line in block.splitlines()
    ]
    assert len(quoted) > len(STEPS)
    assert [line for line in quoted if line and line not in source] == []
    assert [step for step in STEPS if f"| {step} |" not in page] == []
