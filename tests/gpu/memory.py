"""Memory of a GPU with NumPy on the other side: all that the tests need beside a driver."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from triptych.support.dlpack import ELEMENT_CODES, GPU, DLTensor, array_type
from triptych.targets.nvptx.runtime.driver import find_driver

_NAMES = {array_type(element): element for element in ELEMENT_CODES}
_MAJOR, _MINOR = 75, 76
"""Attributes of a device: its compute capability."""


class _ManagedTensor(ctypes.Structure):
    """DLPack's `DLManagedTensor`."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class GpuArray:
    """A copy of an array on the first GPU. It exports itself as the tensors of other libraries do."""

    def __init__(self, array: Any) -> None:
        self._host = np.ascontiguousarray(array)
        _driver().enter(0)
        place = ctypes.c_uint64()
        _ask("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(max(self._host.nbytes, 1)))
        self.address = place.value
        _ask("cuMemcpyHtoD_v2", place, self._pointer(), ctypes.c_size_t(self._host.nbytes))
        rank = self._host.ndim
        steps = [step // self._host.itemsize for step in self._host.strides]
        self._integers = [(ctypes.c_int64 * rank)(*part) for part in (self._host.shape, steps)]
        shape, stride = (ctypes.cast(part, ctypes.POINTER(ctypes.c_int64)) for part in self._integers)
        code, bits = ELEMENT_CODES[_NAMES[self._host.dtype.name]]
        self._managed = _ManagedTensor(DLTensor(self.address, GPU, 0, rank, code, bits, 1, shape, stride, 0))

    def __dlpack__(self, **_: Any) -> Any:
        """A view that lives as long as the array does."""
        return _capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return GPU, 0

    def numpy(self) -> Any:
        """What is in the memory when all launches have ended."""
        _ask("cuCtxSynchronize")
        _ask("cuMemcpyDtoH_v2", self._pointer(), ctypes.c_uint64(self.address), ctypes.c_size_t(self._host.nbytes))
        return self._host

    def __del__(self) -> None:
        _driver()._library.cuMemFree_v2(ctypes.c_uint64(self.address))

    def _pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._host.ctypes.data)


_capsule: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def architecture() -> str:
    """The first GPU's, as in `sm_80`."""
    _driver().enter(0)
    numbers = []
    for attribute in (_MAJOR, _MINOR):
        value = ctypes.c_int()
        _ask("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        numbers.append(value.value)
    return "sm_{}{}".format(*numbers)


def _driver() -> Any:
    found = find_driver()
    assert found is not None
    return found


def _ask(function: str, *arguments: Any) -> None:
    _driver().check(function, getattr(_driver()._library, function)(*arguments))
