"""Passes `allocate-host-arrays` and `free-host-arrays`: large arrays of a host function leave the stack of its caller.

Small arrays stay, where LLVM turns them into registers. The first pass runs before checks become branches, so that want
of memory is an error like others; the second one after it, when a function has no other way out than its returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.diagnostics.kernel_errors import BlockMemoryError
from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, callee, operations_named, signature_of, symbols
from triptych.kernel_ir.dialects.kernel_operations import array_size
from triptych.targets.cpu.abi.abi import ALIGNMENT, STACK_BYTES, padded
from triptych.targets.cpu.abi.system import ALLOCATE

ARRAYS = frozenset({"llvm.alloca"})
_DECLARATIONS = f"""
llvm.func @{ALLOCATE}(i64, i64) -> (!llvm.ptr {{llvm.noalias}})
llvm.func @free(!llvm.ptr)
"""


def allocate_host_arrays(module: Module) -> None:
    """Have arrays beyond the first 64 KiB on the heap."""
    with module.context:
        large = _large(operations_named(symbols(module)[signature_of(module).name], "llvm.alloca"))
        if large:
            append_ir(module, _DECLARATIONS)
            _allocate(large)


def free_host_arrays(module: Module) -> None:
    """Give the memory back wherever the function returns."""
    with module.context:
        public = symbols(module)[signature_of(module).name]
        calls = operations_named(public, "llvm.call")
        arrays = [call.results[0] for call in calls if callee(call) == ALLOCATE]
        for leave in operations_named(public, "func.return") if arrays else []:
            code = Builder(module.context, leave.location)
            code.insertion = code.before(leave)
            for array in arrays:
                code.call("free", (array,))


def _large(arrays: Sequence[Operation]) -> list[Operation]:
    """Those that come when the stack has been used up. All stand in the entry block."""
    taken, large = 0, list[Operation]()
    for array in arrays:
        taken += array_size(array)
        if taken > STACK_BYTES:
            large.append(array)
    return large


def _allocate(arrays: Sequence[Operation]) -> None:
    """All of them before the first check: what leaves there gives all of them back."""
    code = Builder(arrays[0].context, arrays[0].location)
    code.insertion = code.before(arrays[0])
    sizes = [padded(array_size(array)) for array in arrays]
    alignment = code.constant(ALIGNMENT, "i64")
    calls = [code.call(ALLOCATE, (alignment, code.constant(size, "i64")), ["!llvm.ptr"]) for size in sizes]
    for array, size, call in zip(arrays, sizes, calls, strict=True):
        _check(code, array, size, call.result)
        array.results[0].replace_all_uses_with(call.result)
    for array in arrays:
        array.erase()


def _check(code: Builder, array: Operation, size: int, memory: Value) -> None:
    null = code.value("llvm.mlir.zero", (), "!llvm.ptr")
    there = code.value("llvm.icmp", (memory, null), "i1", {"predicate": code.integer("i64", 1)})
    facts = {"span": place_of(array), "found": f"{size} bytes", "instead": "a smaller array, or a tensor argument"}
    code.check(there, BlockMemoryError, "the system has no memory for this array", **facts)
