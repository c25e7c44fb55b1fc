"""Accesses to global memory that are narrower than they could be, each with its line and the reason.

A GPU moves 16 bytes of a thread in one instruction. Where one line of a program moves several elements one by one,
something kept them apart: every one has a condition of its own, their distance is known only at run time, or nobody
said that the first is at a multiple of 16 bytes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from triptych.ir import bindings
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named
from triptych.support.source import Span

_GLOBAL = "!llvm.ptr<1>"
_ACCESSES = {"llvm.load": (0, "loads"), "llvm.store": (1, "stores")}
"""The place of the address among the operands."""
_BITS = {"i8": 8, "f16": 16, "bf16": 16, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}


@dataclass(frozen=True, slots=True)
class Narrow:
    """Accesses of one line that move an element each."""

    span: Span | None
    number: int
    what: str
    bits: int
    why: str

    def __str__(self) -> str:
        where = f"{self.span.file}:{self.span.line}" if self.span else "?"
        return f"{where}: {self.number} {self.what} of {self.bits} bits instead of 128: {self.why}"


def narrow_accesses(kernel: Any) -> tuple[Narrow, ...]:
    """The lines of a kernel that access several elements of global memory, each by itself."""
    lines: dict[tuple[Span | None, str, int], list[Any]] = defaultdict(list)
    for operation in operations_named(kernel, *_ACCESSES):
        address, what = _ACCESSES[operation.name]
        value = operation.results[0] if what == "loads" else operation.operands[0]
        bits = _BITS.get(str(value.type))
        if bits is not None and str(operation.operands[address].type) == _GLOBAL:
            lines[place_of(operation), what, bits].append(operation)
    return tuple(
        Narrow(span, len(together), what, bits, _why(together, bits))
        for (span, what, bits), together in lines.items()
        if len(together) > 1
    )


def _why(together: list[Any], bits: int) -> str:
    if len({operation.block for operation in together}) == len(together):
        return "each has a condition of its own"
    first, *others = together  # the others count from the address of the first
    if not all(_is_constant_distance(other.operands[_ACCESSES[other.name][0]]) for other in others):
        return "their distance is known only at run time (a dynamic stride)"
    certain = first.attributes["alignment"].value
    if certain * 8 < 128:
        return f"the address is certain to be a multiple of {certain} bytes only (assumed_align, divisibility)"
    return f"they are not next to each other, or {bits} bits are all that is copied at once"


def _is_constant_distance(pointer: Any) -> bool:
    """Whether an address is another one and a constant."""
    if isinstance(pointer.owner, bindings.mlir().Block):
        return False
    return pointer.owner.operation.name == "llvm.getelementptr" and len(pointer.owner.operation.operands) == 1
