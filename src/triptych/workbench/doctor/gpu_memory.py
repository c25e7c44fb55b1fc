"""Arrays in the memory of a GPU, from NumPy and back, by the driver alone: no other library has to be there."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from triptych.interop.dlpack import ELEMENT_CODES, GPU, DLTensor, array_type
from triptych.targets.nvptx.description.errors import NoGpuError
from triptych.targets.nvptx.runtime import driver

_NAMES = {array_type(element): element for element in ELEMENT_CODES}


class _ManagedTensor(ctypes.Structure):
    """DLPack's `DLManagedTensor`."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class GpuArray:
    """A copy of an array on the first GPU. It exports itself as the tensors of other libraries do."""

    def __init__(self, array: Any) -> None:
        self._host = np.ascontiguousarray(array)
        self._driver = gpu_driver()
        self._driver.enter(0)
        self.address = self._driver.allocate(self._host.nbytes)
        self._driver.write(self.address, self._host.ctypes.data, self._host.nbytes)
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
        self._driver.read(self.address, self._host.ctypes.data, self._host.nbytes)
        return self._host

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self._host.itemsize)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._driver.free(self.address)


_capsule: Any = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def gpu_driver() -> driver.Driver:
    """The driver of this machine, which has a GPU."""
    found = driver.find_driver()
    if found is None:
        raise NoGpuError("there is no NVIDIA driver", found="none of its libraries", instead="target='cpu'")
    return found


def architecture(device: int = 0) -> str:
    """A GPU's, as in `sm_80`."""
    return "sm_{}{}".format(*gpu_driver().capability_of(device))
