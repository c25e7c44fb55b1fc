"""NumPy arrays as tensors: element type, extents, strides and address, read where NumPy's C structure has them.

NumPy's own exporter refuses the narrow floats and read-only arrays, and asking an array for its address through Python
takes longer than all the rest. NumPy is not imported for this.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache, lru_cache
from typing import Any, Protocol, TypeGuard

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.dlpack import ELEMENT_CODES, GivesTensor, TensorFacts, array_type, tensor_facts
from triptych.support.forking import import_late

ARRAY_OFFSETS = {"data": 16, "rank": 24, "shape": 32, "stride": 40, "type": 56, "flags": 64}
ELEMENT_OFFSETS = {"class": 16, "byte_order": 26}
"""Where the parts of a NumPy array and of its type are, the same in all versions; looked at once to be sure."""
_DATA = ARRAY_OFFSETS["data"]
_MOST_FACTS = 4096


class Array(GivesTensor, Protocol):
    """A NumPy array, as far as it is asked: NumPy need not be installed."""

    @property
    def dtype(self) -> Any: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def ctypes(self) -> Any: ...
    @property
    def flags(self) -> Any: ...
    @property
    def base(self) -> object: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def ravel(self) -> Any: ...
    def tobytes(self) -> bytes: ...


def is_array(value: object) -> TypeGuard[Array]:
    """Whether it is a NumPy array; NumPy is not imported for the question."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_masked(kind: type) -> bool:
    """Whether it is NumPy's class of masked arrays: memory without the mask says something else."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and issubclass(kind, masked.MaskedArray)


@cache
def array_layout_is_known() -> bool:
    """Whether arrays are as `ARRAY_OFFSETS` says."""
    numpy = import_late("numpy")
    array = numpy.zeros((2, 3), numpy.float32)[:, ::2]
    start, dtype = id(array), id(array.dtype)
    words = {name: ctypes.c_void_p.from_address(start + offset).value for name, offset in ARRAY_OFFSETS.items()}
    if (words["data"], words["type"]) != (array.ctypes.data, dtype):
        return False
    shape, stride = (tuple((ctypes.c_int64 * 2).from_address(words[name] or 0)) for name in ("shape", "stride"))
    found = (
        ctypes.c_int.from_address(start + ARRAY_OFFSETS["rank"]).value,
        ctypes.c_int.from_address(start + ARRAY_OFFSETS["flags"]).value,
        ctypes.c_void_p.from_address(dtype + ELEMENT_OFFSETS["class"]).value,
        ctypes.c_char.from_address(dtype + ELEMENT_OFFSETS["byte_order"]).value,
    )
    known = found == (array.ndim, array.flags.num, id(array.dtype.type), b"=")
    return bool(known and (shape, stride) == (array.shape, array.strides))


def array_address(array: Array) -> int:
    """Where element zero is."""
    if array_layout_is_known():
        return ctypes.c_void_p.from_address(id(array) + _DATA).value or 0
    return int(array.ctypes.data)


def array_facts(array: Array) -> TensorFacts:
    """What a description of a NumPy array says."""
    if is_masked(type(array)):
        raise UnsupportedTensorError(
            "a masked array cannot be a tensor",
            found="a NumPy array with a mask, which compiled code would not see",
            expected="an array without a mask",
            instead="`array.filled(...)`, or `array.data` and `array.mask` as two tensors",
        )
    return _facts(array.dtype, array.shape, array.strides)


# Any: a type of NumPy, which has no types here.
@lru_cache(maxsize=_MOST_FACTS)
def _facts(dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> TensorFacts:
    name = dtype.name if dtype.isnative else str(dtype)
    element = next((element for element in ELEMENT_CODES if array_type(element) == name), None)
    if element is None:
        raise UnsupportedTensorError(
            "this NumPy array cannot be a tensor",
            found=f"elements of type {name}",
            expected="numbers that the language has, in the byte order of this machine",
            instead="array.astype(...)",
        )
    size = dtype.itemsize
    if any(step % size for step in strides):
        raise UnsupportedTensorError(
            "this NumPy array cannot be a tensor",
            found=f"strides of {strides} bytes",
            expected=f"multiples of the {size} bytes of an element",
            instead="numpy.ascontiguousarray(array)",
        )
    return tensor_facts(*ELEMENT_CODES[element], shape, tuple(step // size for step in strides))
