"""Warp instructions that lanes do together: shuffles, votes, reductions, matches; matrices are in `matrices`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from triptych.ptxsim.arithmetic import ARRAYS, UnknownInstructionError
from triptych.ptxsim.bulk_copies import copy_map
from triptych.ptxsim.conversions import Mask, Numbers, smaller
from triptych.ptxsim.matrices import MATRICES
from triptych.ptxsim.operands import WARP, BlockState
from triptych.ptxsim.reading import Instruction
from triptych.ptxsim.tensor_accesses import tensor_access

Act = Callable[[Any], None]


def collective(block: BlockState, instruction: Instruction) -> tuple[Any, Act]:
    """Which lanes each lane waits for, as the bits of a number, and what those that are together do."""
    if instruction.name in MATRICES:
        return np.full(block.threads, (1 << WARP) - 1, np.uint64), MATRICES[instruction.name](block, instruction)
    if instruction.name == "tcgen05":
        return np.full(block.threads, (1 << WARP) - 1, np.uint64), tensor_access(block, instruction)
    if instruction.name == "tensormap":
        return np.full(block.threads, (1 << WARP) - 1, np.uint64), copy_map(block, instruction)
    if instruction.name == "setmaxnreg":
        return np.full(block.threads, (1 << WARP) - 1, np.uint64), block.register_counts.asking(instruction)
    members = block.registers.reader(instruction.operands[-1], "u32")()
    return members, _ACTS[instruction.name](block, instruction)


def _each(block: BlockState, mask: Mask, members: Numbers) -> Any:
    """The groups of threads that do it together."""
    for start in range(0, block.threads, WARP):
        lanes = np.flatnonzero(mask[start : start + WARP]) + start
        for wanted in np.unique(members[lanes]):
            yield start, lanes[members[lanes] == wanted]


def _shuffle(block: BlockState, instruction: Instruction) -> Act:
    mode = instruction.modifiers[1]
    to, source, step, limits, members = instruction.operands
    registers = block.registers
    target, _, whether = to.partition("|")
    read = [registers.reader(operand, "b32") for operand in (source, step, limits, members)]

    def act(mask: Mask) -> None:
        values, steps, clamps, named = (each() for each in read)
        result, found = values.copy(), np.zeros(block.threads, bool)
        for start, lanes in _each(block, mask, named):
            here = set(lanes.tolist())
            for thread in lanes:
                lane, step, clamp = int(thread) - start, int(steps[thread]) & 31, int(clamps[thread])
                segment, bound = clamp >> 8 & 31, clamp & 31
                last = lane & segment | bound & ~segment
                first = lane & segment
                if mode == "up":
                    other, inside = lane - step, lane - step >= last
                elif mode == "down":
                    other, inside = lane + step, lane + step <= last
                elif mode == "bfly":
                    other, inside = lane ^ step, lane ^ step <= last
                else:
                    other = first | step & ~segment
                    inside = other <= last
                other = other if inside else lane
                found[thread] = inside
                if start + other in here:  # what others hold nobody knows
                    result[thread] = values[start + other]
                else:
                    result[thread] = np.uint32(0xBADBAD)
        registers.writer(target, "b32")(result, mask)
        if whether:
            registers.writer(whether, "pred")(found, mask)

    return act


def _vote(block: BlockState, instruction: Instruction) -> Act:
    mode = instruction.modifiers[1]
    to, source, members = instruction.operands
    registers = block.registers
    read, read_members = registers.reader(source, "pred"), registers.reader(members, "u32")
    kind = "b32" if mode == "ballot" else "pred"

    def act(mask: Mask) -> None:
        values = read()
        result = np.zeros(block.threads, ARRAYS[kind])
        for start, lanes in _each(block, mask, read_members()):
            given = values[lanes]
            ballot = sum(1 << int(lane - start) for lane in lanes[given])
            same = bool(given.all() or not given.any())
            result[lanes] = {"ballot": ballot, "all": given.all(), "any": given.any(), "uni": same}[mode]
        registers.writer(to, kind)(result, mask)

    return act


def _reduction(block: BlockState, instruction: Instruction) -> Act:
    kind = instruction.type
    to, source, members = instruction.operands
    function = _float_reduction(instruction) if kind[0] == "f" else _REDUCTIONS[instruction.modifiers[1]]
    registers = block.registers
    read, read_members = registers.reader(source, kind), registers.reader(members, "u32")

    def act(mask: Mask) -> None:
        values = read()
        if "abs" in instruction.modifiers:
            values = np.abs(values)
        result = values.copy()
        for _, lanes in _each(block, mask, read_members()):
            result[lanes] = reduce(function, values[lanes])
        if kind == "f32":
            result[np.isnan(result)] = _NO_NUMBER
        registers.writer(to, kind)(result, mask)

    return act


def _float_reduction(instruction: Instruction) -> Callable[[Any, Any], Any]:
    """The least or the greatest number of 32 bits."""
    mode, *words, kind = instruction.modifiers[1:]
    if mode not in ("min", "max") or kind != "f32" or not set(words) <= {"abs", "NaN"}:
        raise UnknownInstructionError(str(instruction))
    return partial(smaller, larger=mode == "max", nan="NaN" in words)


_NO_NUMBER = np.uint32(0x7FFFFFFF).view(np.float32)
_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _match(block: BlockState, instruction: Instruction) -> Act:
    mode, kind = instruction.modifiers[0], instruction.type
    to, source, members = instruction.operands
    target, _, whether = to.partition("|")
    registers = block.registers
    read, read_members = registers.reader(source, kind), registers.reader(members, "u32")

    def act(mask: Mask) -> None:
        values = read()
        result, same = np.zeros(block.threads, np.uint32), np.zeros(block.threads, bool)
        for start, lanes in _each(block, mask, read_members()):
            for thread in lanes:
                alike = lanes[values[lanes] == values[thread]]
                all_alike = len(alike) == len(lanes)
                same[thread] = all_alike
                result[thread] = sum(1 << int(lane - start) for lane in alike) if mode == "any" or all_alike else 0
        registers.writer(target, "b32")(result, mask)
        if whether:
            registers.writer(whether, "pred")(same, mask)

    return act


def _election(block: BlockState, instruction: Instruction) -> Act:
    """The first lane of them, which no kernel may rely on."""
    lane, _, whether = instruction.operands[0].partition("|")
    registers = block.registers
    read_members = registers.reader(instruction.operands[-1], "u32")

    def act(mask: Mask) -> None:
        first, elected = np.zeros(block.threads, np.uint32), np.zeros(block.threads, bool)
        for start, lanes in _each(block, mask, read_members()):
            first[lanes] = lanes[0] - start
            elected[lanes[0]] = True
        registers.writer(lane, "b32")(first, mask)
        registers.writer(whether, "pred")(elected, mask)

    return act


def _barrier(block: BlockState, instruction: Instruction) -> Act:
    return lambda mask: block.rooms["shared"].meet(mask)


_ACTS: dict[str, Callable[[BlockState, Instruction], Act]] = {
    "shfl": _shuffle,
    "vote": _vote,
    "redux": _reduction,
    "match": _match,
    "bar": _barrier,
    "elect": _election,
}
