"""What is said of writing kernels with the public CuTe DSL, what holds here, and a proof of each row.

`tests/docs/test_claims.py` calls every proof and compares the rows with the page `docs/guides/cute-dsl-claims.md`.
The programs are our own; what they share with public ones is how they say things.
"""

# mypy: disable-error-code="untyped-decorator, type-arg"

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.blackwell_programs import PROGRAMS as BLACKWELL
from benchmarks.public_programs import PROGRAMS

import triptych as cutlass
from triptych import cute, pipeline
from triptych.cute.nvgpu import warpgroup
from triptych.cute.runtime import from_dlpack, load_module
from triptych.sanitizer.finding_errors import RaceError
from triptych.support.config import override, read
from triptych.workbench.commands import skill
from triptych.workbench.commands.cli import main
from triptych.workbench.commands.errors_page import program
from triptych.workbench.contracts.loading import load_contract

ROOT = Path(__file__).resolve().parents[2]
THREADS = 64


@dataclass(frozen=True)
class Claim:
    """A row of the page. `state` is same, better, different or missing."""

    there: str
    state: str
    here: str
    prove: Callable[[Path], object]


# One program in the style of public ones: vectors of 16 bytes, a guard, a choice by elements.
@cute.kernel
def clamp_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    bdim, _, _ = cute.arch.block_dim()
    i = bidx * bdim + tidx
    rows, columns = x.shape[1]
    if cutlass.dynamic_expr(i < rows * columns):
        place = (None, (i // columns, i % columns))
        v = x[place].load()
        y[place] = cute.where(v > 0, v, 0)


@cute.jit
def clamp(x: cute.Tensor, y: cute.Tensor) -> None:
    width = 16 // (x.element_type.width // 8)
    tiled = [cute.zipped_divide(tensor, (1, width)) for tensor in (x, y)]
    count = cute.size(tiled[0].shape[1])
    clamp_kernel(*tiled).launch(grid=((count + THREADS - 1) // THREADS, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def guarded_kernel(x: cute.Tensor, n: cutlass.Int32) -> None:
    tidx, _, _ = cute.arch.thread_idx()
    if tidx >= n:
        return
    x[tidx] = x[tidx] * 2


@cute.jit
def guarded(x: cute.Tensor, n: cutlass.Int32) -> None:
    guarded_kernel(x, n).launch(grid=1, block=32)


def matrix(rows: int = 8, columns: int = 64, dtype: type = np.float16) -> Any:
    return np.random.default_rng(1).integers(-3, 4, (rows, columns)).astype(dtype)


def dynamic(array: Any) -> Any:
    return from_dlpack(array, assumed_align=16).mark_layout_dynamic()


def refused(call: Callable[[], object], code: str) -> None:
    with pytest.raises(Exception, match=rf"\[{code}\]"):
        call()


def runs_here(_: Path) -> None:
    x = matrix()
    y = np.ones_like(x)
    clamp(x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def only_own_dependencies(_: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [name for name in project["dependencies"] if re.match("nvidia|cuda|torch(?!-mlir)", name)]
    assert [name for name in project["dependencies"] if name.startswith("apache-tvm-ffi")]
    assert project["requires-python"] == ">=3.11"
    assert "Programming Language :: Python :: 3.13" in project["classifiers"]


def platform_is_said(_: Path) -> None:
    assert "Only Linux on x86-64 is tested" in (ROOT / "docs/guides/platforms.md").read_text(encoding="utf-8")


def compiles_for(target: str, _: Path) -> None:
    x = from_dlpack(matrix(), assumed_align=16)
    assert f".target {target}" in cutlass.compile(clamp, x, x, target=f"nvptx:{target}").__ptx__


def compiles_for_sm100(_: Path) -> None:
    contract = load_contract(ROOT / "examples/kernels/blackwell_gemm.py")
    x, w = contract.inputs(0, {})
    y = np.empty((len(x), len(w)), x.dtype)
    found = cutlass.compile(contract.kernel.__globals__["gemm"], x, w, y, target="nvptx:sm_100a")
    assert "tcgen05.mma.cta_group::1.kind::f16" in found.__ptx__


def wide_loads_by_promise(_: Path) -> None:
    def ptx(align: int) -> str:
        x = from_dlpack(matrix(), assumed_align=align)
        with override(performance_warnings=False):
            return str(cutlass.compile(clamp, x, x, target="nvptx:sm_80").__ptx__)

    assert re.search(r"ld\.global\S*\.v4", ptx(16))
    assert not re.search(r"ld\.global\S*\.v", ptx(2))


def one_compilation_for_all_shapes(_: Path) -> None:
    sample = np.empty((1, 8), np.float16)
    compiled = cute.compile(clamp, dynamic(sample), dynamic(sample))
    for rows, columns in ((3, 16), (5, 64)):
        x = matrix(rows, columns)
        y = np.ones_like(x)
        compiled(dynamic(x), dynamic(y))
        np.testing.assert_array_equal(y, np.maximum(x, 0))


def second_call_compiles_nothing(_: Path) -> None:
    runs_here(_)
    with override(sealed=True, cache=False):
        runs_here(_)


def float16_stays(_: Path) -> None:
    x = np.full(32, 1.5, np.float16)
    guarded(x, 32)
    assert x.tolist() == [3.0] * 32
    assert "f32" not in cutlass.compile(guarded, x, 32).mlir


def early_return(_: Path) -> None:
    x = np.ones(32, np.float16)
    guarded(x, 3)
    assert x.tolist() == [2.0] * 3 + [1.0] * 29


def no_source(_: Path) -> None:
    text = "@cute.jit\ndef f(a: cutlass.Int32):\n    if a > 0:\n        return a\n    return 0\nf(3)"
    refused(lambda: exec(text, {"cute": cute, "cutlass": cutlass}), "TT0102")


def sigmoid(_: Path) -> None:
    assert not hasattr(cute.math, "sigmoid")

    @cute.jit
    def written(x: cutlass.Float32) -> Any:
        return 1.0 / (1.0 + cute.math.exp(-x))

    assert written(0.0) == 0.5


def kernel_file(_: Path) -> None:
    contract = load_contract(ROOT / "examples/kernels/relu.py")
    inputs = contract.inputs(0, {})
    np.testing.assert_array_equal(contract.kernel(*inputs), contract.reference(*inputs))


def commands_of_scripts(_: Path) -> None:
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/skill/scripts").glob("*.py")}
    assert 'main(["verify"' in scripts["verify_kernel.py"]
    assert 'main(["bench"' in scripts["benchmark_kernel.py"]


def names(owner: object, words: str, _: Path) -> None:
    assert [word for word in words.split() if not hasattr(owner, word)] == []


def absent(owner: object, words: str, _: Path) -> None:
    assert [word for word in words.split() if hasattr(owner, word)] == []


def bias_beside_tma(folder: Path) -> None:
    """The Hopper example with a bias: one more parameter, read where the sums are stored."""
    text = (ROOT / "examples/kernels/hopper_gemm.py").read_text(encoding="utf-8")
    changes = {
        "    y: cute.Tensor,\n    mma": "    y: cute.Tensor,\n    bias: cute.Tensor,\n    mma",
        "part_y[i] = sums[i]": "part_y[i] = cute.math.max(sums[i] + bias[where[i][1]], 0.0)",
        "y: cute.Tensor) -> None:\n    dtype": "y: cute.Tensor, bias: cute.Tensor) -> None:\n    dtype",
        "loads[1], y, mma": "loads[1], y, bias, mma",
    }
    for before, after in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    (folder / "with_bias.py").write_text(text, encoding="utf-8")
    module = SimpleNamespace(**runpy.run_path(str(folder / "with_bias.py"), run_name="with_bias"))
    x, w, bias = matrix(64, 64), matrix(128, 64), np.arange(-64, 64, dtype=np.float32)
    y = np.empty((64, 128), np.float16)
    module.gemm(module.operand_of(x), module.operand_of(w), y, bias)
    np.testing.assert_array_equal(y, np.maximum(x.astype(np.float32) @ w.astype(np.float32).T + bias, 0))


def loaded_from_an_object(folder: Path) -> None:
    x = matrix()
    compiled = cutlass.compile(clamp, x, x)
    compiled.export_to_c(file_path=folder, file_name="clamp", function_prefix="clamp")
    y = np.ones_like(x)
    load_module(folder / "clamp.o").clamp(x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def torch_tensors(_: Path) -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(matrix())
    y = torch.ones_like(x)
    for call in (clamp, cute.compile(clamp, x, y, options="--enable-tvm-ffi")):
        call(x, y)
        torch.testing.assert_close(y, x.clamp(min=0))


def variables(_: Path) -> None:
    asked = {"CUTE_DSL_PRINT_IR": "1", "CUTE_DSL_KEEP_PTX": "1", "CUTE_DSL_LINEINFO": "1"}
    found = read(asked)
    assert found.print_ir
    assert found.keep
    assert found.line_info


def views(_: Path) -> None:
    x = from_dlpack(matrix(), assumed_align=16)
    assert "func" in cutlass.compile(clamp, x, x).__mlir__
    assert ".entry" in cutlass.compile(clamp, x, x, target="nvptx:sm_80").__ptx__


def race_is_found(_: Path) -> None:
    with pytest.raises(RaceError, match="nothing orders the two"):
        runpy.run_path(str(program(RaceError, "failing")))


def folder_of_a_kernel(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["new", "rotary", "--template", "elementwise"]) == 0
        assert main(["new", "rotary", "--from", "rotary"]) == 0
    assert len(list(folder.rglob("rotary*.py"))) >= 2


def references(_: Path) -> None:
    assert {
        *(f"concepts-{name}" for name in ("architecture", "layouts", "tensors", "mma")),
        *(
            f"patterns-{name}"
            for name in ("getting-started", "elementwise", "gemm", "memory", "compilation", "pipeline")
        ),
        *(f"api-{name}" for name in ("core", "arch", "nvgpu", "runtime-utils")),
        *("troubleshooting", "patterns-reduction"),
    } == {*skill.GUIDES, *skill.MODULES}


_EXAMPLES = {
    "ampere": "elementwise_add elementwise_add_autotune elementwise_apply sgemm tensorop_gemm flash_attention_v2 "
    "hstu_attention",
    "hopper": "cta_norm dense_gemm dense_gemm_persistent fmha",
    "blackwell": "rmsnorm dense_gemm dense_gemm_persistent dense_gemm_alpha_beta_persistent fmha grouped_gemm "
    "mamba2_ssd",
}
_RUN = {path for tier in PROGRAMS.values() for path in tier} | BLACKWELL.keys()


def examples() -> Iterator[Claim]:
    """The public examples to start from, which `benchmarks.public_programs` and `benchmarks.blackwell_programs` run."""
    prove: Callable[[Path], object] = partial(_is_run, "dsl_tutorials/", "/smem_allocator.py")
    yield Claim("start from `smem_allocator.py`", "same", "runs unchanged, on a CPU", prove)
    for place, stems in _EXAMPLES.items():
        for stem in stems.split():
            path = f"cute/{place}/"
            prove = partial(_is_run, path, f"/{stem}.py")
            yield Claim(f"start from `{place}/{stem}.py`", "same", "runs unchanged, on a CPU", prove)
    prove = partial(_is_run, "cute/blackwell/", "/rmsnorm.py")
    yield Claim("start from `blackwell/reduce.py`", "same", "`rmsnorm.py` imports it", prove)


def _is_run(place: str, name: str, _: Path) -> None:
    assert [path for path in _RUN if path.startswith(place) and path.endswith(name)]


CLAIMS = (
    Claim("Linux on x86-64 only", "same", "the same is tested; others are not", platform_is_said),
    Claim("Python 3.10 to 3.13", "different", "3.11 to 3.13", only_own_dependencies),
    Claim("a GPU from Ampere on, and a driver", "better", "neither: kernels run on a CPU", runs_here),
    Claim("the CUDA toolkit comes with the package", "better", "no package of CUDA is needed", only_own_dependencies),
    Claim("`apache-tvm-ffi` is optional", "different", "it is always installed", only_own_dependencies),
    Claim("kernels for SM80", "same", "PTX, and SASS with `triptych[cuda]`", partial(compiles_for, "sm_80")),
    Claim("kernels for SM90", "same", "PTX, and SASS with `triptych[cuda]`", partial(compiles_for, "sm_90a")),
    Claim("kernels for SM100: tcgen05", "same", "", compiles_for_sm100),
    Claim("`cute.jit`, `cute.kernel`, `cute.arch`", "same", "the same names", runs_here),
    Claim("compiled by MLIR to PTX", "same", "upstream MLIR and LLVM", views),
    *examples(),
    Claim("`assumed_align=16` gives vector loads", "same", "`ld.global.v4`", wide_loads_by_promise),
    Claim("the vector's width from `element_type.width`", "same", "", runs_here),
    Claim("`zipped_divide` for coalesced accesses", "same", "", partial(names, cute, "zipped_divide")),
    Claim("bounds by `dynamic_expr`", "better", "a plain `if` does it, too", early_return),
    Claim("write `a + a`, not `a * 2`", "better", "`a * 2` stays Float16", float16_stays),
    Claim(
        "each call of a `@jit` function compiles",
        "better",
        "the second finds the first one's code",
        second_call_compiles_nothing,
    ),
    Claim("`mark_layout_dynamic`: one compilation for all shapes", "same", "", one_compilation_for_all_shapes),
    Claim("a file with `kernel_fn`, `reference_fn`, `get_inputs`", "same", "commands take such a file", kernel_file),
    Claim(
        "`verify_kernel.py`, `benchmark_kernel.py`",
        "same",
        "in the skill; they are `verify` and `bench`",
        commands_of_scripts,
    ),
    Claim(
        "`local_tile`, tiled copies, tiled MMA",
        "same",
        "",
        partial(names, cute, "local_tile make_tiled_copy_tv make_tiled_mma"),
    ),
    Claim("swizzles by `make_smem_layout_atom`", "same", "", partial(names, warpgroup, "make_smem_layout_atom")),
    Claim("`PipelineTmaAsync` for Hopper", "same", "", partial(names, pipeline, "PipelineTmaAsync PipelineAsync")),
    Claim("`PipelineTmaUmma` for Blackwell", "same", "", partial(names, pipeline, "PipelineTmaUmma PipelineUmmaAsync")),
    Claim(
        "a GEMM with TMA takes no bias or activation",
        "better",
        "a bias and a ReLU in the Hopper example are four changed lines",
        bias_beside_tma,
    ),
    Claim("`--enable-tvm-ffi`: calls take torch tensors", "better", "they do without the option, too", torch_tensors),
    Claim("an object file that is loaded later", "same", "`export_to_c`, `load_module`", loaded_from_an_object),
    Claim("`CUTE_DSL_PRINT_IR`, `_KEEP_PTX`, `_LINEINFO`", "same", "read under these names", variables),
    Claim("`cute.printf` for values at run time", "same", "", partial(names, cute, "printf print_tensor")),
    Claim("`compiled.__ptx__`, `compiled.__mlir__`", "same", "", views),
    Claim("`compute-sanitizer` on a GPU", "better", "`triptych check`, without a GPU", race_is_found),
    Claim(
        "a folder for each kernel, a copy before each step",
        "better",
        "`triptych new NAME --from NAME`",
        folder_of_a_kernel,
    ),
    Claim(
        "a `@kernel` called from Python lacks a context",
        "better",
        "TT0403 says how to launch it",
        lambda _: refused(lambda: guarded_kernel(np.ones(4), 4), "TT0403"),
    ),
    Claim("an early `return` is refused", "better", "it works", early_return),
    Claim("a store of `a * 2` does not fit", "better", "it fits", float16_stays),
    Claim("no source inside of `exec`", "same", "TT0102 says what to do", no_source),
    Claim("loads stay scalar without a promise", "same", "`check --costs` counts them", wide_loads_by_promise),
    Claim(
        "a parameter that is not passed",
        "same",
        "TT0401 names it",
        lambda _: refused(lambda: guarded(np.ones(4)), "TT0401"),
    ),
    Claim("`cute.math` has no `sigmoid`", "same", "written with `exp`", sigmoid),
    Claim("references by concept, pattern and API", "same", "`triptych skill install` writes them", references),
)
