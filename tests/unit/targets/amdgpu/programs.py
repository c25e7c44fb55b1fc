"""Small kernels for AMD's chips, and what of their assembly tests look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import triptych as tt
from triptych import cute
from triptych.cute.runtime import make_fake_tensor
from triptych.driver.compiling import CompiledFunction
from triptych.ir.llvm.worker import Artifact, Request, shared_pool
from triptych.targets.amdgpu.code_generation import TRIPLE
from triptych.targets.amdgpu.description.chips import CHIPS

GFX9 = ("gfx90a", "gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
assert {*GFX9, *RDNA} == set(CHIPS)
ELEMENTS, THREADS = 4096, 256

Body = Callable[[Any, Any, Any], None]
"""Of a thread: two tensors and its number."""


def program(body: Body, shared: int = 0) -> Any:
    """A host function that launches one kernel of blocks of 256 threads."""

    @tt.kernel
    def kernel(x: cute.Tensor, y: cute.Tensor) -> None:
        thread = cute.arch.thread_idx()[0]
        body(x, y, thread)

    @tt.jit
    def launch(x: cute.Tensor, y: cute.Tensor) -> None:
        kernel(x, y).launch(grid=4, block=THREADS, smem=shared)

    return launch


def compiled(body: Body, chip: str, dtype: Any = tt.Int32, shared: int = 0) -> CompiledFunction:
    """Its code for one chip."""
    tensors = [make_fake_tensor(dtype, (ELEMENTS,), (1,), assumed_align=16) for _ in range(2)]
    return tt.compile(program(body, shared), *tensors, target=f"amdgpu:{chip}")


def instructions(assembly: str) -> list[str]:
    """The instructions of the only kernel, with operands."""
    found = re.search(r"^kernel:[^\n]*\n(.*?)^\.Lfunc_end0:", assembly, re.DOTALL | re.MULTILINE)
    assert found is not None, assembly
    lines = (line.split(";")[0].split("//")[0].strip() for line in found[1].splitlines())
    return [line for line in lines if line and not line.startswith(".") and not line.endswith(":")]


def made_by_llvm(text: str, chip: str) -> Artifact:
    """Assembly and object of LLVM IR."""
    request = Request(triple=TRIPLE, cpu=chip, features="", vectorize=False, emit=("assembly", "object"), comments=True)
    return shared_pool().compile(request, text)
