"""`tcgen05` instructions of whole warps: allocation of tensor memory, loads, stores, and waits for them.

A load reads when its warp waits for it or uses a register of it, a store writes when its warp waits for it: as late as
they may. Which thread has which word of a shape is written here as in NVIDIA's manual of PTX.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from triptych.ptxsim.accesses import space_of, store
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.operands import WARP, BlockState, listed
from triptych.ptxsim.reading import Instruction
from triptych.ptxsim.tensor_memory import TensorMemory, TensorMemoryError, Transfer, group_of, parted

Act = Callable[[Any], None]
_T = np.arange(WARP)
_Places = tuple[Any, Any]


def _32x32b(r: Numbers, half: int) -> _Places:
    return _T[:, None] + 0 * r, r + 0 * _T[:, None]


def _16x64b(r: Numbers, half: int) -> _Places:
    t = _T[:, None]
    return t // 4 + 8 * (t % 2) + 0 * r, 2 * r + t // 2 % 2


def _16x128b(r: Numbers, half: int) -> _Places:
    t = _T[:, None]
    return t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4


def _16x256b(r: Numbers, half: int) -> _Places:
    t = _T[:, None]
    return t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2


def _16x32bx2(r: Numbers, half: int) -> _Places:
    t = _T[:, None]
    return t % 16 + 0 * r, r + half * (t // 16)


_SHAPES: dict[str, tuple[int, int, Callable[[Any, int], _Places]]] = {
    "32x32b": (32, 1, _32x32b),
    "16x64b": (16, 1, _16x64b),
    "16x128b": (16, 2, _16x128b),
    "16x256b": (16, 4, _16x256b),
    "16x32bx2": (16, 1, _16x32bx2),
}
"""Lanes, registers of `.x1`, and (thread, register) -> (lane, column)."""
_MOST_REGISTERS = 128


def tensor_access(block: BlockState, instruction: Instruction) -> Act:
    """What whole warps do."""
    known = _FORMS.get(instruction.modifiers[0])
    if known is None:
        raise UnknownInstructionError(str(instruction))
    return known(block, instruction)


COLLECTIVE = frozenset(("alloc", "dealloc", "relinquish_alloc_permit", "ld", "st", "wait::ld", "wait::st"))
"""Instructions whose threads come together, a warp at a time."""


def _warps(mask: Mask) -> list[int]:
    """Those that do it; a warp does it whole."""
    warps: list[int] = np.unique(np.flatnonzero(mask) // WARP).tolist()
    for warp in warps:
        lanes = mask[warp * WARP : (warp + 1) * WARP]
        if len(lanes) < WARP or not lanes.all():
            raise TensorMemoryError(f"{int(lanes.sum())} threads of warp {warp} execute what is of a whole warp")
    return warps


def _by_warps(begin: Callable[[int], None]) -> Act:
    def act(mask: Mask) -> None:
        for warp in _warps(mask):
            begin(warp)

    return act


def _same(values: Numbers, warp: int, what: str) -> int:
    mine = values[warp * WARP : (warp + 1) * WARP]
    if (mine != mine[0]).any():
        raise TensorMemoryError(f"{what}: the threads of warp {warp} do not agree on an operand")
    return int(mine[0])


# allocation -------------------------------------------------------------------------------------------------------
def _require(instruction: Instruction, pattern: str) -> None:
    if not re.fullmatch(pattern, ".".join(instruction.modifiers)):
        raise UnknownInstructionError(str(instruction))


def _allocate(block: BlockState, instruction: Instruction) -> Act:
    _require(instruction, r"alloc\.cta_group::[12]\.sync\.aligned(\.shared::cta)?\.b32")
    to, count = instruction.operands
    address, columns = block.registers.address(to), block.registers.reader(count, "u32")
    what = str(instruction)

    def act(mask: Mask) -> None:
        tensor: TensorMemory = block.tensor
        tensor.enter(group_of(instruction), what)
        for warp in _warps(mask):
            found = tensor.allocate(_same(columns(), warp, what), what)
            only = block.numbers == warp * WARP
            store(block, space_of(instruction), address(), only, [np.full(block.threads, found, np.uint32)], 4)

    return act


def _free(block: BlockState, instruction: Instruction) -> Act:
    _require(instruction, r"dealloc\.cta_group::[12]\.sync\.aligned\.b32")
    address, columns = (block.registers.reader(each, "u32") for each in instruction.operands)
    what = str(instruction)

    def act(mask: Mask) -> None:
        tensor: TensorMemory = block.tensor
        tensor.enter(group_of(instruction), what)
        for warp in _warps(mask):
            tensor.free(_same(address(), warp, what), _same(columns(), warp, what), what)

    return act


def _give_up(block: BlockState, instruction: Instruction) -> Act:
    _require(instruction, r"relinquish_alloc_permit\.cta_group::[12]\.sync\.aligned")

    def act(mask: Mask) -> None:
        block.tensor.enter(group_of(instruction), str(instruction))
        block.tensor.give_up()

    return act


# loads and stores -------------------------------------------------------------------------------------------------
class _AccessForm:
    """What the words of `tcgen05.ld` and `tcgen05.st` say."""

    def __init__(self, instruction: Instruction, count: int, rest: list[str]) -> None:
        words = ".".join(instruction.modifiers)
        packing = {"ld": "pack", "st": "unpack"}[instruction.modifiers[0]]
        found = re.fullmatch(rf"(?:ld|st)\.sync\.aligned\.(\w+)\.x(\d+)(\.{packing}::16b)?\.b32", words)
        if "red" in instruction.modifiers:
            found = re.fullmatch(r"ld\.red\.sync\.aligned\.(32x32b)\.x(\d+)()\.(?:max|min)\.f32", words)
        if found is None or found[1] not in _SHAPES:
            raise UnknownInstructionError(str(instruction))
        self.lanes, each, places = _SHAPES[found[1]]
        repeat = int(found[2])
        self.is_packed = bool(found[3])
        if count != each * repeat or repeat & repeat - 1 or count > _MOST_REGISTERS:
            raise UnknownInstructionError(str(instruction))
        if len(rest) != (found[1] == "16x32bx2"):
            raise UnknownInstructionError(str(instruction))
        half = int(rest[0], 0) if rest else 0
        self.lane, self.column = places(np.arange(count), half)
        self.columns = (int(self.column.max()) + 1) * (2 if self.is_packed else 1)

    def begin(self, tensor: TensorMemory, address: int, warp: int, what: str) -> tuple[Any, Any]:
        """The lanes and columns of each thread and register, at an address."""
        lane, column = parted(address, what)
        if lane // WARP != warp % 4:
            first = warp % 4 * WARP
            raise TensorMemoryError(
                f"{what}: warp {warp} reaches lanes {first} to {first + WARP - 1}, and the address is in lane {lane}"
            )
        if lane % self.lanes:
            raise TensorMemoryError(f"{what}: lane {lane} is no multiple of {self.lanes}")
        tensor.check(column, self.columns, what)
        return lane + self.lane, column + self.column * (2 if self.is_packed else 1)


def _load(block: BlockState, instruction: Instruction) -> Act:
    to, *reduced, source = instruction.operands[: 3 if "red" in instruction.modifiers else 2]
    names = listed(to)
    form = _AccessForm(instruction, len(names), list(instruction.operands[len(reduced) + 2 :]))
    least = "min" in instruction.modifiers
    totals = [block.registers.array(name) for name in reduced]
    address = block.registers.address(source)
    arrays = [block.registers.array(name) for name in names]
    what = str(instruction)

    def begin(warp: int) -> None:
        tensor: TensorMemory = block.tensor
        start = _same(address(), warp, what)
        lanes, columns = form.begin(tensor, start, warp, what)
        first = parted(start, what)[1]
        threads = slice(warp * WARP, (warp + 1) * WARP)

        def act() -> None:
            tensor.check(first, form.columns, what)
            found = tensor.words[lanes, columns]
            if form.is_packed:
                found = found & np.uint32(0xFFFF) | tensor.words[lanes, columns + 1] << np.uint32(16)
            for number, array in enumerate(arrays):
                array[threads] = found[:, number]
            for total in totals:  # a NaN loses, as in `max`
                reduce = np.fmin.reduce if least else np.fmax.reduce
                total[threads] = np.ascontiguousarray(reduce(found.view(np.float32), axis=1)).view(np.uint32)

        tensor.begin(Transfer(what, warp, first, form.columns, frozenset((*names, *reduced)), act))

    return _by_warps(begin)


def _store(block: BlockState, instruction: Instruction) -> Act:
    to, *rest, source = instruction.operands
    names = listed(source)
    form = _AccessForm(instruction, len(names), rest)
    address = block.registers.address(to)
    readers = [block.registers.reader(name, "b32") for name in names]
    what = str(instruction)

    def begin(warp: int) -> None:
        tensor: TensorMemory = block.tensor
        start = _same(address(), warp, what)
        lanes, columns = form.begin(tensor, start, warp, what)
        first = parted(start, what)[1]
        words = np.stack([read()[warp * WARP : (warp + 1) * WARP] for read in readers], axis=1)

        def act() -> None:
            tensor.check(first, form.columns, what)
            if form.is_packed:
                tensor.words[lanes, columns] = words & np.uint32(0xFFFF)
                tensor.words[lanes, columns + 1] = words >> np.uint32(16)
            else:
                tensor.words[lanes, columns] = words

        tensor.begin(Transfer(what, warp, first, form.columns, frozenset(), act))

    return _by_warps(begin)


def _wait(block: BlockState, instruction: Instruction) -> Act:
    _require(instruction, r"wait::(ld|st)\.sync\.aligned")
    loads = instruction.modifiers[0] == "wait::ld"
    return lambda mask: block.tensor.wait(mask, loads=loads)


_FORMS: dict[str, Callable[[BlockState, Instruction], Act]] = {
    "alloc": _allocate,
    "dealloc": _free,
    "relinquish_alloc_permit": _give_up,
    "ld": _load,
    "st": _store,
    "wait::ld": _wait,
    "wait::st": _wait,
}
