"""SPIR-V modules: kernels and their parameters, the same bytes each time, views, files; no runtime is needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.ir.errors import CodegenError
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.support.config import override
from triptych.targets.spirv.code_generation import TRIPLE
from triptych.targets.spirv.module_file import CROSS_WORKGROUP, WORKGROUP, Parameter, kernel_parameters

X = np.zeros(64, np.float32)


@tt.kernel
def scale_kernel(x: cute.Tensor, factor: tt.Float32, whole: tt.Int64) -> None:
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] * factor + whole.to(tt.Float32)


@tt.jit
def scale(x: cute.Tensor, factor: tt.Float32, whole: tt.Int64) -> None:
    scale_kernel(x, factor, whole).launch(grid=1, block=64)


def compiled(**options: Any) -> Any:
    return tt.compile(scale, X, 2.0, 3, target="spirv", **options)


def test_kernels_and_their_parameters() -> None:
    (parameters,) = kernel_parameters(compiled().artifact).values()
    pointer, number = Parameter(8, CROSS_WORKGROUP), Parameter(4)
    tensor, own, hidden = (pointer, number), (number, Parameter(8)), (number, number, pointer)
    assert parameters == (*tensor, *own, *hidden, Parameter(8, WORKGROUP))


def test_a_module_is_the_same_each_time() -> None:
    """LLVM's back end remembers earlier modules by addresses: each is made in a process where it is the first."""
    with override(cache=False):
        assert len({compiled().artifact for _ in range(8)}) == 1


def test_what_ends_the_back_end_is_an_error() -> None:
    text = """
    define spir_kernel void @k(ptr addrspace(1) %p, <7 x i32> %a, <7 x i32> %b, <7 x i1> %c) {
      %v = select <7 x i1> %c, <7 x i32> %a, <7 x i32> %b
      store <7 x i32> %v, ptr addrspace(1) %p
      ret void
    }
    """
    request = Request(triple=TRIPLE, cpu="", features="", vectorize=False, emit=("object",))
    with pytest.raises(CodegenError):
        shared_pool().compile(request, text)
    assert compiled().artifact


def test_views_and_files(tmp_path: Path) -> None:
    with override(keep=str(tmp_path), cache=False):
        found = compiled(options="--keep-assembly --keep-binary")
    assert "OpEntryPoint Kernel" in found.asm
    assert "OpEntryPoint" in (tmp_path / "scale.spvasm").read_text()
    assert (tmp_path / "scale.spv").read_bytes() == found.artifact


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="no spirv-val here (Debian: spirv-tools)")
def test_a_validator_accepts_the_module(tmp_path: Path) -> None:
    file = tmp_path / "module.spv"
    file.write_bytes(compiled().artifact)
    subprocess.run(["spirv-val", "--target-env", "spv1.4", file], check=True)
