"""Arrays of NumPy, torch and everything else with `__dlpack__`, as the workbench compares, copies and counts them.

Torch is never imported here: a tensor of it is only there when the user's file has imported it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
"""An array of any library."""


def torch() -> Any:
    """The module, if this process has imported it."""
    return sys.modules.get("torch")


def is_array(value: object) -> bool:
    """Whether it is an array of some library."""
    return isinstance(value, np.ndarray | np.generic) or hasattr(value, "__dlpack__")


def is_tensor(value: object) -> bool:
    """Whether it is torch's."""
    library = torch()
    return library is not None and isinstance(value, library.Tensor)


def is_on_gpu(value: object) -> bool:
    """Whether it is a tensor in the memory of a GPU, whatever the compatibility layer tells the program of it."""
    return is_tensor(value) and value.untyped_storage().device.type == "cuda"  # type: ignore[attr-defined]


def arrays_in(value: Any) -> list[Array]:
    """The arrays among results or arguments, in tuples, lists and dicts too, in their order."""
    if is_array(value):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [array for part in value for array in arrays_in(part)]
    return []


def mapped(values: Sequence[Any], change: Callable[[Array], Array]) -> list[Any]:
    """Arguments with each array changed, in lists and tuples too."""
    return [_mapped(value, change) for value in values]


def _mapped(value: Any, change: Callable[[Array], Array]) -> Any:
    if is_array(value):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_mapped(part, change) for part in value)
    if type(value) is dict:
        return {name: _mapped(part, change) for name, part in value.items()}
    return value


def clone(array: Array) -> Array:
    """A copy in memory of its own, with the same strides where the library keeps them."""
    if is_tensor(array):
        copied = array.detach().clone()
        return copied.requires_grad_(array.requires_grad)
    if isinstance(array, np.ndarray):
        return array.copy(order="K")
    return np.from_dlpack(array).copy(order="K") if not isinstance(array, np.generic) else array


def overwrite(target: Array, source: Array) -> None:
    """New values in the same memory."""
    if is_tensor(target):
        with torch().no_grad():
            target.copy_(source)
    elif isinstance(target, np.ndarray):
        target[...] = np.asarray(source)


def to_float64(array: Array) -> Array:
    """The same array in double precision, of the same library; integers stay what they are."""
    if is_tensor(array):
        return array.detach().to(torch().float64) if array.is_floating_point() else array.detach().clone()
    plain = np.asarray(array) if isinstance(array, np.ndarray | np.generic) else np.from_dlpack(array)
    return _widened(plain) if is_floating(dtype_name(plain)) else plain.copy()


def values_of(array: Array) -> np.ndarray:
    """Its numbers for comparisons: float64, or integers and booleans as they are."""
    if is_tensor(array):
        there = array.detach().to("cpu")
        return np.asarray((there.to(torch().float64) if there.is_floating_point() else there).numpy())
    plain = np.asarray(array) if isinstance(array, np.ndarray | np.generic) else np.from_dlpack(array)
    return _widened(plain) if is_floating(dtype_name(plain)) else plain


def _widened(plain: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # a NaN that signals is a NaN
        return plain.astype(np.float64)


def bits(array: Array) -> bytes:
    """A copy of the bytes of its elements, in their order: compared in less time than digests are made."""
    if is_tensor(array):
        plain = array.detach().to("cpu").contiguous().reshape(-1).view(torch().uint8).numpy()
    else:
        plain = np.ascontiguousarray(array if isinstance(array, np.ndarray) else np.asarray(array))
    return bytes(plain.tobytes())


def digest(array: Array) -> str:
    """Equal for arrays whose elements have the same bits."""
    return hashlib.blake2b(bits(array), digest_size=16).hexdigest()


def dtype_name(array: Array) -> str:
    """`float16` of NumPy's and of torch's."""
    return str(array.dtype).removeprefix("torch.").removeprefix("<")


def device_name(array: Array) -> str:
    """`cpu`, or as torch says it."""
    if is_tensor(array):
        return str(array.device)
    return "cpu" if isinstance(array, np.ndarray | np.generic) else str(array.__dlpack_device__())


def size_in_bytes(array: Array) -> int:
    """Bytes of all its elements."""
    return int(array.numel() * array.element_size()) if is_tensor(array) else int(np.asarray(array).nbytes)


def is_floating(name: str) -> bool:
    """Whether a type of elements, by its name, has rounding."""
    return "float" in name


def ulp(values: np.ndarray, name: str) -> np.ndarray:
    """The distance to the next number of a type, at each value; below the normal ones that of the smallest."""
    facts = _facts(name)
    _, exponent = np.frexp(np.abs(np.where(np.isfinite(values), values, 0.0)))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, int(facts.minexp)) - int(facts.nmant)))


def tiny(name: str) -> float:
    """The smallest normal number of a type: what is smaller may be flushed to zero."""
    return float(_facts(name).smallest_normal)


def bits_of(name: str) -> int:
    """How wide a floating type is."""
    return int(_facts(name).bits)


def _facts(name: str) -> Any:
    narrow: Any = ml_dtypes.finfo
    return np.finfo(name) if name in ("float16", "float32", "float64") else narrow(name)
