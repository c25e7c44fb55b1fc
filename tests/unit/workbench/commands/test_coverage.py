"""Which public names programs use: read from their source, and sorted by what is here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych import compat
from triptych.compat.public_names import TIERS, public_names, tier_of
from triptych.workbench.commands.cli import main
from triptych.workbench.commands.coverage import CoverageError, canonical, coverage, programs, uses

PROGRAM = """
import cutlass
import cutlass.cute as cute
import cutlass.utils.blackwell_helpers as sm100
from cutlass import Float32 as F
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.core import Layout
import numpy as np

fields = cute.arch

@cute.jit
def f(x: cute.Tensor, n: cutlass.Constexpr):
    cute.copy(cpasync.LoadCacheMode.GLOBAL, np.zeros(3))
    sm100.make_trivial_tiled_mma(cutlass.Float32.width)
    return fields.prefetch, x.load().cute.nothing, cute.make_layuot((3,))
"""


def written(folder: Path, text: str = PROGRAM, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_names_are_followed_through_aliases(tmp_path: Path) -> None:
    found = {use.name: use.line for use in uses(written(tmp_path))}
    assert found == {
        "cutlass.Float32": 5,
        "cutlass.cute.Layout": 7,
        "cutlass.cute.jit": 12,
        "cutlass.cute.Tensor": 13,
        "cutlass.Constexpr": 13,
        "cutlass.cute.copy": 14,
        "cutlass.cute.nvgpu.cpasync.LoadCacheMode": 14,
        "cutlass.utils.blackwell_helpers.make_trivial_tiled_mma": 15,
        "cutlass.cute.arch.prefetch": 16,
        "cutlass.cute.make_layuot": 16,
    }


def test_a_module_of_one_tier_has_no_names_of_others() -> None:
    assert tier_of("cutlass.cute.nvgpu.tcgen05.copy") == "T5"
    assert tier_of("cutlass.cute.copy") == "T1"
    assert tier_of("cutlass.cutlass_dsl.Int64") == "T1"


def test_modules_near_a_program_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    written(folder, "from cutlass import Int64\nimport beside\n", "deeper.py")
    written(folder, "import deeper\nimport json\nfrom cutlass.cute import Layout\n", "beside.py")
    (tmp_path / "helpers").mkdir()
    around = written(tmp_path / "helpers", "import cutlass.cute as cute\nf = cute.size\n", "around.py")
    program = written(folder, "import beside, cutlass\nfrom helpers import around\n", "program.py")
    assert programs(program) == [program, folder / "beside.py", around, folder / "deeper.py"]
    names = {name["name"] for name in json.loads(coverage([program], as_json=True))["names"]}
    assert names == {"cutlass.Int64", "cutlass.cute.Layout", "cutlass.cute.size"}


@pytest.mark.parametrize(
    ("dotted", "name"),
    [
        ("cutlass", None),
        ("cutlass.cute.nvgpu", None),
        ("cutlass.cute.core.Layout", "cutlass.cute.Layout"),
        ("cutlass.cute.arch.nvvm_wrappers.fmax", "cutlass.cute.arch.fmax"),
        ("cutlass.experimental.cuda.anything.more", "cutlass.experimental.cuda.anything"),
        ("numpy.zeros", None),
    ],
)
def test_public_name_of_a_path(dotted: str, name: str | None) -> None:
    assert canonical(dotted) == name


def test_report_says_what_is_here(tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, "import cutlass.cute as cute\nprint(cute.size(3))\n", "complete.py")
    written(tmp_path, "def f(:\n", "broken.py")
    cells = [{"cell_type": "code", "source": ["%pip list\n", "from cutlass import Int32"]}, {"cell_type": "markdown"}]
    written(tmp_path, json.dumps({"cells": cells}), "notebook.ipynb")
    facts = json.loads(coverage([tmp_path], as_json=True))
    names = {name["name"]: name for name in facts["names"]}
    assert facts["files"] == 3
    assert [Path(file).name for file in facts["complete_files"]] == ["complete.py", "notebook.ipynb"]
    assert [Path(file).name for file in facts["unreadable"]] == ["broken.py"]
    assert names["cutlass.Int32"]["is_here"]
    assert names["cutlass.Int32"]["first"] == f"{tmp_path / 'notebook.ipynb'}:2"
    group = names["cutlass.cute.arch.prefetch"]
    assert (group["is_here"], group["tier"], group["next"]) == (False, "T5", TIERS["T5"].when)
    assert names["cutlass.cute.make_layuot"]["tier"] == "other"
    assert not compat.is_active()


def test_text_has_the_tiers_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(written(tmp_path))]) == 0
    text = capsys.readouterr().out
    assert "1 of 1 files use the language; 0 of them only names that are here" in text
    assert "not here: T5, SM100: tcgen05, tensor memory" in text
    assert "cutlass.cute.arch.prefetch" in text
    assert "cutlass.cute.copy" not in text


def test_path_that_is_not_there() -> None:
    with pytest.raises(CoverageError, match="there is no"):
        coverage([Path("no_such_folder")])


def test_a_public_name_is_counted_in_the_tier_of_the_table() -> None:
    """Whatever another module it could be found under: `canonical` names the module that the table has."""
    counted = {name: canonical(name) for name in public_names()}
    wrong = {name: other for name, other in counted.items() if other and tier_of(other) != tier_of(name)}
    assert wrong == {}


def test_public_names_belong_to_known_tiers() -> None:
    assert len(public_names()) == 681
    assert set(public_names().values()) == set(TIERS)
