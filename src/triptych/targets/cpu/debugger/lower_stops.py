"""Pass `lower-stops`: where the threads of a warp may stop for a debugger, they tell the launch and ask its switch.

Input: `check.stopped` with what describes the warp. Output: a call of the pool with these numbers in memory of the
function; a launch that is ended there leaves the kernel. Only builds for a debugger have such operations.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import append_ir, operations_named
from triptych.kernel_ir.dialects.check import CHECK_STOP, CHECK_STOPPED
from triptych.targets.cpu.abi.abi import KERNEL_STOP, KERNEL_STOP_DECLARATION, KERNEL_STOP_NUMBERS
from triptych.targets.cpu.abi.kernel_functions import check_status, enclosing_function, launch_of

STOPS = frozenset({CHECK_STOP, CHECK_STOPPED})
"""What a stop is, of a thread and then of its warp."""


def lower_stops(module: Module) -> None:
    """Replace every stop of the module."""
    memories: dict[Operation, Value] = {}
    for operation in operations_named(module, CHECK_STOPPED):
        function = enclosing_function(operation)
        if function not in memories:
            memories[function] = _memory(function)
        _lower(operation, memories[function])
    if memories:
        append_ir(module, KERNEL_STOP_DECLARATION)


def _memory(function: Operation) -> Value:
    """Room for the numbers of a stop, in the entry block."""
    code = Builder(function.context, function.location)
    code.insertion = code.at_start(function.regions[0].blocks[0])
    kind = code.type_attribute(f"!llvm.array<{KERNEL_STOP_NUMBERS} x i64>")
    return code.value("llvm.alloca", (code.constant(1, "i64"),), "!llvm.ptr", {"elem_type": kind})


def _lower(operation: Operation, memory: Value) -> None:
    launch = launch_of(operation)
    assert launch is not None, "stops are in kernels"
    code = Builder(operation.context, operation.location)
    code.insertion = code.before(operation)
    for i, number in enumerate(operation.operands):
        indices = {"rawConstantIndices": code.attribute(f"array<i32: {i}>")}
        indices["elem_type"] = code.type_attribute("i64")
        place = code.value("llvm.getelementptr", (memory,), "!llvm.ptr", indices)
        code.operation("llvm.store", (number, place))
    facts = [code.constant(int(operation.attributes[name].value), "i64") for name in ("site", "switch")]
    check_status(code, KERNEL_STOP, (launch, *facts, memory))
    operation.erase()
