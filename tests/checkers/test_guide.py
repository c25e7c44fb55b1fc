"""What the guide shows is what is printed: kernels of the examples without a barrier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkers.removals import removals
from triptych.support.config import override
from triptych.support.findings import collecting
from triptych.tools.check import report_text

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels"
GUIDE = ROOT / "docs" / "guides" / "finding-faults.md"


def _softmax(names: dict[str, Any]) -> None:
    names["softmax"](np.ones((2, 200), np.float32), np.zeros((2, 200), np.float32))


def _transpose(names: dict[str, Any]) -> None:
    names["transpose"](np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32), names["PADDED"])


def _gemm(names: dict[str, Any]) -> None:
    names["tiled"](np.ones((32, 64), np.float32), np.ones((64, 32), np.float32), np.zeros((32, 32), np.float32))


@pytest.mark.parametrize(
    ("name", "barrier", "run"), [("softmax", 0, _softmax), ("transpose", 0, _transpose), ("gemm", 1, _gemm)]
)
def test_a_kernel_without_its_barrier(
    tmp_path: Path, name: str, barrier: int, run: Callable[[dict[str, Any]], None]
) -> None:
    fault = list(removals([KERNELS / f"{name}.py"]))[barrier]
    file = tmp_path / f"{name}.py"
    file.write_text(fault.text(), encoding="utf-8")
    names: dict[str, Any] = {"__name__": name, "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), names)
    with override(debug="races,init", threads=1, cache=False), collecting() as collection:
        run(names)
    printed = report_text(collection).replace(f"{tmp_path}/", "")
    assert printed in GUIDE.read_text(encoding="utf-8"), printed


def test_removals_are_lines_that_order() -> None:
    found = list(removals(sorted(KERNELS.glob("*.py"))))
    assert len(found) > 30
    assert all("(" in each.removed for each in found)
