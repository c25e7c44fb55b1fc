"""Tensors over NumPy arrays by their address, for tests of tensors inside host functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from triptych import cute

GMEM = cute.AddressSpace.gmem


def address(array: np.ndarray[Any, Any]) -> int:
    """Where an array begins; the test keeps it alive."""
    return int(array.ctypes.data)


def over(where: Any, layout: Any, dtype: Any = tt.Float32, align: int | None = None) -> Any:
    """A tensor in global memory at an address."""
    return cute.make_tensor(cute.make_ptr(dtype, where, GMEM, assumed_align=align), layout)


def aligned(count: int, dtype: Any, alignment: int = 64) -> np.ndarray[Any, Any]:
    """Zeros that begin at a multiple of an alignment."""
    item = np.dtype(dtype).itemsize
    raw = np.zeros(count * item + alignment, np.uint8)
    start = -address(raw) % alignment
    return raw[start : start + count * item].view(dtype)


def lines(function: Any, *arguments: Any) -> list[str]:
    """The traced module of a function."""
    text: str = tt.compile(function, *arguments).mlir
    return text.splitlines()


def accesses(function: Any, *arguments: Any) -> list[str]:
    """The types and alignments of the loads and stores a function becomes, registers left out."""
    found = []
    for line in lines(function, *arguments):
        words = line.split()
        if "llvm.load" in words and words[-3].startswith("!llvm.ptr<"):
            found.append(f"load {words[-1]} align {_alignment(line)}")
        if "llvm.store" in words and words[-1].startswith("!llvm.ptr<"):
            found.append(f"store {words[-2].rstrip(',')} align {_alignment(line)}")
    return found


def _alignment(line: str) -> str:
    return line.partition("alignment = ")[2].partition(" ")[0]
