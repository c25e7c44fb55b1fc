"""Tensors of torch's FakeTensorMode as descriptions to compile for: they have a type and a layout, but no memory."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from triptych.support.dlpack import CPU, ELEMENT_CODES, DLTensor, TensorView, array_type
from triptych.support.tensor_errors import UnsupportedTensorError


# Any: torch as a module, which has no types here.
def is_fake(value: object) -> bool:
    """Whether it is a tensor without memory; torch is not imported for the question."""
    fakes: Any = sys.modules.get("torch._subclasses.fake_tensor")
    return fakes is not None and isinstance(value, fakes.FakeTensor)


def view_of_fake(tensor: Any) -> TensorView:
    """Its type, extents and strides, at address zero: a call with it is a fault, a compilation is not."""
    name = str(tensor.dtype).removeprefix("torch.")
    element = next((element for element in ELEMENT_CODES if array_type(element) == name), None)
    if element is None:
        raise UnsupportedTensorError(
            "this tensor cannot be an argument", found=f"elements of type {name}", expected="a type of the language"
        )
    extents, strides = (tuple(map(int, part)) for part in (tensor.shape, tensor.stride()))
    parts = [(ctypes.c_int64 * len(extents))(*part) for part in (extents, strides)]
    pointers = (ctypes.cast(part, ctypes.POINTER(ctypes.c_int64)) for part in parts)
    described = DLTensor(None, CPU, 0, len(extents), *ELEMENT_CODES[element], 1, *pointers, 0)
    return TensorView(described, tensor)
