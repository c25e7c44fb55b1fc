"""Worker of `triptych doctor`, in a child process: one kernel on one target, and how far it is from what it should be.

On the CPU that is the example's own reference in NumPy, on any other target what the CPU target gives. A kernel that
faults leaves the driver unusable, or ends the process; each one has a process of its own.

The kernels are the examples, each with arguments of its own making: a row gives a host function and its arguments;
arrays among them are copied to the memory of the target, and read back when the function has run. All of them are
compared, those that a kernel only reads included.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

import triptych as tt
from triptych.interop.dlpack import ELEMENT_CODES, GPU, DLTensor, array_type
from triptych.objectstage.device_errors import NoGpuError
from triptych.support.config import override
from triptych.support.dataclass import dataclass
from triptych.support.forking import import_late
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.runtime import driver
from triptych.targets.nvptx.toolchain.assembling import has_assembler
from triptych.workbench.installed_files import examples_folder

Call = tuple[Any, tuple[Any, ...]]
"""A host function and its arguments."""


@dataclass(frozen=True, slots=True)
class Wrapped:
    """An array, and what an example makes a tensor of it with."""

    make: Callable[[Any], Any]
    array: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel of the suite."""

    module: str
    """Of the examples."""
    call: Callable[[ModuleType], Call]
    tolerance: float = 0.0
    """The most that targets may differ, as a share of the largest number: they add in other orders."""
    needs: str = ""
    """The one architecture that has its instructions; it runs on the CPU besides."""
    since: int = 80
    """The first generation that has its instructions."""

    def runs_on(self, architecture: str) -> bool:
        if self.needs:
            return architecture == self.needs
        known = ARCHITECTURES.get(architecture)
        return known is not None and known.generation >= self.since


def example(name: str) -> Any:
    """A module of the examples, which import one another by bare names."""
    folder = str(examples_folder() / "kernels")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_late(name)


def _like(*shape: int, dtype: DTypeLike = np.float32) -> Any:
    return np.zeros(shape, dtype)


def _vector_add(way: str) -> Callable[[ModuleType], Call]:
    shape = (33, 256) if way == "by threads and values" else (4100,)

    def call(m: ModuleType) -> Call:
        a, b, _ = m.get_inputs(shape=shape, way=way)
        return m.WAYS[way], (a, b, np.zeros_like(a))

    return call


def _applied(name: str) -> Callable[[ModuleType], Call]:
    def call(m: ModuleType) -> Call:
        _, *tensors = m.get_inputs(name, n=4096)
        return m.apply, (m.FUNCTIONS[name][0], tuple(tensors), _like(4096))

    return call


def _axpy(m: ModuleType) -> Call:
    x, y, name = m.get_inputs()
    return m.axpy, (0.5, x, y, np.zeros_like(x), m.NAMES[name])


def _by_rows(function: str, *after: float) -> Callable[[ModuleType], Call]:
    """A function of a matrix and perhaps vectors, whose result has the shape of the matrix."""

    def call(m: ModuleType) -> Call:
        x, *others = m.get_inputs()
        return getattr(m, function), (x, *others, np.zeros_like(x), *after)

    return call


def _sum(m: ModuleType) -> Call:
    [x] = m.get_inputs()
    return m.sum_kernel_twice, (x, _like(-(-x.size // m.PER_BLOCK)), _like(1))


def _reduced(m: ModuleType) -> Call:
    x, _ = m.get_inputs()
    return m.reduce_blocks, (x, _like(-(-x.size // m.PER_BLOCK)), m.add, 0.0)


def _counted(kernel: str) -> Callable[[ModuleType], Call]:
    return lambda m: (m.histogram, (m.get_inputs(n=20_001)[0], _like(m.BINS, dtype=np.int32), getattr(m, kernel)))


def _transposed(layout: str) -> Callable[[ModuleType], Call]:
    return lambda m: (m.transpose, (m.get_inputs(96, 64)[0], _like(64, 96), getattr(m, layout)))


def _product(function: str) -> Callable[[ModuleType], Call]:
    def call(m: ModuleType) -> Call:
        a, b = m.get_inputs()[:2]
        return getattr(m, function), (a, b, _like(len(a), b.shape[1]))

    return call


def _tensor_cores(name: str, *, keeps_type: bool = False) -> Callable[[ModuleType], Call]:
    def call(m: ModuleType) -> Call:
        x, w = m.get_inputs(name=name)[:2]
        y = _like(len(x), len(w), dtype=x.dtype if keeps_type else np.float32)
        return m.gemm, (Wrapped(m.operand_of, x), Wrapped(m.operand_of, w), y)

    return call


def _attention(*, causal: bool) -> Callable[[ModuleType], Call]:
    def call(m: ModuleType) -> Call:
        q, k, v, _ = m.get_inputs(batch=1)
        return m.attention, (*(Wrapped(m.tensor_of, each) for each in (q, k, v, np.zeros_like(q))), causal)

    return call


SUITE: Mapping[str, Entry] = {
    "vector add, by elements": Entry("vector_add", _vector_add("by elements")),
    "vector add, by vectors": Entry("vector_add", _vector_add("by vectors")),
    "vector add, by layout": Entry("vector_add", _vector_add("by threads and values")),
    "relu": Entry("relu", _by_rows("relu")),
    "gate": Entry("elementwise_apply", _applied("gate"), 1e-5),
    "axpy with epilogue": Entry("epilogues", _axpy, 1e-6),
    "softmax": Entry("softmax", _by_rows("softmax"), 1e-5),
    "layer norm": Entry("layer_norm", _by_rows("layer_norm", 1e-6), 1e-5),
    "rms norm": Entry("rms_norm", _by_rows("rms_norm", 1e-6), 1e-5),
    "block reduction": Entry("block_reduction", _sum, 1e-5),
    "warp reduction": Entry("warp_reduction", _reduced, 1e-5),
    "histogram, global atomics": Entry("histogram", _counted("count_globally")),
    "histogram, shared atomics": Entry("histogram", _counted("count_in_blocks")),
    "transpose, padded": Entry("transpose", _transposed("PADDED")),
    "transpose, swizzled": Entry("transpose", _transposed("SWIZZLED")),
    "gemm, tiled": Entry("gemm", _product("tiled"), 1e-5),
    "gemm, register-tiled": Entry("gemm", _product("register_tiled"), 1e-5),
    "sgemm, asynchronous copies": Entry("sgemm", _product("sgemm"), 1e-5),
    "tensor-core gemm, f16": Entry("tensor_core_gemm", _tensor_cores("f16"), 1e-4),
    "tensor-core gemm, bf16": Entry("tensor_core_gemm", _tensor_cores("bf16"), 1e-4),
    "tensor-core gemm, fp8": Entry("tensor_core_gemm", _tensor_cores("fp8"), 1e-3, since=89),
    "flash attention": Entry("flash_attention", _attention(causal=False), 4e-3),
    "flash attention, causal": Entry("flash_attention", _attention(causal=True), 4e-3),
    "TMA and WGMMA gemm": Entry("hopper_gemm", _tensor_cores("f16", keeps_type=True), 4e-3, needs="sm_90a"),
    "tensor memory gemm": Entry("blackwell_gemm", _tensor_cores("f16", keeps_type=True), 4e-3, needs="sm_100a"),
}
"""By the name that a report has for it."""

# Arrays in the memory of a GPU, from NumPy and back, by the driver alone: no other library has to be there.

_NAMES = {array_type(element): element for element in ELEMENT_CODES}


class _ManagedTensor(ctypes.Structure):
    """DLPack's `DLManagedTensor`."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class GpuArray:
    """A copy of an array on the first GPU. It exports itself as the tensors of other libraries do."""

    def __init__(self, array: NDArray[Any]) -> None:
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

    def __dlpack__(self, **_: object) -> Any:
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


def worker_main(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
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


def _difference(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest one, as a share of the largest number. What is no number in one of them is infinitely far."""
    found, expected = (np.asarray(array, np.float64) for array in (found, expected))
    if not np.array_equal(np.isfinite(found), np.isfinite(expected)):
        return float("inf")
    finite = np.isfinite(expected)
    largest = np.max(np.abs(expected[finite]), initial=0.0)
    distance = np.max(np.abs(found[finite] - expected[finite]), initial=0.0)
    return float(distance / largest) if largest else float(distance)
