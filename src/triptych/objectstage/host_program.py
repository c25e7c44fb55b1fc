"""Host program of a GPU target, compiled for the CPU: its launches become calls of the driver.

Input: a module that launches kernels which it does not contain. Output: the same module with one function for each
launch (see `launch_code`) and for each tensor map (`tensor_map_code`), and one parameter more for the host function,
the address of a `LaunchRecord`.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.handles import Location, Module, Operation, Value
from triptych.ir.launch import Launch, launches
from triptych.ir.location import place_of
from triptych.ir.modules import append_ir, function, operations_named
from triptych.ir.types import GLOBAL_SPACE, memory_space
from triptych.kernel_ir.dialects.tile import TENSOR_MAP, TENSOR_MAP_BYTES
from triptych.kernel_ir.transforms.narrow_floats.storage import stored_type
from triptych.objectstage.launch_code import LaunchCode, launch_function
from triptych.objectstage.tensor_map_code import MAP_ALIGNMENT, TensorMapCode, tensor_map_function
from triptych.stages import Leaf, PassSpec

_ACCESSES = frozenset({"llvm.load", "llvm.store", "llvm.atomicrmw", "llvm.cmpxchg"})


def call_driver(module: Module, name: str, kernels: Sequence[str]) -> Leaf:
    """Let a module's launches call the driver with the places of kernels in a list; the host's new parameter."""
    with module.context:
        host = function(module, name)
        record = _take_record(host)
        found = launches(module)
        maps = operations_named(host, TENSOR_MAP) if any(launch.maps for launch in found) else []
        for i, operation in enumerate(maps):
            _make_map(module, operation, f"{name}.map{i}", record)
        for i, launch in enumerate(found):
            _call(module, launch, f"{name}.launch{i}", kernels.index(launch.kernel), record)
    return Leaf("launch record", "Int64")


def _take_record(host: Operation) -> Value:
    ir = bindings.mlir()
    record = host.regions[0].blocks[0].add_argument(ir.IntegerType.get_signless(64), host.location)
    kind = ir.FunctionType(host.attributes["function_type"].value)
    host.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*kind.inputs, record.type], kind.results))
    return record


def _call(module: Module, launch: Launch, symbol: str, kernel: int, record: Value) -> None:
    operation = launch.operation
    code = LaunchCode(
        symbol,
        kernel,
        [str(stored_type(argument.type)) for argument in launch.arguments],
        maps=launch.maps,
        clustered=bool(launch.cluster),
        cooperative=launch.cooperative,
        overlapping=launch.overlapping,
        streamed=launch.streamed,
        events=launch.events,
    )
    append_ir(module, launch_function(code))
    builder = Builder(module.context)
    builder.insertion = builder.before(operation)
    operands = [_as_stored(value, builder, operation.location) for value in launch.values]
    attributes = builder.call_attributes(len(operands) + 1, callee=builder.attribute(f'@"{symbol}"'))
    builder.operation("llvm.call", [record, *operands], (), attributes, location=operation.location)
    operation.erase()


def _make_map(module: Module, operation: Operation, symbol: str, record: Value) -> None:
    """Let the driver make a tensor map, on the stack of the host function: a launch copies it."""
    ir, attributes = bindings.mlir(), operation.attributes
    box = list(ir.DenseI64ArrayAttr(attributes["box"]))
    base = operation.operands[0]
    kind = str(base.type)
    append_ir(
        module,
        tensor_map_function(
            TensorMapCode(symbol, kind, attributes["type"].value, box, int(attributes["swizzle"].value))
        ),
    )
    builder = Builder(module.context)
    builder.insertion = builder.after_value(record)
    size = builder.value(
        "llvm.mlir.constant", (), "i64", {"value": builder.integer("i64", 1)}, location=operation.location
    )
    room = {
        "elem_type": builder.type_attribute(f"!llvm.array<{TENSOR_MAP_BYTES} x i8>"),
        "alignment": builder.integer("i64", MAP_ALIGNMENT),
    }
    made = builder.value("llvm.alloca", (size,), "!llvm.ptr", room, location=operation.location)
    builder.insertion = builder.before(operation)
    operands = [record, made, *operation.operands]
    call = builder.call_attributes(len(operands), callee=builder.attribute(f'@"{symbol}"'))
    builder.operation("llvm.call", operands, (), call, location=operation.location)
    operation.results[0].replace_all_uses_with(made)
    operation.erase()


def _as_stored(value: Value, builder: Builder, location: Location) -> Value:
    """A narrow float as a type that functions of LLVM can take. What the cast does, the host's target knows."""
    stored = builder.type(stored_type(value.type))
    if stored == value.type:
        return value
    return builder.value("builtin.unrealized_conversion_cast", (value,), stored, location=location)


def _refuse_tensor_accesses(module: Module) -> None:
    """In the user's functions. Those that launch store addresses of the GPU, as arguments of kernels."""
    hosts = [operation for operation in module.body.operations if operation.operation.name == "func.func"]
    for access in (access for host in hosts for access in operations_named(host, *_ACCESSES)):
        if any(memory_space(operand.type) == GLOBAL_SPACE for operand in access.operands):
            raise LoweringError(
                "the host function reads or writes a tensor that is in the memory of the GPU",
                span=place_of(access),
                found="an access outside a kernel",
                expected="accesses in kernels only",
                instead="a number as an argument of its own, or a kernel that makes the access",
            )


HOST_CHECKS = (
    PassSpec(
        "refuse-tensor-accesses",
        "The CPU would read at an address of the GPU.",
        _refuse_tensor_accesses,
        _ACCESSES,
    ),
)
"""What a host program must pass before it is lowered like any other."""
