"""Native tensor types: Python types that compiled code reads by itself, in a table it looks into at every call.

NumPy arrays are read as the C structure that they are, torch's tensors through the function that their class offers
for it, our own views by their attribute. A type is entered when a tensor of it is first passed; tensors of types that
are not in the table are turned into views by Python.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from triptych.interop.dlpack import ELEMENT_CODES, TensorView, array_type, describing_function, is_masked
from triptych.interop.foreign_arrays import foreign_array, offers_array
from triptych.interop.torch_tensors import TorchFields, is_torch, torch_fields
from triptych.support.forking import import_late

MOST_TYPES = 31
"""More types than programs have kinds of tensors: classes made at run time must not make the search long."""

_AS_ARRAY, _AS_VIEW, _CONVERTED = 1, 2, 3

ARRAY_OFFSETS = {"data": 16, "rank": 24, "shape": 32, "stride": 40, "type": 56, "flags": 64}
ELEMENT_OFFSETS = {"class": 16, "byte_order": 26}
"""Where the parts of a NumPy array and of its type are, the same in all versions; looked at once to be sure."""
WRITEABLE = 0x0400
_SYNONYMS = {"longlong": "Int64", "ulonglong": "Uint64"}
"""Types that are another one's twin on this machine."""


class _Entry(ctypes.Structure):
    """A type, what reads it (one of the numbers above or a function), and what is asked before: torch, or the Python
    function that makes an array of it."""

    _fields_ = [("type", ctypes.c_void_p), ("reader", ctypes.c_void_p), ("asked", ctypes.c_void_p)]


class _Element(ctypes.Structure):
    """The class of NumPy's scalars of an element type, and DLPack's code for it."""

    _fields_ = [("type", ctypes.c_void_p), ("code", ctypes.c_int64)]


_TYPES = (_Entry * (MOST_TYPES + 1))()
_ELEMENTS = (_Element * (len(ELEMENT_CODES) + len(_SYNONYMS) + 1))()
_KEPT: dict[int, type] = {}
"""The types that the table points to, kept alive, by identity."""


def table_addresses() -> tuple[int, int]:
    """The table of types and the table of NumPy's element types."""
    return ctypes.addressof(_TYPES), ctypes.addressof(_ELEMENTS)


def is_read_natively(kind: type) -> bool:
    """Whether compiled code reads tensors of this Python type; the type is entered if it can be."""
    if id(kind) in _KEPT:
        return True
    reader, free = _reader(kind), len(_KEPT)
    if reader is None or free == MOST_TYPES:
        return False
    _KEPT[id(kind)] = kind
    _TYPES[free].asked = _asked(kind, reader)
    _TYPES[free].reader = reader
    _TYPES[free].type = id(kind)
    return True


def _asked(kind: type, reader: int) -> int | None:
    if reader == _CONVERTED:
        return id(foreign_array)
    return ctypes.addressof(_fields()) if is_torch(kind) else None


def _reader(kind: type) -> int | None:
    if issubclass(kind, TensorView):
        return _AS_VIEW
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.ndarray):
        return _AS_ARRAY if _array_layout_is_known() and not is_masked(kind) else None
    if offers_array(kind):
        return _CONVERTED if _array_layout_is_known() else None
    return describing_function(kind) if not is_torch(kind) or torch_fields() is not None else None


def _fields() -> TorchFields:
    fields = torch_fields()
    assert fields is not None
    return fields


@cache
def _array_layout_is_known() -> bool:
    """Whether arrays are as `ARRAY_OFFSETS` says; then the element types are entered too."""
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
    if not known or (shape, stride) != (array.shape, array.strides):
        return False
    enter_elements()
    return True


def enter_elements() -> None:
    """Enter the element types that exist by now: those of ml_dtypes do when it has been imported."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    _enter_elements(numpy, "ml_dtypes" in sys.modules)


@cache
def _enter_elements(numpy: Any, _narrow: bool) -> None:
    names = {**{array_type(element): element for element in ELEMENT_CODES}, **_SYNONYMS}
    entered = 0
    for name, element in names.items():
        try:
            kind = numpy.dtype(name).type
        except TypeError:
            continue
        code, bits = ELEMENT_CODES[element]
        _ELEMENTS[entered].code = code | bits << 8 | 1 << 16
        _ELEMENTS[entered].type = id(kind)
        entered += 1
