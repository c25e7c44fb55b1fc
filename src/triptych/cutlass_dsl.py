"""Extension API of the language: operations of a program's own, and classes made of MLIR values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NoReturn, TypeVar

from triptych.compat.base_dsl import BaseDSL
from triptych.compat.mlir_builders.values import if_generate, while_generate, yield_out
from triptych.cute.mathematics.arithmetic import max_of as max
from triptych.cute.mathematics.arithmetic import min_of as min
from triptych.cute.memory.vectors import vector_type
from triptych.cute.tracing.device import tracing
from triptych.diagnostics.kernel_errors import DSLCudaRuntimeError
from triptych.metastage.kernels.launches import flatten
from triptych.metastage.trace.trace import Region, place
from triptych.metastage.values.binding_time import const_expr
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
    "BFloat16",
    "BaseDSL",
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

F = TypeVar("F")


def __dir__() -> list[str]:
    return __all__


def dsl_user_op(opFunc: F) -> F:
    """Decorator for functions that take `loc` and `ip` to pass them along; nothing is done, since places are known."""
    return opFunc


def extract_mlir_values(obj: object) -> list[Any]:
    """The MLIR values that an object of the program is made of."""
    return flatten(obj, tracing())[0]


def new_from_mlir_values(obj: object, values: Sequence[Any]) -> Any:
    """An object like another one, made of other MLIR values."""
    trace = tracing()
    given = (value.ir_value() if isinstance(value, Numeric) else value for value in values)
    with trace.readable(_left(trace.region)):  # an argument of a kernel is made of what the host has
        like = flatten(obj, trace)[1]
    return like.build(given, trace)


def _left(region: Region | None) -> list[Region]:
    """The regions around that values of the program cannot be used from."""
    found = []
    while region is not None:
        found += [] if region.open else [region]
        region = region.parent
    return found


def not_(value: object, *, loc: object = None, ip: object = None) -> Any:
    """`not value`, also of a run-time number."""
    return value == 0 if isinstance(value, Numeric) else not value


def _type(text: str) -> Any:
    return tracing().builder.type(text)


def _vector(count: int, element: object) -> Any:
    return _type(vector_type(count, str(element)))


_SCALARS = {name: name for name in ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")} | {"bool": "i1"}

T = SimpleNamespace(vector=_vector, **{name: partial(_type, text) for name, text in _SCALARS.items()})
"""MLIR types, for operations of a program's own: `T.i32()`, `T.bool()`, `T.vector(4, T.f32())`."""


def for_generate(*_: object, **__: object) -> NoReturn:
    """A loop built by hand; refused."""
    raise _built_by_hand("for_generate", "`for i in range(n):`, which carries the variables it assigns")


def _built_by_hand(name: str, instead: str) -> UnsupportedSyntaxError:
    return UnsupportedSyntaxError(
        f"`{name}` builds control flow by hand", span=place(), found=name, expected="Python's own", instead=instead
    )
