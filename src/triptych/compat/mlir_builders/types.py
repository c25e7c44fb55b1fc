"""MLIR types by short names: `cutlass._mlir.extras.types`."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from triptych.cute.memory.vectors import vector_type
from triptych.cute.tracing.device import tracing

__all__ = ["bf16", "bool", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "vector"]


def _type(text: str) -> Any:
    return tracing().builder.type(text)


def _vector(count: int, element: object) -> Any:
    return _type(vector_type(count, str(element)))


_SCALARS = {name: name for name in ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")} | {"bool": "i1"}

T = SimpleNamespace(vector=_vector, **{name: partial(_type, text) for name, text in _SCALARS.items()})
"""For operations of a program's own: `T.i32()`, `T.bool()`, `T.vector(4, T.f32())`."""

i8, i16, i32, i64 = T.i8, T.i16, T.i32, T.i64
f16, bf16, f32, f64 = T.f16, T.bf16, T.f32, T.f64
bool, vector = T.bool, T.vector


def __dir__() -> list[str]:
    return __all__
