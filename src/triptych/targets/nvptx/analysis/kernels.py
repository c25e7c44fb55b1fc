"""Kernels of a module, found without a walk over all that they contain; their nonnegative arguments, their types.

A visit to an operation from Python takes a microsecond or two, and kernels have thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.ir import bindings
from triptych.ir.handles import Block, Module, Operation, Type, Value
from triptych.ir.launch import Launch
from triptych.ir.modules import Signature, function
from triptych.ir.types import count_and_element, is_float, is_integer
from triptych.stages import Leaf


def kernels(module: Module, kind: str = "gpu.func") -> list[Operation]:
    """Every function of the device, before (`gpu.func`) or after (`llvm.func`) it became one of LLVM."""
    return [
        function.operation
        for device in module.body.operations
        if device.operation.name == "gpu.module"
        for function in device.regions[0].blocks[0].operations
        if function.operation.name == kind
    ]


# Sizes of what loads and stores of kernels move: elements, and vectors of them.

_INTEGERS = frozenset({8, 16, 32, 64})
_FLOATS = frozenset({16, 32, 64})


def bits_of(type_: Type) -> int:
    """The bits of a number that instructions move, or of a vector of them; 0 for other types."""
    count, element = count_and_element(type_) or (1, type_)
    if (is_integer(element) and element.width in _INTEGERS) or (is_float(element) and element.width in _FLOATS):
        return count * element.width
    return 0


# Nonnegative arguments of a kernel: extents and strides of tensors, which are checked at the call.


def extents_given(module: Module, signature: Signature, launch: Launch) -> list[bool]:
    """For each argument of a launch, whether the host function takes it over from one of its tensors."""
    extents = set(_extents(signature.parameters))
    entry = function(module, signature.name).regions[0].blocks[0]
    return [_place(value, entry) in extents for value in launch.arguments]


def _extents(parameters: Sequence[Leaf]) -> Iterator[int]:
    """The places of the arguments of compiled code that are extents or strides: they follow an address."""
    place = 0
    for leaf in parameters:
        unknowns = leaf.memory.unknowns if leaf.memory else ()
        yield from range(place + 1, place + 1 + len(unknowns))
        place += 1 + len(unknowns)


def _place(value: Value, entry: Block) -> int | None:
    """The place of a value among the arguments of the host function."""
    ir = bindings.mlir()
    if not isinstance(value.owner, ir.Block) or value.owner != entry:
        return None
    return int(ir.BlockArgument(value).arg_number)
