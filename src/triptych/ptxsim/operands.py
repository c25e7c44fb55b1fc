"""Operands of PTX instructions: the registers of a block's threads, special ones among them, constants, addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from triptych.ptxsim.arithmetic import ARRAYS
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.reading import TYPE_BYTES, Kernel

Read = Callable[[], Any]
WARP = 32
_HEX_FLOAT = re.compile(r"0[fFdD]([0-9a-fA-F]+)")
_ADDRESS = re.compile(r"\[\s*([%\w$]+)\s*(?:\+\s*(-?\w+))?\s*\]")
JUNK = 0xDEADBEEFDEADBEEF
"""In registers that nothing has written."""


class Registers:
    """One number of each thread for each register, and what is known under other names."""

    def __init__(self, kernel: Kernel, threads: int, names: Mapping[str, Any]) -> None:
        self._types = kernel.registers
        self._threads = threads
        self._names = names
        self._arrays: dict[str, Any] = {}
        self._pairs: dict[str, Any] = {}
        self.wrote: Callable[[str, Any], None] | None = None
        """Told of every register that is written, and by which threads."""

    def array(self, name: str) -> Any:
        """The register itself."""
        if name not in self._arrays:
            kind = self._types.get(name) or self._types[name.rstrip("0123456789")]
            dtype = np.dtype(bool) if kind == "pred" else np.dtype(f"u{TYPE_BYTES[kind]}")
            junk = False if kind == "pred" else JUNK % (1 << 8 * dtype.itemsize)
            self._arrays[name] = np.full(self._threads, junk, dtype)
        return self._arrays[name]

    def pair(self, name: str) -> Any:
        """A register of 128 bits: its two words of each thread."""
        if name not in self._pairs:
            self._pairs[name] = np.full((self._threads, 2), JUNK, np.uint64)
        return self._pairs[name]

    def words(self) -> list[Any]:
        """All registers of 32 bits."""
        return [array for array in self._arrays.values() if array.dtype == np.uint32]

    def is_register(self, name: str) -> bool:
        return name in self._types or (name.rstrip("0123456789") in self._types and name[-1].isdigit())

    def reader(self, operand: str, kind: str) -> Read:
        """How to get an operand as numbers of a type."""
        dtype = ARRAYS[kind]
        if operand.startswith("!"):
            inner = self.reader(operand[1:], "pred")
            return lambda: ~inner()
        if self.is_register(operand):
            array = self.array(operand)
            if array.dtype == dtype:
                return lambda: array
            bits = np.dtype(f"u{dtype.itemsize}") if kind != "pred" else dtype
            if array.dtype.itemsize == dtype.itemsize and kind != "pred":
                return lambda: array.view(dtype)
            return lambda: array.astype(bits).view(dtype)
        if callable(self._names.get(operand)):
            return lambda: np.full(self._threads, self._names[operand](), dtype)
        constant = self.constant(operand, kind)
        return lambda: constant

    def constant(self, operand: str, kind: str) -> Any:
        """A literal, a special register or the address of a variable."""
        dtype = ARRAYS[kind]
        return np.ascontiguousarray(np.broadcast_to(self._constant(operand, kind, dtype), (self._threads,)))

    def _constant(self, operand: str, kind: str, dtype: np.dtype[Any]) -> Any:
        if operand in self._names:
            return np.atleast_1d(self._names[operand]).astype(f"u{dtype.itemsize}").view(dtype)
        if found := _HEX_FLOAT.fullmatch(operand):
            number = int(found[1], 16)
            if dtype.itemsize == 4 and len(found[1]) == 16:
                return np.array([number], np.uint64).view(np.float64).astype(dtype)
        else:
            number = int(operand.rstrip("U"), 0)
        if kind == "pred":
            return np.array([bool(number)])
        return np.array([number % (1 << 8 * dtype.itemsize)], f"u{dtype.itemsize}").view(dtype)

    def address(self, operand: str) -> Read:
        """How to get `[register or name + constant]`."""
        found = _ADDRESS.fullmatch(operand)
        assert found is not None, operand
        base, offset = self.reader(found[1], "u64"), np.uint64(int(found[2] or "0", 0) % (1 << 64))
        if self.is_register(found[1]) and self.array(found[1]).dtype.itemsize == 4:
            narrow = self.reader(found[1], "u32")
            return lambda: narrow().astype(np.uint64) + offset
        return lambda: base() + offset

    def writer(self, operand: str, kind: str) -> Callable[[Any, Any], None]:
        """How to put numbers of a type into a register, for the threads of a mask; it may be wider than the type."""
        if operand == "_":
            return lambda values, mask: None
        array = self.array(operand)
        signed = kind[0] == "s"

        def write(values: Numbers, mask: Mask) -> None:
            if array.dtype != values.dtype:
                if array.dtype == bool:
                    raise AssertionError(f"{kind} in a predicate")
                if values.dtype.kind == "b":
                    values = values.astype(np.uint8)
                bits = values if signed else values.view(f"u{values.dtype.itemsize}")
                values = bits.astype(f"i{array.dtype.itemsize}" if signed else array.dtype).view(array.dtype)
            np.copyto(array, values, where=mask)
            if self.wrote is not None:
                self.wrote(operand, mask)

        return write


def listed(operand: str) -> list[str]:
    """The parts of `{a, b}`, or the operand alone."""
    return [part.strip() for part in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


Dims = tuple[int, int, int]


class BlockState(Protocol):
    """The threads of a block, their registers and memories, and what is under way for them."""

    threads: int
    numbers: Any
    """Of the threads: 0, 1, 2, ..."""
    index: Dims
    rank: int
    """Among the blocks of its cluster."""
    alive: Any
    registers: Registers
    rooms: dict[str, Any]
    gpu: Any
    cluster: Any
    products: Any
    register_counts: Any
    tensor: Any
    """Its tensor memory."""
    stores: Any
    copies: list[Any]
    copy_groups: Any
    call_parameters: dict[str, Any]
    was_refused: bool
    """It has learnt that the grid has no cluster left for it."""
    waiting: dict[int, Any]
    refused: Any
    meetings: Any
    waits_over: Any

    def start(self, index: Dims) -> None: ...
    def turn(self, number: int) -> bool: ...
    def refuse(self) -> bool: ...
    def where(self) -> list[str]: ...


_EVERY = (1 << WARP) - 1


def thread_registers(
    numbers: Numbers, grid: Dims, block: Dims, index: Callable[[int], int], clock: Callable[[], int]
) -> dict[str, Any]:
    """By their names; those that change are functions. `index` gives a component of the block's place in the grid."""
    lanes = numbers % WARP
    names: dict[str, Any] = {"%laneid": lanes, "%warpid": numbers // WARP, "WARP_SZ": WARP}
    names |= dict.fromkeys(("%clock", "%clock64", "%globaltimer"), clock)
    threads = (numbers % block[0], numbers // block[0] % block[1], numbers // (block[0] * block[1]))
    for place, (axis, thread, extent, count) in enumerate(zip("xyz", threads, block, grid, strict=True)):
        names |= {f"%tid.{axis}": thread, f"%ntid.{axis}": extent, f"%nctaid.{axis}": count}
        names[f"%ctaid.{axis}"] = lambda place=place: index(place)
    names |= {"%lanemask_lt": (1 << lanes) - 1, "%lanemask_le": (2 << lanes) - 1, "%lanemask_eq": 1 << lanes}
    return names | {"%lanemask_gt": _EVERY - ((2 << lanes) - 1), "%lanemask_ge": _EVERY - ((1 << lanes) - 1)}
