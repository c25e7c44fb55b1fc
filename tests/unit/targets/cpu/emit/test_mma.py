"""Products of tiles on the CPU: every instruction of warps and waves against NumPy, exactly, registers in any order."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.passes import run_passes
from triptych.kernel_ir.dialects.mma import WARP_MMAS, elements_per_register
from triptych.kernel_ir.dialects.wave_mma import WAVE_MMAS, RegisterMma
from triptych.layout import Layout
from triptych.stages import PassSpec
from triptych.targets.cpu.emit.mma import function_name, product_functions, values

TYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f64": np.float64,
    "s8": np.int8,
    "u8": np.uint8,
    "s32": np.int32,
}
PASSES = ("convert-scf-to-cf", "convert-math-to-llvm", "convert-vector-to-llvm", "convert-to-llvm")
TILES = (2, 3, 2)
MMAS: dict[str, RegisterMma] = {**WARP_MMAS, **WAVE_MMAS}


@cache
def compiled(instruction: RegisterMma) -> LoadedObject:
    """The functions of an instruction in this process."""
    name = function_name(instruction)
    text = product_functions(instruction).replace(f"func.func private @{name}(", f"func.func @{name}(")
    with context():
        module = bindings.mlir().Module.parse(text)
        run_passes(module, [PassSpec(name, "") for name in (*PASSES, "reconcile-unrealized-casts")])
        artifact = shared_pool().compile(Request(opt_level=3, emit=("object",)), to_llvm_ir(module))
    assert artifact.object is not None
    return load_object(artifact.object, name, {})


class Operand:
    """Tiles in a matrix, and the same numbers as the lanes' registers hold them."""

    def __init__(
        self, matrix: Any, tv: Layout, extents: tuple[int, int], kind: str, random: Any, threads: int = 32
    ) -> None:
        rows, columns = (range(whole // part) for whole, part in zip(matrix.shape, extents, strict=True))
        self.tiles = [(i, j) for j in columns for i in rows]
        self._tv, self._extents, self._together = tv, extents, elements_per_register(kind)
        self._threads = threads
        count = len(self.tiles) * values(tv) // self._together
        self.registers = (random.permutation(count) * self._together).astype(np.int32)
        self.rows = np.zeros((count * self._together, threads), TYPES[kind])
        for row, lane, place in self._places():
            self.rows[row, lane] = matrix[place]

    def _places(self) -> Any:
        per_tile = values(self._tv) // self._together
        for number, (i, j) in enumerate(self.tiles):
            for value in range(values(self._tv)):
                register, part = divmod(value, self._together)
                row = self.registers[number * per_tile + register] + part
                for lane in range(self._threads):
                    at: Any = self._tv((lane, value))
                    column, line = divmod(at, self._extents[0])
                    yield row, lane, (i * self._extents[0] + line, j * self._extents[1] + column)

    def matrix(self, shape: tuple[int, int]) -> Any:
        """The numbers that the registers hold now."""
        found = np.zeros(shape, self.rows.dtype)
        for row, lane, place in self._places():
            found[place] = self.rows[row, lane]
        return found


def numbers(kind: str, shape: Sequence[int], random: Any) -> Any:
    """Small whole numbers, so that every product and sum is exact."""
    low = 0 if kind == "u8" else -4
    return random.integers(low, 5, shape).astype(np.float32).astype(TYPES[kind])


def multiplied(
    instruction: RegisterMma, a: Operand, b: Operand, c: Operand, tiles: tuple[int, int, int] = TILES
) -> None:
    """D in the place of C."""
    prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8, *[ctypes.c_int64] * 3)
    function = prototype(compiled(instruction).address)
    aligned = [_aligned(operand.rows) for operand in (c, a, b)]
    tables = [operand.registers for operand in (c, a, b)]
    arrays = [array.ctypes.data for array in (*aligned, aligned[0])]
    function(*arrays, *[table.ctypes.data for table in (*tables, tables[0])], *tiles)
    c.rows = aligned[0]


def _aligned(array: Any) -> Any:
    room = np.zeros(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    view = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


@pytest.mark.parametrize("slices", [1, 2, 5])
@pytest.mark.parametrize("name", MMAS)
def test_a_product_of_tiles_is_numpys(name: str, slices: int) -> None:
    """Some slices of k are multiplied at a time."""
    instruction, random = MMAS[name], np.random.default_rng(7)
    threads = instruction.threads
    tiles = (*TILES[:2], slices)
    m, n, k = (extent * count for extent, count in zip(instruction.shape_mnk, tiles, strict=True))
    atom_m, atom_n, atom_k = instruction.shape_mnk
    left = numbers(instruction.a, (m, k), random)
    right = numbers(instruction.b, (n, k), random)
    added = numbers(instruction.accumulator, (m, n), random)
    a = Operand(left, instruction.tv_a, (atom_m, atom_k), instruction.a, random, threads)
    b = Operand(right, instruction.tv_b, (atom_n, atom_k), instruction.b, random, threads)
    c = Operand(added, instruction.tv_c, (atom_m, atom_n), instruction.accumulator, random, threads)
    multiplied(instruction, a, b, c, tiles)
    wide = [matrix.astype(np.float64) for matrix in (left, right, added)]
    np.testing.assert_array_equal(c.matrix((m, n)).astype(np.float64), wide[0] @ wide[1].T + wide[2])


@pytest.mark.parametrize("kind", ["e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"])
def test_every_byte_is_the_number_of_its_format(kind: str) -> None:
    """A has all patterns, B is the identity: D shows what each byte was taken for."""
    family, columns = ("mfma.m16n16", 16) if "fnuz" in kind else ("m16n8", 8)
    instruction = MMAS[f"{family}k32.f32.{kind}.{kind}.f32"]
    random, threads = np.random.default_rng(3), instruction.threads
    patterns = np.arange(32 * 64, dtype=np.uint8).reshape(32, 64).view(TYPES[kind])
    wide = 3 * columns
    for first in range(0, 64, wide):
        identity = np.zeros((wide, 64), np.float32)
        identity[np.arange(min(wide, 64 - first)), first + np.arange(min(wide, 64 - first))] = 1
        finite = np.where(np.isfinite(patterns.astype(np.float32)), patterns, TYPES[kind](0))
        a = Operand(finite, instruction.tv_a, (16, 32), kind, random, threads)
        b = Operand(identity.astype(TYPES[kind]), instruction.tv_b, (columns, 32), kind, random, threads)
        c = Operand(np.zeros((32, wide), np.float32), instruction.tv_c, (16, columns), "f32", random, threads)
        multiplied(instruction, a, b, c, (2, wide // columns, 2))
        np.testing.assert_array_equal(c.matrix((32, wide)), finite.astype(np.float32) @ identity.T)


@pytest.mark.parametrize("kind", ["e4m3fnuz", "e5m2fnuz"])
def test_one_byte_of_a_format_with_one_zero_is_no_number(kind: str) -> None:
    instruction = MMAS[f"mfma.m16n16k32.f32.{kind}.{kind}.f32"]
    random = np.random.default_rng(5)
    left = np.ones((16, 32), np.float32)
    left[3, 1] = np.nan
    a = Operand(left.astype(TYPES[kind]), instruction.tv_a, (16, 32), kind, random, 64)
    b = Operand(np.ones((16, 32), TYPES[kind]), instruction.tv_b, (16, 32), kind, random, 64)
    c = Operand(np.zeros((16, 16), np.float32), instruction.tv_c, (16, 16), "f32", random, 64)
    multiplied(instruction, a, b, c, (1, 1, 1))
    np.testing.assert_array_equal(c.matrix((16, 16)), np.repeat(left.sum(1)[:, None], 16, 1))


@pytest.mark.parametrize("kind", ["f16", "bf16", "tf32", "e4m3", "e5m2"])
def test_what_is_not_finite_stays_so(kind: str) -> None:
    depth = {16: 16, 32: 8, 8: 32}[np.dtype(TYPES[kind]).itemsize * 8]
    instruction = WARP_MMAS[f"m16n8k{depth}.f32.{kind}.{kind}.f32"]
    random = np.random.default_rng(5)
    left = np.ones((32, 2 * depth), np.float32)
    left[3, 1], left[20, 2 * depth - 1] = np.nan, -np.inf if kind != "e4m3" else np.nan
    a = Operand(left.astype(TYPES[kind]), instruction.tv_a, (16, depth), kind, random)
    b = Operand(np.ones((24, 2 * depth), TYPES[kind]), instruction.tv_b, (8, depth), kind, random)
    c = Operand(np.zeros((32, 24), np.float32), instruction.tv_c, (16, 8), "f32", random)
    multiplied(instruction, a, b, c)
    np.testing.assert_array_equal(c.matrix((32, 24)), np.repeat(left.sum(1)[:, None], 24, 1))


def test_tf32_ignores_the_low_bits() -> None:
    instruction = WARP_MMAS["m16n8k8.f32.tf32.tf32.f32"]
    random = np.random.default_rng(11)
    left = random.standard_normal((32, 16)).astype(np.float32)
    a = Operand(left, instruction.tv_a, (16, 8), "tf32", random)
    b = Operand(np.eye(24, 16, dtype=np.float32), instruction.tv_b, (8, 8), "tf32", random)
    c = Operand(np.zeros((32, 24), np.float32), instruction.tv_c, (16, 8), "f32", random)
    multiplied(instruction, a, b, c)
    cut = (left.view(np.int32) & -(1 << 13)).view(np.float32)
    np.testing.assert_array_equal(c.matrix((32, 24))[:, :16], cut)
