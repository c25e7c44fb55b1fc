"""Native loops over arrays around one operation on vectors, for laws and benchmarks of vector mathematics."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.passes import run_passes
from triptych.stages import PassSpec
from triptych.targets.cpu.passes.lower_math import vectorize_math
from triptych.targets.cpu.runtime.compiler_builtins import with_builtins

Array = npt.NDArray[Any]

VECTORISE = (PassSpec("vectorize-math", "What is measured and tested.", vectorize_math),)
TO_LLVM = tuple(
    PassSpec(name, "As in the pass list of the CPU target.")
    for name in ("convert-scf-to-cf", "convert-math-to-llvm", "convert-math-to-libm", "convert-to-llvm")
)
ARITIES = {"atan2": (2, 1), "powf": (2, 1), "sincos": (1, 2)}
"""Operands and results of the operations that do not have one of each."""
SENTINEL = 64
"""Elements that a kernel may read and write past the end, being the largest number of lanes in use."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in a loop: `form` is its text, with `%a0`, `%a1` for the operands and `{vector}` for their type."""

    form: str
    operands: int = 1
    results: int = 1
    element: str = "f32"
    lanes: int = 16

    @classmethod
    def of(cls, name: str, flags: str = "", **facts: Any) -> Operation:
        """The operation of that name in the `math` dialect."""
        operands, results = ARITIES.get(name, (1, 1))
        values = ", ".join(f"%a{i}" for i in range(operands))
        return cls(f"math.{name} {values} {flags} : {{vector}}", operands, results, **facts)

    def text(self) -> str:
        """A function of the arrays of operands, the arrays of results, their length and a number of repetitions."""
        vector = f"vector<{self.lanes}x{self.element}>"
        names = [f"a{i}" for i in range(self.operands)]
        outputs = [f"y{i}" for i in range(self.results)]
        parameters = "".join(f"%{name}_array: !llvm.ptr, " for name in (*names, *outputs))
        form = self.form.format(vector=vector)
        loads = "\n".join(f"{self._address(name)}\n%{name} = {self._load(name, vector)}" for name in names)
        stores = "\n".join(f"{self._address(name)}\n{self._store(name, vector)}" for name in outputs)
        return f"""func.func @kernel({parameters}%count: i64, %repetitions: i64) {{
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %lanes = arith.constant {self.lanes} : i64
  scf.for %repetition = %zero to %repetitions step %one : i64 {{
    scf.for %i = %zero to %count step %lanes : i64 {{
      {loads}
      {", ".join(f"%{name}" for name in outputs)} = {form}
      {stores}
    }}
  }}
  return
}}"""

    def _address(self, name: str) -> str:
        address = f"%{name}_pointer = llvm.getelementptr %{name}_array[%i]"
        return f"{address} : (!llvm.ptr, i64) -> !llvm.ptr, {self.element}"

    def _load(self, name: str, vector: str) -> str:
        return f"llvm.load %{name}_pointer {{alignment = 2 : i64}} : !llvm.ptr -> {vector}"

    def _store(self, name: str, vector: str) -> str:
        return f"llvm.store %{name}, %{name}_pointer {{alignment = 2 : i64}} : {vector}, !llvm.ptr"


@dataclass(frozen=True, slots=True)
class Kernel:
    """The compiled loop. Arrays are copied to memory that is aligned and a little longer than they are."""

    operation: Operation
    dtype: Any
    artifact: bytes
    native: Any
    keep: LoadedObject

    def __call__(self, *operands: Array) -> Array:
        """The first result."""
        return self.results(*operands)[0]

    def results(self, *operands: Array) -> list[Array]:
        """All results for arrays of one length."""
        inputs = [self.room(operand.size, operand) for operand in operands]
        outputs = [self.room(operands[0].size) for _ in range(self.operation.results)]
        self.run((*inputs, *outputs), operands[0].size, 1)
        return outputs

    def run(self, arrays: Sequence[Array], count: int, repetitions: int) -> None:
        """The native call alone."""
        self.native(*(array.ctypes.data for array in arrays), count, repetitions)

    def room(self, size: int, content: Array | None = None) -> Array:
        """An array at the start of a cache line."""
        width = np.dtype(self.dtype).itemsize
        memory = np.zeros((size + SENTINEL) * width + 64, np.uint8)
        start = -memory.ctypes.data % 64
        array: Array = memory[start : start + size * width].view(self.dtype)
        if content is not None:
            array[:] = content
        return array


def compiled(operation: Operation, dtype: Any = np.float32, *, vectorised: bool = True, cpu: str = "host") -> Kernel:
    """Compile for this machine, or for a named processor whose instructions this machine has."""
    module = bindings.mlir().Module.parse(operation.text(), context=context())
    run_passes(module, (*(VECTORISE if vectorised else ()), *TO_LLVM))
    request = Request(cpu=cpu, features="host" if cpu == "host" else "", emit=("object",))
    artifact = shared_pool().compile(request, with_builtins(to_llvm_ir(module)))
    found = load_object(artifact.object, "kernel", {})
    arrays = [ctypes.c_void_p] * (operation.operands + operation.results)
    native = ctypes.CFUNCTYPE(None, *arrays, ctypes.c_int64, ctypes.c_int64)(found.address)
    return Kernel(operation, dtype, artifact.object, native, found)
