"""Extension API of the language: operations of a program's own, and classes made of MLIR values."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from triptych.compat.base_dsl import BaseDSL, extract_mlir_values, new_from_mlir_values
from triptych.compat.mlir_builders.types import T
from triptych.compat.mlir_builders.values import if_generate, while_generate, yield_out
from triptych.cute.arch.architectures import Arch
from triptych.cute.mathematics.arithmetic import max_of as max
from triptych.cute.mathematics.arithmetic import min_of as min
from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError
from triptych.driver.compiling import CompiledFunction as JitCompiledFunction
from triptych.metastage.calls.opaque_calls import with_python_loops
from triptych.metastage.trace.trace import place
from triptych.metastage.values.aggregates import is_dynamic_expression
from triptych.metastage.values.binding_time import Constexpr, const_expr, truth
from triptych.metastage.values.mlir_types import NumericType as NumericMeta
from triptych.metastage.values.scalars import (
    BFloat16,
    Boolean,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Integer,
    Numeric,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
)
from triptych.prestage.refuse import UnsupportedSyntaxError

__all__ = [
    "Arch",
    "BFloat16",
    "BaseDSL",
    "Boolean",
    "Constexpr",
    "DSLCudaRuntimeError",
    "Float16",
    "Float32",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Integer",
    "JitCompiledFunction",
    "Numeric",
    "NumericMeta",
    "T",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "and_",
    "const_expr",
    "dsl_user_op",
    "extract_mlir_values",
    "for_generate",
    "if_generate",
    "is_dynamic_expression",
    "max",
    "min",
    "new_from_mlir_values",
    "not_",
    "or_",
    "while_generate",
    "yield_out",
]

F = TypeVar("F")


def __dir__() -> list[str]:
    return __all__


def dsl_user_op(opFunc: F) -> F:
    """Decorator for functions that take `loc` and `ip` to pass them along, and build operations by Python's own control
    flow: a `for` in them runs while tracing."""
    with_python_loops(opFunc)
    return opFunc


def not_(value: object, *, loc: object = None, ip: object = None) -> Any:
    """`not value`, also of a run-time number."""
    return value == 0 if isinstance(value, Numeric) else not value


def and_(lhs: object, rhs: object, *, loc: object = None, ip: object = None) -> Any:
    """`lhs and rhs` as a truth value, also of run-time numbers; both are known already."""
    return truth(lhs) & truth(rhs) if isinstance(lhs, Numeric) or isinstance(rhs, Numeric) else lhs and rhs


def or_(lhs: object, rhs: object, *, loc: object = None, ip: object = None) -> Any:
    """`lhs or rhs` as a truth value, also of run-time numbers; both are known already."""
    return truth(lhs) | truth(rhs) if isinstance(lhs, Numeric) or isinstance(rhs, Numeric) else lhs or rhs


def for_generate(*_: object, **__: object) -> NoReturn:
    """A loop built by hand; refused."""
    raise _built_by_hand("for_generate", "`for i in range(n):`, which carries the variables it assigns")


def _built_by_hand(name: str, instead: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"`{name}` builds control flow by hand", span=place(), found=name, expected="Python's own", instead=instead
    )
