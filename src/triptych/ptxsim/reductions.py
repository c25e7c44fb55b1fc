"""Reduction operations of copies in memory: sums, extremes, counters, logic of whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Numbers

_TYPES: dict[str, Any] = {
    **{f"{letter}{bits}": np.dtype(f"{kind}{bits // 8}") for letter, kind in ("uu", "si") for bits in (32, 64)},
    "b32": np.dtype("u4"),
    "b64": np.dtype("u8"),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_ALLOWED = {
    "add": ("uint32", "int32", "uint64", *_FLOATS),
    "min": ("uint32", "int32", "uint64", "int64", "float16", "bfloat16"),
    "max": ("uint32", "int32", "uint64", "int64", "float16", "bfloat16"),
    "inc": ("uint32",),
    "dec": ("uint32",),
    "and": ("uint32", "int32", "uint64", "int64"),
    "or": ("uint32", "int32", "uint64", "int64"),
    "xor": ("uint32", "int32", "uint64", "int64"),
}


def reduction(kind: str, dtype: str | np.dtype[Any], old: Numbers, new: Numbers) -> Any:
    """Bytes of a shape, elements of which are combined."""
    dtype = _TYPES[dtype] if isinstance(dtype, str) else dtype
    if dtype.name not in _ALLOWED[kind]:
        raise UnknownInstructionError(f"{kind} of {dtype.name} in memory")
    before, given = (np.ascontiguousarray(each).reshape(-1).view(dtype) for each in (old, new))
    one = np.array(1, dtype)
    results: dict[str, Callable[[], Any]] = {
        "add": lambda: before + given,
        "min": lambda: np.fmin(before, given),
        "max": lambda: np.fmax(before, given),
        "and": lambda: before & given,
        "or": lambda: before | given,
        "xor": lambda: before ^ given,
        "inc": lambda: np.where(before >= given, np.array(0, dtype), before + one),
        "dec": lambda: np.where((before == 0) | (before > given), given, before - one),
    }
    return np.ascontiguousarray(results[kind]().astype(dtype)).view(np.uint8).reshape(new.shape)
