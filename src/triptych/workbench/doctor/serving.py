"""`triptych doctor` inside a child process: one kernel on one target, and how far it is from what it should be.

On the CPU that is the example's own reference in NumPy, on any other target what the CPU target gives.

A kernel that faults leaves the driver unusable, or ends the process; each one has a process of its own.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import triptych as tt
from triptych.interop.dlpack import ELEMENT_CODES, GPU, DLTensor, array_type
from triptych.support.config import override
from triptych.targets.nvptx.description.errors import NoGpuError
from triptych.targets.nvptx.runtime import driver
from triptych.targets.nvptx.toolchain.assembling import has_assembler
from triptych.workbench.doctor.suite import SUITE, Entry, Wrapped, example

# Arrays in the memory of a GPU, from NumPy and back, by the driver alone: no other library has to be there.

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


CPU = "cpu"
_NVIDIA = "nvptx"
_ROUNDING = 1e-5


def serve(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    """The difference, whether it is allowed, and seconds with compilation."""
    name, target = request["kernel"], request["target"]
    entry = SUITE[name]
    doing(f"{name} on {target}")
    if request.get("compile_only"):
        return {"made": _made(entry, target)}
    if target == CPU:
        difference, seconds = _from_reference(entry)
        return {"difference": difference, "agrees": difference <= max(entry.tolerance, _ROUNDING), "seconds": seconds}
    found, seconds = run(entry, target)
    expected, _ = run(entry, CPU)
    difference = max(map(_difference, found, expected), default=0.0)
    return {"difference": difference, "agrees": difference <= entry.tolerance, "seconds": seconds}


def _from_reference(entry: Entry) -> tuple[float, float]:
    """How far the whole example is from its reference."""
    module = example(entry.module)
    start = time.perf_counter()
    with override(target=CPU):
        found = module.kernel_fn(*module.get_inputs())
    seconds = time.perf_counter() - start
    return _difference(found, module.reference_fn(*module.get_inputs())), seconds


def _made(entry: Entry, target: str) -> list[str]:
    """What comes of it without a GPU."""
    function, arguments = entry.call(example(entry.module))
    made = tt.compile(function, *arguments, target=target)
    return ["PTX", "cubin"] if has_assembler() and made.__cubin__ else ["PTX"] if made.__ptx__ else []


def run(entry: Entry, target: str) -> tuple[list[Any], float]:
    """All arrays after a call, and how long it took from the first line of Python on."""
    function, arguments = entry.call(example(entry.module))
    arrays: list[Any] = []
    start = time.perf_counter()
    placed = tuple(_placed(argument, target, arrays) for argument in arguments)
    with override(target=target):
        function(*placed)
    found = [array.numpy() if isinstance(array, GpuArray) else array for array in arrays]
    return found, time.perf_counter() - start


def _placed(argument: Any, target: str, arrays: list[Any]) -> Any:
    """With its arrays in the memory of the target, which are noted."""
    if isinstance(argument, tuple):
        return tuple(_placed(each, target, arrays) for each in argument)
    if isinstance(argument, Wrapped):
        return argument.make(_placed(argument.array, target, arrays))
    if not isinstance(argument, np.ndarray):
        return argument
    arrays.append(GpuArray(argument) if target.startswith(_NVIDIA) else argument.copy())
    return arrays[-1]


def _difference(found: Any, expected: Any) -> float:
    """The largest one, as a share of the largest number. What is no number in one of them is infinitely far."""
    found, expected = (np.asarray(array, np.float64) for array in (found, expected))
    if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
        return float("inf")
    finite = np.isfinite(expected)
    largest = np.max(np.abs(expected[finite]), initial=0.0)
    distance = np.max(np.abs(found[finite] - expected[finite]), initial=0.0)
    return float(distance / largest) if largest else float(distance)
