"""`triptych.compat.cutlass_dsl` under its shorter name."""

from __future__ import annotations

from triptych.compat.cutlass_dsl import (
    T,
    dsl_user_op,
    extract_mlir_values,
    for_generate,
    if_generate,
    new_from_mlir_values,
    while_generate,
    yield_out,
)

__all__ = [
    "T",
    "dsl_user_op",
    "extract_mlir_values",
    "for_generate",
    "if_generate",
    "new_from_mlir_values",
    "while_generate",
    "yield_out",
]


def __dir__() -> list[str]:
    return __all__
