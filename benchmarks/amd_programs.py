"""The plain kernel examples for AMD's chips: programs without matrix instructions, and what LLVM makes of them."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES, MATRICES
from triptych.driver.compiling import CompiledFunction
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.targets.amdgpu.code_generation import TRIPLE

PRINTING = "hello"
"""AMD GPUs print by a service of AMD's device library."""
PLAIN: dict[str, Any] = {name: made for name, made in EXAMPLES.items() if name != PRINTING}
PLAIN["sgemm"] = MATRICES["sgemm"]


def compiled(name: str, target: str) -> CompiledFunction:
    """One of the programs, for a target."""
    function, arguments = PLAIN[name]()
    with redirect_stdout(StringIO()):
        return tt.compile(function, *arguments, target=target)


def object_of(name: str, chip: str) -> bytes:
    """LLVM's object of its kernels, before it is linked."""
    request = Request(triple=TRIPLE, cpu=chip, features="", vectorize=False, emit=("object",))
    return shared_pool().compile(request, compiled(name, f"amdgpu:{chip}").llvm).object
