"""Pass `mark-signed-extensions`: which numbers are extended with their sign.

Passes over ranges extend without a sign what is known not to be negative. A number that has had none from the beginning
is another thing: it wraps around at zero, and differences between lanes end there.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation
from triptych.ir.modules import operations_named

SIGNED_EXTENSIONS = frozenset({"arith.extsi", "arith.index_cast"})
_MARK = "triptych.signed"


def mark_signed_extensions(module: Module) -> None:
    """Mark all of them; the mark stays on an operation that takes the place of one."""
    mark = Builder(module.context).attribute("unit")
    for extension in operations_named(module, *SIGNED_EXTENSIONS):
        extension.attributes[_MARK] = mark


def was_signed(extension: Operation) -> bool:
    """Whether it was written with a sign."""
    return extension.name in SIGNED_EXTENSIONS or _MARK in extension.attributes
