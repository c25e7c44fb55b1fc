"""What the guide shows is what is printed: a kernel of the examples without its barrier."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.checkers.removals import removals
from triptych.support.config import override
from triptych.support.findings import collecting
from triptych.tools.check import report_text

ROOT = Path(__file__).parents[2]
SOFTMAX = ROOT / "examples" / "kernels" / "softmax.py"
GUIDE = ROOT / "docs" / "guides" / "finding-faults.md"


def test_softmax_without_its_barrier(tmp_path: Path) -> None:
    fault = next(removals([SOFTMAX]))
    file = tmp_path / "softmax.py"
    file.write_text(fault.text(), encoding="utf-8")
    names: dict[str, object] = {"__name__": "softmax"}
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), names)
    softmax = names["softmax"]
    assert callable(softmax)
    with override(debug="races,init", threads=1, cache=False), collecting() as collection:
        softmax(np.ones((2, 200), np.float32), np.zeros((2, 200), np.float32))
    printed = report_text(collection).replace(f"{tmp_path}/", "")
    assert printed in GUIDE.read_text(encoding="utf-8"), printed


def test_removals_are_lines_that_order() -> None:
    found = list(removals(sorted(SOFTMAX.parent.glob("*.py"))))
    assert len(found) > 30
    assert all("(" in each.removed for each in found)
