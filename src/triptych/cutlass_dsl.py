"""`triptych.compat.cutlass_dsl` under its shorter name."""

from __future__ import annotations

from triptych.compat.cutlass_dsl import (
    BFloat16,
    Boolean,
    DSLCudaRuntimeError,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Integer,
    Numeric,
    T,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    const_expr,
    dsl_user_op,
    extract_mlir_values,
    for_generate,
    if_generate,
    max,
    min,
    new_from_mlir_values,
    not_,
    while_generate,
    yield_out,
)

__all__ = [
    "BFloat16",
    "Boolean",
    "DSLCudaRuntimeError",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Integer",
    "Numeric",
    "T",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "const_expr",
    "dsl_user_op",
    "extract_mlir_values",
    "for_generate",
    "if_generate",
    "max",
    "min",
    "new_from_mlir_values",
    "not_",
    "while_generate",
    "yield_out",
]


def __dir__() -> list[str]:
    return __all__
