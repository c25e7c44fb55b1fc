"""The listings of the guide "what would be slow" are what `triptych check --costs` prints for the examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triptych.workbench.commands.check import CostRequest
from triptych.workbench.commands.costs import check_costs

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "what-would-be-slow.md"
IMAGE = ROOT / "docs" / "guides" / "images" / "costs-transpose-plain.svg"


def without_seconds(text: str) -> str:
    return re.sub(r"\d+\.\d\d s each", "S s each", text)


@pytest.mark.parametrize("name", ["transpose", "gemm", "softmax"])
def test_listing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    wants_picture = name == "transpose"
    request = CostRequest(f"examples/kernels/{name}.py", svg=str(tmp_path) if wants_picture else "")
    assert check_costs(request) == 0
    printed = capsys.readouterr().out
    listing, table = printed.split("\n\n")[:2]
    assert f"```text\n{without_seconds(listing)}\n```" in without_seconds(GUIDE.read_text(encoding="utf-8")), listing
    assert table.startswith("a block takes ")
    if wants_picture:
        made = (tmp_path / "transpose_tile-line43-shared.svg").read_text(encoding="utf-8")
        assert made == IMAGE.read_text(encoding="utf-8")
