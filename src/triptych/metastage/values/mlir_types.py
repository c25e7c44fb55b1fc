"""Numeric classes as objects: the MLIR type, `Float32.mlir_type`, for operations of a program's own, and the text."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from triptych.ir.handles import Type
from triptych.metastage.trace.trace import active, place
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller


class NumericType(type):
    """The class of `Int32`, `Float32` …: printed, one is its name, as public programs show it."""

    def __str__(cls) -> str:
        return cls.__name__


class MlirTypeError(TriptychError, AttributeError):
    """A class of numbers has an MLIR type only while a function is traced; `hasattr` says whether it has one."""

    code = "TT0212"


class MlirTypeOf:
    """An attribute of classes that is made where it is read: types belong to the trace in progress."""

    def __get__(self, instance: object, owner: Any) -> Type:
        trace = active()
        if trace is not None:
            return trace.builder.type(owner.info.mlir)
        try:
            raise MlirTypeError(
                "MLIR types exist only while a function is traced",
                span=place() or caller(),
                found=f"`{owner.__name__}.mlir_type` where nothing is traced",
                expected="a `@jit` or `@kernel` function, or one that it calls",
            )
        except MlirTypeError as error:
            error.__traceback__ = None  # the frame of this method is none of the program's
            raise


class ArgumentPart:
    """Numbers in the protocol of public programs: an argument of theirs that holds one passes it."""

    __slots__ = ()
    mlir_type: ClassVar[MlirTypeOf]

    def __c_pointers__(self) -> list[Self]:
        return [self]

    def __get_mlir_types__(self) -> list[Any]:
        return [type(self).mlir_type]
