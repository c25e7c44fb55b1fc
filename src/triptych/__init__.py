"""Triptych: ordinary Python turned into native code in three stages (pre-stage, meta-stage, object-stage).

Public names load on first use (PEP 562), so `import triptych` costs no MLIR, no LLVM, no NumPy.
The files behind `jit` and `compile` are called `jitting` and `compiling`: a submodule named like a public name would
replace that name on this package as soon as it is imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triptych.cute.address_spaces import AddressSpace
    from triptych.cute.math_arithmetic import max_of as max
    from triptych.cute.math_arithmetic import min_of as min
    from triptych.cutlass_dsl import dsl_user_op, for_generate, yield_out
    from triptych.dsl import DSL
    from triptych.jitting import JitFunction, compile, jit, kernel
    from triptych.metastage.arguments import register_jit_arg_adapter
    from triptych.metastage.binding_time import Constexpr, const_expr, dynamic_expr, range_constexpr
    from triptych.metastage.binding_time import Range as range
    from triptych.metastage.printing import printf
    from triptych.metastage.scalars import (
        BFloat16,
        Boolean,
        Float,
        Float4E2M1FN,
        Float6E2M3FN,
        Float6E3M2FN,
        Float8E4M3,
        Float8E4M3B11FNUZ,
        Float8E4M3FN,
        Float8E5M2,
        Float8E8M0FNU,
        Float16,
        Float32,
        Float64,
        Int4,
        Int8,
        Int16,
        Int32,
        Int64,
        Int128,
        Integer,
        Numeric,
        TFloat32,
        Uint8,
        Uint16,
        Uint32,
        Uint64,
        Uint128,
    )
    from triptych.metastage.scalars import dtype_named as dtype
    from triptych.support.errors import TriptychError

__version__ = "0.1.0"

__all__ = [
    "DSL",
    "AddressSpace",
    "BFloat16",
    "Boolean",
    "Constexpr",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E5M2",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "JitFunction",
    "Numeric",
    "TFloat32",
    "TriptychError",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "__version__",
    "compile",
    "const_expr",
    "dsl_user_op",
    "dtype",
    "dynamic_expr",
    "for_generate",
    "jit",
    "kernel",
    "max",
    "min",
    "printf",
    "range",
    "range_constexpr",
    "register_jit_arg_adapter",
    "yield_out",
]

_MODULES = ("cuda", "cute", "cutlass_dsl", "layout", "pipeline", "testing", "torch", "utils")
"""Modules that are there as soon as they are named, without an import of their own."""

_SCALARS = "triptych.metastage.scalars"

_HOMES = {
    "AddressSpace": "triptych.cute.address_spaces",
    "DSL": "triptych.dsl",
    "dsl_user_op": "triptych.cutlass_dsl",
    "for_generate": "triptych.cutlass_dsl",
    "yield_out": "triptych.cutlass_dsl",
    "JitFunction": "triptych.jitting",
    "jit": "triptych.jitting",
    "kernel": "triptych.jitting",
    "compile": "triptych.jitting",
    "Constexpr": "triptych.metastage.binding_time",
    "const_expr": "triptych.metastage.binding_time",
    "dynamic_expr": "triptych.metastage.binding_time",
    "range": "triptych.metastage.binding_time",
    "range_constexpr": "triptych.metastage.binding_time",
    "max": "triptych.cute.math_arithmetic",
    "min": "triptych.cute.math_arithmetic",
    "printf": "triptych.metastage.printing",
    "register_jit_arg_adapter": "triptych.metastage.arguments",
    "TriptychError": "triptych.support.errors",
}

_SPELLED_IN_HOME = {"dtype": "dtype_named", "max": "max_of", "min": "min_of", "range": "Range"}


def __getattr__(name: str) -> object:
    """Load a public name from its home module once; afterwards it is an ordinary attribute."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in __all__:
        try:
            raise importlib.import_module("triptych.support.likely_mistakes").missing_name(__name__, name, __all__)
        except AttributeError as error:  # a bare `raise` adds no entry for this frame, which is none of the user's
            error.__traceback__ = None
            raise
    home = importlib.import_module(_HOMES.get(name, _SCALARS))
    value: object = getattr(home, _SPELLED_IN_HOME.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
