"""Nonnegative arguments of a kernel: extents and strides of tensors, which are checked at the call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triptych.ir import bindings
from triptych.ir.handles import Block, Module, Value
from triptych.ir.launch import Launch
from triptych.ir.modules import Signature, function
from triptych.stages import Leaf


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
