"""Tensors of other libraries, read through DLPack: any object with `__dlpack__` becomes a `TensorView` of its memory.

Input: an array or tensor. Output: address, extents, strides in elements and type, with nothing copied. NumPy arrays
are read directly: their own exporter refuses the narrow floats and read-only arrays.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.interop.foreign_arrays import check_no_tracer, foreign_array, is_foreign_array, is_jax
from triptych.interop.torch_tensors import check_settled, exporting, is_torch, torch_fields
from triptych.support.errors import TriptychError
from triptych.support.wording import with_article

ELEMENT_CODES = {
    "TFloat32": (2, 32),  # before Float32, which is what libraries mean by this code
    "Float32": (2, 32),
    "Float16": (2, 16),
    "BFloat16": (4, 16),
    "Float64": (2, 64),
    **{f"Int{width}": (0, width) for width in (8, 16, 32, 64)},
    **{f"Uint{width}": (1, width) for width in (8, 16, 32, 64)},
    "Boolean": (6, 8),
    "Float8E4M3": (8, 8),
    "Float8E4M3B11FNUZ": (9, 8),
    "Float8E4M3FN": (10, 8),
    "Float8E5M2": (12, 8),
    "Float8E8M0FNU": (14, 8),
    "Float4E2M1FN": (17, 4),
    "Int4": (0, 4),
}
"""DSL types of tensor elements: DLPack's type code and the bits of one element."""

PACKED_ELEMENTS = frozenset(element for element, (_, bits) in ELEMENT_CODES.items() if bits < 8)
"""Several in one byte. Libraries count bytes, `float4_e2m1fn_x2`; the language counts elements."""

_ARRAY_TYPES = {
    "Boolean": "bool",
    "Float8E4M3": "float8_e4m3",
    "Float8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "Float8E4M3FN": "float8_e4m3fn",
    "Float8E5M2": "float8_e5m2",
    "Float8E8M0FNU": "float8_e8m0fnu",
}

CPU, GPU, CPU_PINNED, GPU_MANAGED = 1, 2, 3, 13
"""DLPack's kinds of memory: that of the CPU, of a CUDA GPU, and two that both can reach."""
CPU_DEVICES = (CPU, CPU_PINNED)
GPU_DEVICES = (GPU, CPU_PINNED, GPU_MANAGED)
_DEVICES = {
    CPU: "the CPU",
    GPU: "a CUDA GPU",
    CPU_PINNED: "the CPU",
    8: "Metal",
    10: "a ROCm GPU",
    GPU_MANAGED: "CUDA's memory",
}
_CODES = {0: "int", 1: "uint", 2: "float", 3: "opaque", 4: "bfloat", 5: "complex", 6: "bool"}
_ELEMENTS = {code: name for name, code in ELEMENT_CODES.items()}
_ELEMENT_OF_DTYPE: dict[Any, str] = {}
"""What has been found out about NumPy types."""
_EXCHANGE_NAME, _EXCHANGE_VERSION, _EXCHANGE_DESCRIBE = b"dlpack_exchange_api", 1, 5
"""The table of functions that a class offers: the name of its capsule, its major version, and the word we call."""
_OWN_MEANING = ("__dlpack__", "__torch_function__", "__torch_dispatch__")
"""Methods by which a class says what its tensors are; one of its own is asked instead of the memory."""
_READ_ONLY = 1
_MAJOR_VERSION = 1
_VERSIONED_OFFSET = 32
_MOST_MODES = 64
"""As many as NumPy has."""
_MOST_BYTES = (1 << 63) - 1


class DLTensor(ctypes.Structure):
    """DLPack's description of a tensor; strides count elements."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("stride", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Described(DLTensor):
    """The same with the tensor of torch that it describes, whose version compiled code counts on when it writes."""

    _fields_ = [("tensor", ctypes.c_void_p), ("torch", ctypes.c_void_p)]


class GivesTensor(Protocol):
    """Offers its memory by the protocol of DLPack."""

    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...


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


class TensorView:
    """The memory of a tensor, which stays alive as long as the view. Compiled code finds the description in it."""

    __slots__ = ("__dltensor__", "__weakref__", "__writable_dltensor__", "_described", "_owner", "_parts")

    __dltensor__: int
    """The address of a `DLTensor`."""
    __writable_dltensor__: int
    """The same; missing when the memory may not be written to."""

    def __init__(self, described: DLTensor, owner: GivesTensor, *, read_only: bool = False) -> None:
        rank = described.rank
        shape = described.shape[:rank] if rank else []
        stride = described.stride[:rank] if rank and described.stride else _row_major(shape)
        self._described = _Described()
        ctypes.memmove(ctypes.addressof(self._described), ctypes.addressof(described), ctypes.sizeof(DLTensor))
        if described.lanes > 1 and described.bits * described.lanes == 8:
            shape, stride = _unpacked(described, shape, stride)
            self._described.lanes = 1
        self._parts = ((ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*stride))
        self._described.shape, self._described.stride = (
            ctypes.cast(part, ctypes.POINTER(ctypes.c_int64)) for part in self._parts
        )
        self._owner = owner
        tensor = self.counted
        if tensor is not None:
            fields = torch_fields()
            self._described.tensor = id(tensor)
            self._described.torch = None if fields is None else ctypes.addressof(fields)
        self.__dltensor__ = ctypes.addressof(self._described)
        if not read_only:
            self.__writable_dltensor__ = self.__dltensor__

    @property
    def counted(self) -> Any:
        """The tensor of torch whose memory it is: autograd counts its changes; None for others."""
        owner: Any = self._owner
        while isinstance(owner, TensorView | _Owner):
            owner = owner._owner if isinstance(owner, TensorView) else owner.value
        return owner if is_torch(type(owner)) else None

    def uncounted(self) -> TensorView:
        """The same memory, whose changes somebody else has told autograd of."""
        return TensorView(self._described, _Uncounted(self), read_only=self.read_only)

    @property
    def address(self) -> int:
        """Where element zero is."""
        return (self._described.data or 0) + int(self._described.offset)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(self._parts[0])

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        return tuple(self._parts[1])

    @property
    def element(self) -> str:
        """The DSL type of the elements; empty when there is none."""
        return element_of(self._described)

    @property
    def element_text(self) -> str:
        """The type of the elements as an error names it."""
        return element_text(self._described)

    @property
    def on_cpu(self) -> bool:
        return self._described.device in (CPU, CPU_PINNED)

    @property
    def read_only(self) -> bool:
        return not hasattr(self, "__writable_dltensor__")

    def __dlpack__(self, **options: Any) -> Any:
        return exporting(self._owner).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._owner.__dlpack_device__()


# Any: what offers memory is asked of its class; so in all of this file.
def tensor_view(value: Any) -> TensorView:
    """A view of any object that offers its memory; UnsupportedTensorError when it cannot be had."""
    if isinstance(value, TensorView):
        return value
    if is_array(value):
        return _view_of_array(value)
    if is_foreign_array(value):
        try:
            return _view_of_array(foreign_array(value))
        except BufferError:
            pass  # an array of JAX on a GPU: asked by DLPack
    check_no_tracer(value)
    check_settled(value)
    capsule = _capsule(exporting(value))
    described, read_only = _described(value, capsule)
    # The capsule stays as it was made: when the view goes, the capsule goes, and gives the memory back.
    return TensorView(described, _Owner(value, capsule), read_only=read_only or is_jax(type(value)))


def passing_view(value: Any) -> TensorView:
    """A view for the length of a call: the tensor does not move meanwhile, so nothing needs to hold its memory.

    For torch's tensors it takes a tenth of the time.
    """
    address = None if isinstance(value, TensorView) or is_array(value) else describing_function(type(value))
    if address is None:
        return tensor_view(value)
    check_settled(value)
    described = DLTensor()
    try:
        _DESCRIBE(address)(value, ctypes.addressof(described))
    except Exception as error:
        raise _unwilling(value, error) from None
    return TensorView(described, value)


def describing_function(kind: type) -> int | None:
    """The C function that a class offers for describing its tensors: it takes an object and a `DLTensor` to fill."""
    owner = next((cls for cls in kind.__mro__ if "__dlpack_c_exchange_api__" in cls.__dict__), None)
    if owner is None or any(_is_redefined(kind, owner, name) for name in _OWN_MEANING):
        return None
    capsule = vars(owner)["__dlpack_c_exchange_api__"]
    if not _is_capsule(capsule, _EXCHANGE_NAME):
        return None
    table = _capsule_pointer(capsule, _EXCHANGE_NAME)
    if ctypes.c_uint32.from_address(table).value != _EXCHANGE_VERSION:
        return None
    function: int | None = (ctypes.c_void_p * (_EXCHANGE_DESCRIBE + 1)).from_address(table)[_EXCHANGE_DESCRIBE]
    return function


def _is_redefined(kind: type, owner: type, name: str) -> bool:
    """Whether a class gives a method another meaning than the class whose memory is read; switching it off is none."""
    own, original = (
        getattr(method, "__func__", method) for method in (getattr(kind, name, None), getattr(owner, name, None))
    )
    return own is not original and "disabled" not in getattr(own, "__name__", "")


def is_masked(kind: type) -> bool:
    """Whether it is NumPy's class of masked arrays: memory without the mask says something else."""
    masked = sys.modules.get("numpy.ma")
    return masked is not None and issubclass(kind, masked.MaskedArray)


def is_array(value: object) -> TypeGuard[Array]:
    """Whether it is a NumPy array; NumPy is not imported for the question."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def element_of(described: DLTensor) -> str:
    """The DSL type of the elements; empty when there is none."""
    return _ELEMENTS.get((described.code, described.bits), "") if described.lanes == 1 else ""


def element_text(described: DLTensor) -> str:
    """The type of the elements as an error names it."""
    known = element_of(described)
    if known:
        return known
    lanes = f", {described.lanes} in one" if described.lanes > 1 else ""
    name = _CODES.get(described.code, f"narrow float (number {described.code} of DLPack) of ")
    return f"{name}{described.bits} bits{lanes}" if name.endswith(" ") else f"{name}{described.bits}{lanes}"


def device_text(described: DLTensor) -> str:
    """Where the memory is, as an error names it."""
    name = _DEVICES.get(described.device, f"device type {described.device}")
    return name if described.device in (CPU, CPU_PINNED) else f"{name} (number {described.device_number})"


def array_type(element: str) -> str:
    """What NumPy and ml_dtypes call an element type."""
    return _ARRAY_TYPES.get(element, element.lower())


class _Owner:
    """A tensor together with the capsule that was asked of it."""

    def __init__(self, value: Any, capsule: object) -> None:
        self.value = value
        self.capsule = capsule

    def __dlpack__(self, **options: object) -> Any:
        return exporting(self.value).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__()


class _Uncounted:
    """A view that another one is made of, whose tensor is not looked for."""

    def __init__(self, view: TensorView) -> None:
        self._view = view

    def __dlpack__(self, **options: object) -> Any:
        return self._view.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._view.__dlpack_device__()


def _capsule(value: Any) -> Any:
    if not hasattr(type(value), "__dlpack__"):
        raise UnsupportedTensorError(
            f"{with_article(type(value).__name__)} is not a tensor",
            found=f"an object of type {type(value).__name__}",
            expected="a NumPy array, a torch tensor, or another object with `__dlpack__`",
        )
    try:
        try:
            return value.__dlpack__(max_version=(1, 0))
        except TypeError:
            return value.__dlpack__()
    except TriptychError:
        raise
    except Exception as error:  # libraries raise BufferError, RuntimeError, ValueError …
        raise _unwilling(value, error) from None


def _described(value: object, capsule: object) -> tuple[DLTensor, bool]:
    """The description in a capsule, and whether it is read-only; nothing in it is believed before it is looked at."""
    plain, versioned = (_is_capsule(capsule, name) for name in (b"dltensor", b"dltensor_versioned"))
    if not plain and not versioned:
        is_any = type(capsule).__name__ == "PyCapsule"
        name = (_capsule_name(capsule) or b"").decode(errors="replace") if is_any else ""
        raise _untrue(value, f"a capsule called {name!r}" if is_any else f"an object of type {type(capsule).__name__}")
    start = _capsule_pointer(capsule, b"dltensor_versioned" if versioned else b"dltensor")
    if versioned:
        major, minor = (ctypes.c_uint32 * 2).from_address(start)
        if major != _MAJOR_VERSION:
            raise _untrue(value, f"a description by version {major}.{minor} of DLPack")
    described = DLTensor.from_address(start + (_VERSIONED_OFFSET if versioned else 0))
    flags = ctypes.c_uint64.from_address(start + _VERSIONED_OFFSET - 8).value if versioned else 0
    rank = described.rank
    if not 0 <= rank <= _MOST_MODES:
        raise _untrue(value, f"{rank} modes")
    if rank and not described.shape:
        raise _untrue(value, f"{rank} modes without extents")
    extents = described.shape[:rank] if rank else []
    if any(extent < 0 for extent in extents):
        raise _untrue(value, f"the extents {tuple(extents)}")
    strides = described.stride[:rank] if rank and described.stride else _row_major(extents)
    reach = sum((extent - 1) * abs(step) for extent, step in zip(extents, strides, strict=True)) if all(extents) else 0
    if max([*extents, reach * max(described.bits * described.lanes // 8, 1)]) > _MOST_BYTES:
        raise _untrue(value, f"the extents {tuple(extents)} and strides {tuple(strides)}")
    return described, bool(flags & _READ_ONLY)


def _untrue(value: object, found: str) -> UnsupportedTensorError:
    return UnsupportedTensorError(
        f"what `__dlpack__` of this {type(value).__name__} gives is no tensor",
        found=found,
        expected=f"a capsule `dltensor` or `dltensor_versioned` (version {_MAJOR_VERSION}) that describes a tensor",
    )


def _unwilling(value: object, error: Exception) -> UnsupportedTensorError:
    return UnsupportedTensorError(
        f"this {type(value).__name__} does not give its memory away",
        found=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
        expected="a tensor that exports itself through `__dlpack__`",
        instead="a copy of it as an array of NumPy or PyTorch",
    )


def array_facts(array: Array) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """The element type, the extents and the strides in elements of a NumPy array."""
    if is_masked(type(array)):
        raise UnsupportedTensorError(
            "a masked array cannot be a tensor",
            found="a NumPy array with a mask, which compiled code would not see",
            expected="an array without a mask",
            instead="`array.filled(...)`, or `array.data` and `array.mask` as two tensors",
        )
    dtype = array.dtype
    element = _ELEMENT_OF_DTYPE.get(dtype)
    if element is None:
        name = dtype.name if dtype.isnative else str(dtype)
        element = next((element for element in ELEMENT_CODES if array_type(element) == name), None)
        if element is None:
            raise UnsupportedTensorError(
                "this NumPy array cannot be a tensor",
                found=f"elements of type {name}",
                expected="numbers that the language has, in the byte order of this machine",
                instead="array.astype(...)",
            )
        _ELEMENT_OF_DTYPE[dtype] = element
    size = dtype.itemsize
    if any(step % size for step in array.strides):
        raise UnsupportedTensorError(
            "this NumPy array cannot be a tensor",
            found=f"strides of {array.strides} bytes",
            expected=f"multiples of the {size} bytes of an element",
            instead="numpy.ascontiguousarray(array)",
        )
    return element, array.shape, tuple(step // size for step in array.strides)


def _view_of_array(array: Array) -> TensorView:
    return view_of_memory(array, *array_facts(array), array.ctypes.data, read_only=not array.flags.writeable)


def view_of_memory(
    owner: GivesTensor,
    element: str,
    extents: Sequence[int],
    strides: Sequence[int],
    address: int | None,
    *,
    read_only: bool = False,
) -> TensorView:
    """A view of memory with these facts; None is no memory."""
    rank, (code, bits) = len(extents), ELEMENT_CODES[element]
    parts = [(ctypes.c_int64 * rank)(*part) for part in (extents, strides)]
    pointers = (ctypes.cast(part, ctypes.POINTER(ctypes.c_int64)) for part in parts)
    return TensorView(DLTensor(address, CPU, 0, rank, code, bits, 1, *pointers, 0), owner, read_only=read_only)


def _unpacked(described: DLTensor, shape: list[int], stride: list[int]) -> tuple[list[int], list[int]]:
    """Extents and strides in elements of a tensor that counts bytes: those in a byte follow each other in its last
    mode of stride 1."""
    count = described.lanes
    leading = max((mode for mode, step in enumerate(stride) if step == 1), default=None)
    if leading is None:
        raise UnsupportedTensorError(
            f"{count} elements are packed in one byte, and no mode of this tensor has them next to each other",
            found=f"{element_text(described)}, strides {tuple(stride)}",
            expected="a mode of stride 1",
            instead="`.contiguous()`, or a view of the whole tensor",
        )
    extents = [extent * count if mode == leading else extent for mode, extent in enumerate(shape)]
    return extents, [1 if mode == leading else step * count for mode, step in enumerate(stride)]


def _row_major(shape: list[int]) -> list[int]:
    """The strides that DLPack means when it gives none."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return strides


_capsule_name: Any = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_is_capsule: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_capsule_pointer: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_DESCRIBE: Any = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
