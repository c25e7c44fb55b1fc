"""From an empty folder to a second version and its devlog."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.errors import FolderError
from triptych.workbench.folders.importing import Resources, import_example, resources_of, sheet
from triptych.workbench.folders.reading import read_example
from triptych.workbench.folders.versions import (
    UNSAID,
    Static,
    add_entry,
    entry,
    new_kernel,
    next_version,
    planned,
    templates,
    versions,
)
from triptych.workbench.measurement.records import new_record
from triptych.workbench.verification.verifying import VerifyOptions, verify

EXAMPLE = """
import argparse
import torch
import cutlass.cute as cute
class Gemm:
    @cute.jit
    def run(self, a, b, c):
        atom = cute.nvgpu.cpasync.make_tiled_tma_atom(a)
        self.num_stages = 3
        self.body(a, b, c).launch(grid=cute.ceil_div(8, 2), block=[128, 1, 1], cluster=(2, 1))
    @cute.kernel
    def body(self, a, b, c):
        tidx, _, _ = cute.arch.thread_idx()
        cute.arch.sync_threads()
        cute.gemm(None, c, a, b, c)
parser = argparse.ArgumentParser()
parser.add_argument("--mnk", default=(512, 512, 256))
parser.add_argument("--tile-m", type=int, default=128)
a = torch.randn(3)
torch.testing.assert_close(a, torch.einsum("i->i", a))
"""


def test_an_example_is_read_and_not_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = tmp_path / "dense_gemm.py"
    example.write_text(EXAMPLE, encoding="utf-8")
    assert main(["import", str(example), "--root", str(tmp_path / "made"), "--no-resources"]) == 0
    assert "not found: types" in capsys.readouterr().out
    found = read_example(example)
    assert (found.hosts, found.kernels, found.launches) == (
        {"run": 7},
        {"body": 12},
        [(10, ["grid", "block", "cluster"])],
    )
    assert found.options == {"mnk": (512, 512, 256), "tile_m": 128}
    folder = tmp_path / "made" / "dense_gemm" / "dense_gemm"
    text = (folder / "READING.md").read_text(encoding="utf-8")
    assert "| descriptors | make_tiled_tma_atom 8 |" in text
    assert "| barriers | sync_threads 14 |" in text
    assert "| grid | ceil_div 10; launch(grid=) 10 |" in text
    assert "| num_stages | 3 | 9 |" in text
    assert "triptych run --target nvptx:sm_90a --compile-only dense_gemm.py" in text
    plan = (folder / "dense_gemm.py").read_text(encoding="utf-8")
    compile(plan, "dense_gemm.py", "exec")
    assert "class DenseGemm(KernelPlan):" in plan
    assert "    mnk: tuple[int, int, int] = (512, 512, 256)" in plan
    assert "class DenseGemmTiling(Tiling):" in plan
    assert "    tile_m: int = 128" in plan
    assert '    REQUIRES = "sm_90a"' in plan
    with pytest.raises(FolderError, match="is there already"):
        import_example(tmp_path / "made", example, "")


RUNNING = """
import sys
import cutlass.cute as cute
class Tiles:
    _TILER_WIDE, _TILER_NARROW = None, None
    _CTA_TILER_WIDE = (128, 256, 32)
    _CTA_TILER = (128, 128, 32)
    def __init__(self, wide=False):
        self.cta_tiler = self._CTA_TILER_WIDE if wide else self._CTA_TILER
THREADS = 64
@cute.kernel
def body():
    if cute.arch.thread_idx()[0] == 3:
        cute.printf("thread {}", cute.arch.thread_idx()[0])
@cute.jit
def host():
    body().launch(grid=[1, 1, 1], block=[THREADS, 1, 1])
if __name__ == "__main__":
    host()
    print("PASS", *sys.argv[1:])
"""


def test_what_is_made_of_an_example_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    example = tmp_path / "examples" / "cut.py"
    example.write_text(RUNNING, encoding="utf-8")
    assert read_example(example).choices() == {"cta_tiler": (128, 128, 32), "THREADS": 64}
    folder = import_example(tmp_path / "made", example, "")
    made = folder / "cut.py"
    assert "    cta_tiler: tuple[int, int, int] = (128, 128, 32)" in made.read_text(encoding="utf-8")
    ran = subprocess.run([sys.executable, str(made), "--n", "3"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "thread 3\nPASS --n 3\n"), ran.stderr
    example.write_text("raise SystemExit(5)", encoding="utf-8")
    assert subprocess.run([sys.executable, str(made)], capture_output=True, check=False).returncode == 5


def test_what_the_kernels_of_an_example_take_is_in_its_sheet(tmp_path: Path) -> None:
    example = tmp_path / "odd.py"
    example.write_text("import no_such_module\n", encoding="utf-8")
    failed = resources_of(example, "nvptx:sm_80", 60.0, lambda: None)
    assert failed.why_not == "the example ended with: ModuleNotFoundError: No module named 'no_such_module'"
    assert "Not known: the example ended with" in sheet(read_example(example), failed)
    row = {"kernel": "k", "registers": 40, "shared": None, "spilled": 0, "instructions": 9, "threads": 64}
    known = Resources("nvptx:sm_80", ({**row, "blocks_at_once": 16},))
    assert "| k | 40 | launch | 0 | 9 | 64 | 16 |" in sheet(read_example(example), known)
    example.write_text("def broken(:", encoding="utf-8")
    with pytest.raises(FolderError, match="is no Python file"):
        read_example(example)


@pytest.mark.parametrize("template", templates())
def test_what_is_made_passes_as_it_stands(tmp_path: Path, template: str) -> None:
    folder = new_kernel(tmp_path, "shiny", template, "layer")
    assert folder == tmp_path / "layer" / "shiny" / "shiny"
    found = verify(load_contract(folder / "shiny.py", f"shiny_{template}"), VerifyOptions(seeds=1))
    assert found.verdict == "pass", found.findings


def test_the_next_version_is_a_copy_under_its_own_name(tmp_path: Path) -> None:
    new_kernel(tmp_path, "relu", "elementwise", "")
    second = next_version(tmp_path, "relu", "")
    third = next_version(tmp_path, "relu_v2", "")
    assert versions(tmp_path / "relu") == ["relu", "relu_v2", "relu_v3"]
    text = (third / "relu_v3.py").read_text(encoding="utf-8")
    assert "def relu_v3_kernel(" in text
    assert "def relu_v3(" in text
    assert "relu_v2" not in text
    assert (second / "test_relu_v2.py").is_file()
    assert (tmp_path / "relu" / "DEVLOG.md").read_text(encoding="utf-8").count("\n## relu_v") == 2


def test_what_cannot_be_made(tmp_path: Path) -> None:
    new_kernel(tmp_path, "relu", "elementwise", "")
    with pytest.raises(FolderError, match="is there already"):
        new_kernel(tmp_path, "relu", "elementwise", "")
    with pytest.raises(FolderError, match="no name of a design"):
        new_kernel(tmp_path, "class", "elementwise", "")
    with pytest.raises(FolderError, match="there is no version relu_v7"):
        next_version(tmp_path, "relu_v7", "")


def test_an_entry_has_the_figures_of_both_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "relu", "--root", str(tmp_path)]) == 0
    assert "next: triptych verify" in capsys.readouterr().out
    folder = tmp_path / "relu" / "relu"
    case = {"case": "default", "parameters": {}, "hot": {"median": 2e-4}, "work": {"of_roof": 0.5}}
    before = new_record(folder / "relu.py", [{**case, "hot": {"median": 4e-4}}], {}, [])
    record = new_record(folder / "relu.py", [case], {}, [])
    text = entry(record, before, "Twice as fast.")
    assert "| default | duration, hot | 400 µs | 200 µs | -50.0 % |" in text
    assert "| default | share of the roof | 50 % | 50 % | +0.0 % |" in text
    for name, facts in (("now", record), ("before", before)):
        (tmp_path / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
    words = ["devlog", "add", str(folder), str(tmp_path / "now.json"), "--before", str(tmp_path / "before.json")]
    assert main(words) == 0
    assert "### Insights" in (tmp_path / "relu" / "DEVLOG.md").read_text(encoding="utf-8")


def test_an_entry_takes_the_place_of_what_was_planned(tmp_path: Path) -> None:
    new_kernel(tmp_path, "relu", "elementwise", "")
    second = next_version(tmp_path, "relu", "")
    log = tmp_path / "relu" / "DEVLOG.md"
    assert planned(second) == "From relu."
    log.write_text(log.read_text(encoding="utf-8").replace(UNSAID, "Four numbers a thread."), encoding="utf-8")
    assert planned(second) == "From relu. Four numbers a thread."
    case = {"case": "default", "parameters": {}, "hot": {"median": 2e-4}}
    record = new_record(second / "relu_v2.py", [case], {}, [])
    compared = {"cases": [{"case": "default", "comparison": {"text": "faster: -3 %"}}]}
    static = Static("nvptx:sm_80", {"relu_v2_kernel": {"registers": 20}}, {"relu_kernel": {"registers": 16}})
    add_entry(second, entry(record, None, planned(second), compared, static))
    text = log.read_text(encoding="utf-8")
    assert text.count("\n## relu_v2\n") == 1
    assert "### Overview\n\nFrom relu. Four numbers a thread.\n" in text
    assert "| default | verdict against the version before | | faster: -3 % | |" in text
    assert "| relu_v2_kernel, nvptx:sm_80 | registers | 16 | 20 | +25.0 % |" in text
    assert planned(second) == ""
