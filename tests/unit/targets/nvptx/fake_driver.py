"""A driver that runs nothing and keeps a log, compiled from C, and tensors that say they are on a GPU."""

from __future__ import annotations

import ctypes
import shutil
from typing import Any

import numpy as np
import pytest

from triptych.interop.dlpack import GPU, DLTensor
from triptych.interop.tensor_views import TensorView, tensor_view

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler, for a driver that keeps a log")


class FakeDriver:
    """What tests tell the driver and ask it."""

    def __init__(self, library: Any) -> None:
        self.library = library
        library.fake_log.restype = ctypes.c_char_p

    def fail(self, function: str, status: int) -> None:
        """Let a function of the driver give this status from now on."""
        self.library.fake_fail(function.encode(), status)

    def kernel(self, name: str, arguments: str = "") -> None:
        """Say which kernel a cubin has; its arguments by letters, as the C file explains."""
        self.library.fake_kernel(name.encode(), arguments.encode())

    def version(self, number: int) -> None:
        self.library.fake_version(number)

    def log(self, *words: str) -> list[str]:
        """The lines of the log; with words, only those that begin with one of them."""
        lines: list[str] = self.library.fake_log().decode().splitlines()
        return [line for line in lines if not words or line.startswith(words)]


class GpuArray:
    """A tensor as GPU libraries have them: it exports itself through DLPack, from the memory of a GPU."""

    def __init__(self, array: Any, number: int = 0) -> None:
        self.array = array
        self.number = number

    @property
    def address(self) -> int:
        return int(self.array.ctypes.data)

    def __dlpack__(self, **_: Any) -> Any:
        capsule = self.array.__dlpack__()
        described = DLTensor.from_address(_pointer(capsule, b"dltensor"))
        described.device, described.device_number = self.__dlpack_device__()
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return GPU, self.number


def on_gpu(count: int, dtype: Any = np.float32, number: int = 0) -> GpuArray:
    """A new vector."""
    return GpuArray(np.zeros(count, dtype), number)


def view_on_gpu(count: int) -> TensorView:
    """The same as a view, which compiled code reads by itself."""
    return tensor_view(on_gpu(count))


_pointer: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
