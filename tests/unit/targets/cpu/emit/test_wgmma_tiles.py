"""Products of warpgroups on the CPU: every kind against NumPy, exactly, by the rules of the instructions' layouts."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.unit.targets.cpu.emit.test_mma import PASSES, TYPES, numbers
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.passes import run_passes
from triptych.kernel_ir.dialects.mma import WARPGROUP_MMAS, WarpgroupMma, elements_per_register
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR, MN_MAJOR, byte_swizzle, smem_atom, smem_operand
from triptych.layout import Layout, slice_and_offset, tile_to_shape, zipped_divide
from triptych.stages import PassSpec
from triptych.targets.cpu.emit.mma import values
from triptych.targets.cpu.emit.packed_product import Operand
from triptych.targets.cpu.emit.wgmma_tiles import function_name, product_function

SLICES = 2
CONTEXT = 128 * 1024
"""Bytes from the registers of a warp to those of the next."""
KINDS = [
    ("m64n24k16.f32.f16.f16", (K_MAJOR, 3), (K_MAJOR, 3)),
    ("m64n16k16.f32.f16.f16", (K_MAJOR, 0), (MN_MAJOR, 0)),
    ("m64n64k16.f32.bf16.bf16", (MN_MAJOR, 3), (MN_MAJOR, 2)),
    ("m64n8k16.f16.f16.f16", (MN_MAJOR, 0), (K_MAJOR, 1)),
    ("m64n32k16.f32.f16.f16", (MN_MAJOR, 1), (MN_MAJOR, 3)),
    ("m64n16k8.f32.tf32.tf32", (K_MAJOR, 3), (K_MAJOR, 2)),
    ("m64n16k32.f32.e4m3.e5m2", (K_MAJOR, 2), (K_MAJOR, 3)),
    ("m64n16k32.s32.s8.u8", (K_MAJOR, 1), (K_MAJOR, 0)),
    ("m64n16k16.f32.f16.f16", None, (MN_MAJOR, 3)),
    ("m64n16k8.f32.tf32.tf32", None, (K_MAJOR, 3)),
    ("m64n16k32.f16.e5m2.e4m3", None, (K_MAJOR, 3)),
]
Lies = tuple[int, int] | None


@cache
def compiled(a: Operand, b: Operand, accumulator: str, wide: bool) -> LoadedObject:
    """The function in this process."""
    name = function_name(a, b, accumulator)
    text = product_function(a, b, accumulator, wide).replace("func.func private", "func.func")
    with context():
        module = bindings.mlir().Module.parse(text)
        run_passes(module, [PassSpec(name, "") for name in (*PASSES, "reconcile-unrealized-casts")])
        artifact = shared_pool().compile(Request(opt_level=3, emit=("object",)), to_llvm_ir(module))
    assert artifact.object is not None
    return load_object(artifact.object, name, {})


def memory(size: int) -> Any:
    room = np.zeros(size + 1024, np.uint8)
    start = -room.ctypes.data % 1024
    return room[start : start + size]


class Shared:
    """A matrix in memory as a layout lays it out."""

    def __init__(self, matrix: Any, kind: str, lies: tuple[int, int]) -> None:
        size, rows = np.dtype(TYPES[kind]).itemsize, matrix.shape[0]
        major, bits = lies
        deep = 32 // size
        shape = (-(-rows // 64) * 64, 128 // size)
        layout = tile_to_shape(smem_atom(major, bits, 8 * size), shape, (0, 1) if major == K_MAJOR else (1, 0)).outer
        self.bytes = memory(shape[0] * shape[1] * size)
        for row, column in np.ndindex(*matrix.shape):
            at: Any = layout((row, column))
            place = byte_swizzle(bits)(at * size)
            self.bytes[place : place + size] = np.frombuffer(matrix[row, column].tobytes(), np.uint8)
        slices = zipped_divide(layout, (rows if rows % 8 == 0 else 8, deep))
        places = [slice_and_offset(((None, None), (0, k)), slices) for k in range(SLICES)]
        operand = smem_operand(places[0][0], size, major, bits)
        assert operand is not None
        self.operand = operand
        self.table = np.array([offset * size for _, offset in places], np.int32)


class Registers:
    """Tiles as the lanes of four warps hold them, a row of memory for each value."""

    def __init__(self, matrix: Any, tv: Layout, kind: str, tiles: int, random: Any) -> None:
        self._tv, self._together, self._kind = tv, elements_per_register(kind), kind
        count = tiles * values(tv) // self._together
        self.table = (random.permutation(count) * self._together).astype(np.int32)
        self.bytes = memory(4 * CONTEXT)
        self._warps = [
            self.bytes[w * CONTEXT :][: count * self._together * 32 * np.dtype(TYPES[kind]).itemsize].view(TYPES[kind])
            for w in range(4)
        ]
        for row, lane, place in self._places(matrix.shape):
            self._warps[lane // 32][row * 32 + lane % 32] = matrix[place]

    def _places(self, shape: tuple[int, ...]) -> Any:
        per_tile = values(self._tv) // self._together
        tiles = len(self.table) // per_tile
        wide = shape[1] // tiles
        for tile in range(tiles):
            for value in range(values(self._tv)):
                register, part = divmod(value, self._together)
                for lane in range(128):
                    at: Any = self._tv((lane, value))
                    yield self.table[tile * per_tile + register] + part, lane, (at % 64, at // 64 + tile * wide)

    def matrix(self, shape: tuple[int, int]) -> Any:
        found = np.zeros(shape, TYPES[self._kind])
        for row, lane, place in self._places(shape):
            found[place] = self._warps[lane // 32][row * 32 + lane % 32]
        return found


def multiplied(
    instruction: WarpgroupMma, a: Any, b: Shared, d: Registers, lies: Lies, b_lies: Any, **how: bool
) -> None:
    left = Operand(instruction.a, *(lies or (None,)))
    right = Operand(instruction.b, *b_lies)
    function = compiled(left, right, instruction.accumulator, how["wide"])
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    kinds = [pointer, number, pointer, ctypes.c_bool, number, number, *[pointer, pointer, number] * 2, *[number] * 4]
    step = 1 if lies else values(instruction.tv_a) // elements_per_register(instruction.a)
    distances = [distance for one in (a, b) for distance in _distances(one)]
    ctypes.CFUNCTYPE(None, *kinds)(function.address)(
        *(d.bytes.ctypes.data, CONTEXT, d.table.ctypes.data, how["accumulate"], instruction.shape_mnk[1] // 8, SLICES),
        *(a.bytes.ctypes.data, a.table.ctypes.data, step, b.bytes.ctypes.data, b.table.ctypes.data, 1, *distances),
    )


def _distances(one: Any) -> tuple[int, int]:
    return (one.operand.leading, one.operand.stride) if isinstance(one, Shared) else (0, 0)


@pytest.mark.parametrize(
    ("name", "a_lies", "b_lies", "wide"), [*((*kind, True) for kind in KINDS), (*KINDS[0], False), (*KINDS[8], False)]
)
def test_a_product_is_numpys(name: str, a_lies: Lies, b_lies: tuple[int, int], wide: bool) -> None:
    instruction, random = WARPGROUP_MMAS[name], np.random.default_rng(5)
    m, n, depth = instruction.shape_mnk
    left = numbers(instruction.a, (m, SLICES * depth), random)
    right = numbers(instruction.b, (n, SLICES * depth), random)
    added = numbers(instruction.accumulator, (m, n), random)
    a: Any
    if a_lies is None:
        a = Registers(left, instruction.tv_a, instruction.a, SLICES, random)
    else:
        a = Shared(left, instruction.a, a_lies)
    b = Shared(right, instruction.b, b_lies)
    product = left.astype(np.float64) @ right.astype(np.float64).T
    for accumulate in (True, False):
        d = Registers(added, instruction.tv_c, instruction.accumulator, 1, random)
        multiplied(instruction, a, b, d, a_lies, b_lies, accumulate=accumulate, wide=wide)
        wanted = product + added.astype(np.float64) * accumulate
        np.testing.assert_array_equal(d.matrix((m, n)).astype(np.float64), wanted)
