"""What compiled code asks of torch before it reads a tensor: nobody records, no gradient, nothing left to be negated.

Asking through Python costs more than the whole call. So the fields are read where this version of torch has them, which
is found out by looking at tensors that have the property and tensors that do not. Where that is not clear, None is the
answer, and tensors are turned into views by Python, which asks.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from triptych.support.torch_tracers import KEYS, interception_test

_OBJECT_WORDS, _TENSOR_WORDS = 6, 25
"""How much of the Python object and of torch's own is looked at, in words of 8 bytes; both are at least as large."""
_GETTER_OFFSET = 40
"""Where a getset descriptor has its definition, in every version of CPython that there is."""


class TorchFields(ctypes.Structure):
    """Offsets in bytes, the getter asked where gradients may be followed, and the test whether anybody records."""

    _fields_ = [
        ("tensor", ctypes.c_int64),
        ("keys", ctypes.c_int64),
        ("negative", ctypes.c_uint64),
        ("gradient", ctypes.c_int64),
        ("getter", ctypes.c_void_p),
        ("closure", ctypes.c_void_p),
        ("intercepted", ctypes.c_void_p),
        ("interceptions", ctypes.c_int32 * len(KEYS)),
    ]


class _Getset(ctypes.Structure):
    """Python's definition of an attribute that C code computes."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("name", "getter", "setter", "doc", "closure")]


def is_torch(kind: type) -> bool:
    """Whether it is a class of torch's tensors; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.Tensor)


@cache
def torch_fields() -> TorchFields | None:
    """Where the fields are; None when this version of torch is another one than we can read."""
    torch: Any = sys.modules["torch"]
    with torch.inference_mode(False), torch.no_grad():
        plain = [torch.zeros(shape, dtype=torch.float32, device="cpu") for shape in ((3,), (2, 2), (0,), ())]
        negated = [torch._neg_view(tensor) for tensor in plain]
        followed = [torch.zeros(shape, requires_grad=True, device="cpu") for shape in ((3,), (2, 2), ())]
    objects = [_words(id(tensor), _OBJECT_WORDS) for tensor in (*plain, *followed)]
    tensor = _only(_OBJECT_WORDS, lambda i: [words[i] for words in objects] == [t._cdata for t in (*plain, *followed)])
    usual, other, graded = ([_words(t._cdata, _TENSOR_WORDS) for t in group] for group in (plain, negated, followed))
    keys = _only(_TENSOR_WORDS, lambda i: _common_bit([(a[i], b[i]) for a, b in zip(usual, other, strict=True)]) != 0)
    gradient = _only(_TENSOR_WORDS, lambda i: not any(a[i] for a in usual) and all(b[i] for b in graded))
    getter = _requires_grad(torch.Tensor)
    test = interception_test()
    if tensor is None or keys is None or gradient is None or getter is None or test is None:
        return None
    negative = _common_bit([(a[keys], b[keys]) for a, b in zip(usual, other, strict=True)])
    offsets = (8 * tensor, 8 * keys, negative, 8 * gradient)
    return TorchFields(*offsets, getter.getter, getter.closure, test[0], test[1])


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _only(count: int, holds: Callable[[int], bool]) -> int | None:
    """The one place where something holds."""
    found = [i for i in range(count) if holds(i)]
    return found[0] if len(found) == 1 else None


def _common_bit(pairs: list[tuple[int, int]]) -> int:
    """The one bit that is down in the first of every pair, up in the second, and the only difference; 0 for none."""
    differences = {first ^ second for first, second in pairs}
    bit = differences.pop() if len(differences) == 1 else 0
    return bit if bit.bit_count() == 1 and not any(first & bit for first, _ in pairs) else 0


def _requires_grad(tensor: type) -> _Getset | None:
    holder = next((cls for cls in tensor.__mro__ if "requires_grad" in cls.__dict__), None)
    descriptor = vars(holder)["requires_grad"] if holder is not None else None
    if type(descriptor).__name__ != "getset_descriptor":
        return None
    address = ctypes.c_void_p.from_address(id(descriptor) + _GETTER_OFFSET).value
    definition = _Getset.from_address(address or 0)
    return definition if ctypes.string_at(definition.name) == b"requires_grad" else None
