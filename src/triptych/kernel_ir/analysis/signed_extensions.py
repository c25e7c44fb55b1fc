"""Sign extension analysis, pass `mark-signed-extensions`: which numbers are extended with their sign.

Passes over ranges extend without a sign what is known not to be negative. A number that has had none from the beginning
is another thing: it wraps around at zero, and differences between lanes end there.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import operations_named
from triptych.ir.types import int_width

SIGNED_EXTENSIONS = frozenset({"arith.extsi", "arith.index_cast"})
_MARK = "triptych.signed"
_INDEX_BITS = 32


def mark_signed_extensions(module: Module) -> None:
    """Mark all of them; the mark stays on an operation that takes the place of one."""
    mark = Builder(module.context).attribute("unit")
    for extension in operations_named(module, *SIGNED_EXTENSIONS):
        extension.attributes[_MARK] = mark


def keeps_distances(extension: Operation) -> bool:
    """Whether an address counts the extended number as if the sum that it is had been extended term by term.

    A signed number of 32 bits that overflows would be an address far below the memory. Unsigned and narrower ones wrap
    around inside of it.
    """
    if extension.name not in SIGNED_EXTENSIONS and _MARK not in extension.attributes:
        return False
    old, new = (int_width(value.type) or 0 for value in (extension.operands[0], extension.results[0]))
    return _INDEX_BITS <= old < new
