"""The MLIR type of a numeric class, for operations of a program's own: `Float32.mlir_type`."""

from __future__ import annotations

from typing import Any

from triptych.ir.handles import Type
from triptych.metastage.errors import LeakedValueError
from triptych.metastage.tracing import active, place


class MlirTypeError(LeakedValueError, AttributeError):
    """An attribute that is not there: `hasattr` and `inspect.getmembers` ask without raising."""


class MlirTypeOf:
    """An attribute of classes that is made where it is read: types belong to the trace in progress."""

    def __get__(self, instance: object, owner: Any) -> Type:
        trace = active()
        if trace is None:
            raise MlirTypeError("MLIR types exist only while a function is traced", span=place())
        return trace.builder.type(owner.info.mlir)
