"""What the guide shows is what is printed: kernels of the examples without one of their barriers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkers.removals import Removal, removals
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.workbench.commands.check import report_text

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "examples" / "kernels"
GUIDE = ROOT / "docs" / "guides" / "missing-barriers.md"


def _without_barrier(name: str, which: int) -> Removal:
    found = [each for each in removals([KERNELS / f"{name}.py"]) if "sync_threads" in each.removed]
    return found[which]


def _call(names: dict[str, Any]) -> None:
    def ones(*shape: int) -> np.ndarray:
        return np.ones(shape, np.float32)

    if "softmax" in names:
        names["softmax"](ones(2, 200), ones(2, 200))
    elif "transpose" in names:
        names["transpose"](ones(32, 32), ones(32, 32), names["PADDED"])
    else:
        names["tiled"](ones(32, 64), ones(64, 32), ones(32, 32))


@pytest.mark.parametrize(("name", "barrier"), [("transpose", 0), ("softmax", 0), ("gemm", 1)])
def test_a_kernel_without_its_barrier(name: str, barrier: int, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    fault = _without_barrier(name, barrier)
    file = tmp_path / f"{name}.py"
    file.write_text(fault.text(), encoding="utf-8")
    names: dict[str, Any] = {"__name__": name, "__file__": str(file)}
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), names)
    with override(debug="races,init", threads=1, cache=False), collecting() as collection:
        _call(names)
    printed = report_text(collection).replace(f"{tmp_path}/", "")
    page = GUIDE.read_text(encoding="utf-8")
    shown = re.search(rf"^`{name}\.py` without [^\n]* in line (\d+)[^\n]*\n\n```text\n(.*?)\n```$", page, re.M | re.S)
    assert shown is not None
    if pytestconfig.getoption("--update-golden"):
        GUIDE.write_text(page.replace(shown[2], printed.rstrip("\n")), encoding="utf-8")
        return
    assert shown[2] == printed.rstrip("\n")
    assert int(shown[1]) == fault.line


def test_removals_are_lines_that_order() -> None:
    found = list(removals(sorted(KERNELS.glob("*.py"))))
    assert len(found) > 30
    for each in found:
        line, (begin, end) = each.file.read_text(encoding="utf-8").splitlines()[each.line - 1], each.columns
        assert each.removed == line[begin:end]
        assert "(" in each.removed or "<" in each.removed
