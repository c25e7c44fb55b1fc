"""Pass `lower-tensor-maps`: a tensor map is 128 bytes on the stack of the host function.

Input: `tile.tensor_map` in host code. Output: stores of the base, the extents and the strides, where the functions that
copy boxes read them, and of the box, which only few of them do not know already.
"""

from __future__ import annotations

from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.tensor_maps import ELEMENT_BYTES
from triptych.kernel_ir.dialects.tile import TENSOR_MAP, TENSOR_MAP_BYTES
from triptych.targets.cpu.abi.abi import ALIGNMENT
from triptych.targets.cpu.abi.kernel_functions import enclosing_function
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.tma import write_box, write_map

MAPS = frozenset({TENSOR_MAP})


def lower_tensor_maps(module: Module) -> None:
    """Write every map where it is made."""
    with module.context:
        for operation in operations_named(module, TENSOR_MAP):
            _lower(operation)


def _lower(operation: Operation) -> None:
    code = LaneBuilder(1, operation.context)
    code.location = operation.location
    code.insertion = code.before(operation)
    place = _allocate(operation)
    base, *numbers = operation.operands
    zeros = code.constants([0] * (TENSOR_MAP_BYTES // 4), "i32")
    code.store(zeros, place, ALIGNMENT)  # kernels copy whole maps, which are the same in every call
    write_map(code, place, base, numbers)
    box = [int(extent) for extent in operation.attributes["box"]]
    element_bytes = ELEMENT_BYTES[operation.attributes["type"].value]
    write_box(code, place, box, element_bytes, int(operation.attributes["swizzle"].value))
    operation.results[0].replace_all_uses_with(place)
    operation.erase()


def _allocate(operation: Operation) -> Value:
    """At the start of the function, so that no loop makes the stack grow."""
    code = LaneBuilder(1, operation.context)
    code.location = operation.location
    entry = enclosing_function(operation).regions[0].blocks[0]
    code.insertion = code.at_start(entry)
    attributes = {
        "elem_type": code.type_attribute(f"!llvm.array<{TENSOR_MAP_BYTES} x i8>"),
        "alignment": code.integer("i64", ALIGNMENT),
    }
    return code.value("llvm.alloca", (code.constant(1, "i64"),), "!llvm.ptr", attributes)
