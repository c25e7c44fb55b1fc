"""Patch points of TVM FFI in public programs: how arguments of compiled functions are described to it.

Programs replace `_convert_single_arg` to have fields that are annotated `Constexpr` left out of a call, and add types
of their own to the tables. Triptych decides by itself how compiled functions take arguments, and takes such fields as
the first says: so nothing here is called.
"""

from __future__ import annotations

from typing import Any, NoReturn

from triptych.compat.errors import CudaCallError
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric
from triptych.support.dataclass import dataclass

__all__ = ["AcceptableNumericTypesForScalar", "ConstNone", "NumericToTVMFFIDtype", "spec"]

_BY_TVM = {"Boolean": "bool", "BFloat16": "bfloat16"}
_WIDTHS = (8, 16, 32, 64)
NumericToTVMFFIDtype: dict[Any, str] = {
    kind: _BY_TVM.get(name, name.lower())
    for name, kind in NUMERIC_CLASSES.items()
    if name in _BY_TVM or (name.rstrip("0123456789") in ("Int", "Uint", "Float") and kind.width in _WIDTHS)
}
"""TVM's names of types of numbers."""
AcceptableNumericTypesForScalar: list[type[Numeric]] = [*NumericToTVMFFIDtype]
"""Types that a number given to a compiled function may have."""


@dataclass(frozen=True, slots=True)
class ConstNone:
    """An argument that is None in every call."""

    name: str


class spec:
    """Descriptions of arguments, by the name that programs import them under."""

    ConstNone = ConstNone


def _convert_single_arg(arg: object, arg_name: str, arg_type: object, ctx: object) -> NoReturn:
    raise CudaCallError(
        f"the argument `{arg_name}` is to be described to TVM FFI by the program",
        found="a call of `_convert_single_arg`",
        expected="`cute.compile(..., options='--enable-tvm-ffi')`, which describes arguments itself",
        instead="a call of the compiled function with the arguments as they are",
    )


def __dir__() -> list[str]:
    return __all__
