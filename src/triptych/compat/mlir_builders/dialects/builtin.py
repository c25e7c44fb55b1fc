"""Builder calls between dialects: `cutlass._mlir.dialects.builtin`."""

from __future__ import annotations

from triptych.compat.later import builder_call

__all__ = ["unrealized_conversion_cast"]


def __dir__() -> list[str]:
    return __all__


unrealized_conversion_cast = builder_call(
    "cutlass._mlir.dialects.builtin.unrealized_conversion_cast",
    "the value as it is: types here are those of LLVM already",
)
