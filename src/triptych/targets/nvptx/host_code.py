"""The host function of a program as a program for the CPU: its launches become calls of the driver.

Input: a traced program. Output: the same program without kernels, with one parameter more, the address of a
`LaunchRecord`; the CPU target compiles it as it compiles any function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.launch import Launch, launches
from triptych.ir.location import place_of
from triptych.ir.modules import KeptModule, copy_module, function, graft, operations_named
from triptych.ir.signature import Signature
from triptych.narrow_floats.storage import stored_type
from triptych.stages import Leaf, Traced
from triptych.support.dlpack import GPU_DEVICES
from triptych.targets.nvptx.ask_the_host import ask_with
from triptych.targets.nvptx.launch_code import LaunchCode, launch_function

_CONTAINER = "gpu.container_module"
_GLOBAL_MEMORY = "!llvm.ptr<1>"


def kernel_names(traced: Traced) -> tuple[str, ...]:
    """The kernels of a program, in the order in which host code counts them."""
    module = traced.module.read()  # it may be a new one: its operations live as long as it does
    return tuple(kernel.attributes["sym_name"].value for kernel in operations_named(module, "gpu.func"))


def host_program(traced: Traced) -> Traced:
    """The host part of a program."""
    module = copy_module(traced.module.read())
    host = function(module, traced.name)
    _refuse_tensor_accesses(host)
    ask_with(module, Signature(traced.name, traced.parameters, traced.results))
    with module.context:
        record = _take_record(host)
        numbers = {name: i for i, name in enumerate(kernel_names(traced))}
        for i, launch in enumerate(launches(module)):
            _call_driver(module, launch, f"{traced.name}.launch{i}", numbers, record)
        for device in operations_named(module, "gpu.module"):
            device.erase()
        if _CONTAINER in module.operation.attributes:
            del module.operation.attributes[_CONTAINER]
    parameters = (*(_on_gpu(leaf) for leaf in traced.parameters), Leaf("launch record", "Int64"))
    return replace(traced, module=KeptModule(module), parameters=parameters)


def _on_gpu(leaf: Leaf) -> Leaf:
    return leaf if leaf.memory is None else replace(leaf, memory=replace(leaf.memory, devices=GPU_DEVICES))


def _refuse_tensor_accesses(host: Any) -> None:
    """What a host function reads of a tensor would be read by the CPU, at an address of the GPU."""
    for access in operations_named(host, "llvm.load", "llvm.store", "llvm.atomicrmw", "llvm.cmpxchg"):
        if any(str(operand.type) == _GLOBAL_MEMORY for operand in access.operands):
            raise LoweringError(
                "the host function reads or writes a tensor that is in the memory of the GPU",
                span=place_of(access),
                found="an access outside a kernel",
                expected="accesses in kernels only",
                instead="a number as an argument of its own, or a kernel that makes the access",
            )


def _take_record(host: Any) -> Any:
    ir = bindings.mlir()
    record = host.regions[0].blocks[0].add_argument(ir.IntegerType.get_signless(64), host.location)
    kind = ir.FunctionType(host.attributes["function_type"].value)
    host.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*kind.inputs, record.type], kind.results))
    return record


def _call_driver(module: Any, launch: Launch, symbol: str, numbers: dict[str, int], record: Any) -> None:
    ir = bindings.mlir()
    operation, operands = launch.operation, launch.values
    code = LaunchCode(
        symbol,
        numbers[launch.kernel],
        [stored_type(str(argument.type)) for argument in launch.arguments],
        clustered=bool(launch.cluster),
        cooperative=launch.cooperative,
        overlapping=launch.overlapping,
        streamed=launch.stream is not None,
    )
    graft(module, launch_function(code))
    builder = Builder(module.context)
    builder.insertion = ir.InsertionPoint(operation)
    attributes = builder.call(len(operands) + 1, callee=builder.attribute(f'@"{symbol}"'))
    builder.operation("llvm.call", [record, *operands], (), operation.location, attributes)
    operation.erase()
