"""DLPack: the codes of element types and devices, the C structure of a description, capsules and what is in them."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Protocol

from triptych.diagnostics.tensor_errors import UnsupportedTensorError
from triptych.support.dataclass import dataclass
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
    "Float8E4M3FNUZ": (11, 8),
    "Float8E5M2": (12, 8),
    "Float8E5M2FNUZ": (13, 8),
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
    "Float8E4M3FNUZ": "float8_e4m3fnuz",
    "Float8E5M2": "float8_e5m2",
    "Float8E5M2FNUZ": "float8_e5m2fnuz",
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
_MOST_FACTS = 4096
"""How many are remembered: a program has few shapes, or so many that the next one is new."""


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


class CountedTensor(DLTensor):
    """The same with the tensor of torch that it describes, whose version compiled code counts on when it writes."""

    _fields_ = [("tensor", ctypes.c_void_p), ("torch", ctypes.c_void_p)]


@dataclass(frozen=True, slots=True, eq=False)
class TensorFacts:
    """What a description says but for the address. Tensors of equal facts share them: see `tensor_facts`."""

    code: int
    bits: int
    lanes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    device: int
    device_number: int
    element: str
    """The DSL type of the elements; empty when there is none."""
    image: bytes
    """A `CountedTensor` without an address, which is copied and given one."""
    arrays: tuple[Any, Any]
    """The extents and strides that the image points to."""


TensorMemory = tuple[TensorFacts, int, Any, object, Any, bool]
"""What a view is made of: the facts; where element zero is (0 for no memory); who offers it; what keeps the memory
should that one take other memory; the tensor of torch whose changes autograd counts, or None; whether it is read-only.

A plain tuple: one with names takes half a microsecond more."""


@lru_cache(maxsize=_MOST_FACTS)
def tensor_facts(
    code: int,
    bits: int,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
    lanes: int = 1,
    device: int = CPU,
    device_number: int = 0,
) -> TensorFacts:
    """The facts of a tensor. Several elements in a byte, which libraries count as one, are counted one by one."""
    rank = len(extents)
    if lanes > 1 and bits * lanes == 8:
        extents, strides = _unpacked(DLTensor(code=code, bits=bits, lanes=lanes), extents, strides)
        lanes = 1
    kind = ctypes.c_int64 * rank
    arrays = kind(*extents), kind(*strides)
    pointers = (ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)) for array in arrays)
    image = CountedTensor(None, device, device_number, rank, code, bits, lanes, *pointers, 0)
    return TensorFacts(
        code, bits, lanes, extents, strides, device, device_number, element_of(image), bytes(image), arrays
    )


def described_facts(described: DLTensor) -> TensorFacts:
    """The facts of a description."""
    rank = described.rank
    shape = described.shape[:rank] if rank else []
    stride = described.stride[:rank] if rank and described.stride else _row_major(shape)
    place = described.device, described.device_number
    return tensor_facts(described.code, described.bits, tuple(shape), tuple(stride), described.lanes, *place)


class GivesTensor(Protocol):
    """Offers its memory by the protocol of DLPack."""

    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> Any: ...


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


def describe(value: object, function: int) -> DLTensor:
    """The description that such a function gives of a tensor; it holds nothing."""
    described = DLTensor()
    try:
        _DESCRIBE(function)(value, ctypes.addressof(described))
    except Exception as error:
        raise _unwilling(value, error) from None
    return described


def _is_redefined(kind: type, owner: type, name: str) -> bool:
    """Whether a class gives a method another meaning than the class whose memory is read; switching it off is none."""
    own, original = (
        getattr(method, "__func__", method) for method in (getattr(kind, name, None), getattr(owner, name, None))
    )
    return own is not original and "disabled" not in getattr(own, "__name__", "")


def element_of(described: DLTensor | TensorFacts) -> str:
    """The DSL type of the elements; empty when there is none."""
    return _ELEMENTS.get((described.code, described.bits), "") if described.lanes == 1 else ""


def element_text(described: DLTensor | TensorFacts) -> str:
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


# Any: what offers memory is asked of its class.
def capsule_of(value: Any) -> Any:
    """What `__dlpack__` of a tensor gives; it holds the memory."""
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


def read_capsule(value: object, capsule: object) -> tuple[DLTensor, bool]:
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


def _unpacked(
    described: DLTensor, shape: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides in elements of a tensor that counts bytes: those in a byte follow each other in its last
    mode of stride 1."""
    count = described.lanes
    leading = max((mode for mode, step in enumerate(stride) if step == 1), default=None)
    if leading is None:
        raise UnsupportedTensorError(
            f"{count} elements are packed in one byte, and no mode of this tensor has them next to each other",
            found=f"{element_text(described)}, strides {stride}",
            expected="a mode of stride 1",
            instead="`.contiguous()`, or a view of the whole tensor",
        )
    extents = tuple(extent * count if mode == leading else extent for mode, extent in enumerate(shape))
    return extents, tuple(1 if mode == leading else step * count for mode, step in enumerate(stride))


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
