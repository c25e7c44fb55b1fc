"""Which public names programs use: read from their source, and sorted by what is here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych import compat
from triptych.compat.public_names import TIERS, public_names, tier_of
from triptych.workbench.commands.cli import main
from triptych.workbench.commands.coverage import CoverageError, coverage
from triptych.workbench.commands.public_uses import Sources, canonical

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
    return fields.sext_unpacked_i4_i8_intrinsic, x.load().cute.nothing, cute.make_layuot((3,))
"""


def written(folder: Path, text: str = PROGRAM, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_names_are_followed_through_aliases(tmp_path: Path) -> None:
    found = {use.name: use.line for use in Sources().uses(written(tmp_path))}
    assert found == {
        "cutlass.Float32": 5,
        "cutlass.cute.Layout": 7,
        "cutlass.cute.jit": 12,
        "cutlass.cute.Tensor": 13,
        "cutlass.Constexpr": 13,
        "cutlass.cute.copy": 14,
        "cutlass.cute.nvgpu.cpasync.LoadCacheMode": 14,
        "cutlass.utils.blackwell_helpers.make_trivial_tiled_mma": 15,
        "cutlass.cute.arch.sext_unpacked_i4_i8_intrinsic": 16,
        "cutlass.cute.make_layuot": 16,
        "cutlass.cute.TensorSSA.cute": 16,
    }


def test_a_module_of_one_tier_has_no_names_of_others() -> None:
    assert tier_of("cutlass.cute.nvgpu.tcgen05.copy") == "T5"
    assert tier_of("cutlass.cute.copy") == "T1"
    assert tier_of("cutlass.cutlass_dsl.Int64") == "T1"


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("cutlass._mlir.dialects.nvvm.tcgen05_alloc", "T5"),
        ("cutlass._mlir.dialects.nvvm.Tcgen05WaitKind", "T5"),
        ("cutlass.cute.arch.issue_clc_query", "T5"),
        ("cutlass._mlir.dialects.nvvm.mbarrier_txn", "T3a"),
        ("cutlass._mlir.dialects.nvvm.nanosleep", "T3b"),
        ("cutlass.cute.arch.mbarrier_wait", "T3a"),
    ],
)
def test_instructions_that_no_example_uses_have_the_tier_of_their_machine(name: str, tier: str) -> None:
    assert tier_of(name) == tier


def names_of(*paths: Path) -> set[str]:
    return {name["name"] for name in json.loads(coverage(paths, as_json=True))["names"]}


@pytest.mark.parametrize(
    "text",
    [
        "from package.common import cute as c\nc.size\n",
        "from package import common\ncommon.cute.size\n",
        "import package.common as p\np.cute.size\n",
        "from package.common import *\ncute.size\n",
        "from .common import (\n    # the language\n    cute,\n)\ncute.size\n",
    ],
)
def test_names_that_a_module_near_hands_on_are_followed(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    written(folder, "import cutlass.cute as cute\n", "common.py")
    written(folder if "from ." in text else tmp_path, text)
    assert names_of(tmp_path) == {"cutlass.cute.size"}


def test_names_are_followed_through_a_module_that_does_not_mention_the_language(tmp_path: Path) -> None:
    written(tmp_path, "import cutlass.cute as cute\n", "first.py")
    written(tmp_path, "from first import cute\nimport third\n", "second.py")
    written(tmp_path, "from second import cute\ncute.size(3)\n", "third.py")
    assert names_of(tmp_path) == {"cutlass.cute.size"}


ATTRIBUTES = """
import cutlass
from cutlass import cute

class Mine(cute.Tensor):
    def of_mine(self): ...

def f(x: cute.Tensor, y: cute.Tensor, mine: cute.Tensor, layout: cute.Layout, n: cutlass.Constexpr):
    x.nothing, x.shape, mine.of_mine, layout.outer, n.anything
    if hasattr(y, "other"):
        y.other
    made = cute.make_layout((3, 4))
    twice = cute.make_layout((3, 4))
    twice = n
    made.nowhere, made.shape, twice.nowhere_either
    cutlass.Float32.nought, cutlass.Float32.width

    def g(x):
        x.of_another
"""


def test_attributes_that_a_known_class_lacks_are_names(tmp_path: Path) -> None:
    found = {use.name: use.line for use in Sources().uses(written(tmp_path, ATTRIBUTES))}
    lacking = {name: line for name, line in found.items() if canonical(name) != name}
    assert lacking == {
        "cutlass.cute.Tensor.nothing": 9,
        "cutlass.cute.Layout.nowhere": 15,
        "cutlass.Float32.nought": 16,
    }
    names = {name["name"]: name for name in json.loads(coverage([tmp_path], as_json=True))["names"]}
    assert {name for name, said in names.items() if not said["is_here"]} == set(lacking)


def test_only_files_that_can_name_the_language_are_parsed_and_each_once(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for number in range(40):
        written(package, f"import json\nfrom package import plain{number - 1}\nsize = {number}\n", f"plain{number}.py")
    written(package, "from . import plain3\nimport cutlass.cute as cute\n", "common.py")
    written(package, "from package.plain7 import size\nfrom package.common import cute\ncute.size\n", "kernel.py")
    written(package, "from package.kernel import cute\ncute.rank\n", "other.py")
    sources = Sources()
    files = sources.that_can_name(sources.programs(tmp_path))
    for file in files * 2:
        sources.uses(file)
    assert sorted(file.name for file in sources.parsed) == ["common.py", "kernel.py", "other.py"]
    assert files == sorted(sources.parsed)


def test_modules_near_a_program_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    written(folder, "from cutlass import Int64\nimport beside\n", "deeper.py")
    written(folder, "import deeper\nimport json\nfrom cutlass.cute import Layout\n", "beside.py")
    (tmp_path / "helpers").mkdir()
    around = written(tmp_path / "helpers", "import cutlass.cute as cute\nf = cute.size\n", "around.py")
    program = written(folder, "import beside, cutlass\nfrom helpers import around\n", "program.py")
    assert Sources().programs(program) == [program, folder / "beside.py", around, folder / "deeper.py"]
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
    written(tmp_path, "import cutlass\ndef f(:\n", "broken.py")
    cells = [{"cell_type": "code", "source": ["%pip list\n", "from cutlass import Int32"]}, {"cell_type": "markdown"}]
    written(tmp_path, json.dumps({"cells": cells}), "notebook.ipynb")
    facts = json.loads(coverage([tmp_path], as_json=True))
    names = {name["name"]: name for name in facts["names"]}
    assert facts["files"] == 3
    assert [Path(file).name for file in facts["complete_files"]] == ["complete.py", "notebook.ipynb"]
    assert [Path(file).name for file in facts["unreadable"]] == ["broken.py"]
    assert names["cutlass.Int32"]["is_here"]
    assert names["cutlass.Int32"]["first"] == f"{tmp_path / 'notebook.ipynb'}:2"
    group = names["cutlass.cute.arch.sext_unpacked_i4_i8_intrinsic"]
    assert (group["is_here"], group["tier"], group["next"]) == (False, "T5", TIERS["T5"].when)
    assert names["cutlass.cute.make_layuot"]["tier"] == "other"
    assert not compat.is_active()


def test_text_has_the_tiers_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(written(tmp_path))]) == 0
    text = capsys.readouterr().out
    assert "1 of 1 files use the language; 0 of them only names that are here" in text
    assert "not here: T5, SM100: tcgen05, tensor memory" in text
    assert "cutlass.cute.arch.sext_unpacked_i4_i8_intrinsic" in text
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
    assert len(public_names()) == 685
    assert set(public_names().values()) == set(TIERS)
