"""Running a kernel over arrays: every thread gets a pointer to the first element of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.metastage.values.scalars import NUMERIC_CLASSES

DTYPES = {
    np.dtype(text): NUMERIC_CLASSES[name]
    for text, name in (
        ("int8", "Int8"),
        ("int16", "Int16"),
        ("int32", "Int32"),
        ("int64", "Int64"),
        ("uint8", "Uint8"),
        ("uint16", "Uint16"),
        ("uint32", "Uint32"),
        ("uint64", "Uint64"),
        ("float16", "Float16"),
        ("float32", "Float32"),
        ("float64", "Float64"),
        ("bool", "Boolean"),
    )
}


def run(kernel: Any, arrays: Sequence[np.ndarray[Any, Any]], *static: Any, grid: Any = 1, block: Any = 32) -> None:
    """Launch `kernel(*pointers, *static)`; it writes into the arrays."""
    dtypes = tuple(DTYPES[array.dtype] for array in arrays)
    host(tuple(tt.Int64(array.ctypes.data) for array in arrays), dtypes, kernel, static, grid, block)


@tt.jit
def host(
    addresses: Any,
    dtypes: tt.Constexpr[Any],
    kernel: tt.Constexpr[Any],
    static: tt.Constexpr[Any],
    grid: tt.Constexpr[Any],
    block: tt.Constexpr[Any],
) -> None:
    pointers = [
        cute.make_ptr(dtype, address, cute.AddressSpace.gmem) for dtype, address in zip(dtypes, addresses, strict=True)
    ]
    kernel(*pointers, *static).launch(grid=grid, block=block)
