"""Products with block scales on the CPU: every pair of exponents, exactly, subnormal and infinite ones too."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.unit.targets.cpu.emit.test_mma import PASSES
from tests.unit.targets.cpu.emit.test_wgmma_tiles import memory
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.llvm.bridge import to_llvm_ir
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request, shared_pool
from triptych.ir.passes import run_passes
from triptych.kernel_ir.dialects.smem_operands import K_MAJOR
from triptych.stages import PassSpec
from triptych.targets.cpu.emit.packed_product import Operand
from triptych.targets.cpu.emit.umma_tiles import scaled_function_name, scaled_product_function

ROWS, COLUMNS, DEPTH = 128, 64, 32
SWIZZLED = Operand("e4m3", K_MAJOR, 3)


@pytest.fixture(scope="module", params=[True, False], ids=["wide", "narrow"])
def function(request: pytest.FixtureRequest) -> LoadedObject:
    name = scaled_function_name(SWIZZLED, SWIZZLED, "ue8m0", DEPTH)
    text = scaled_product_function(SWIZZLED, SWIZZLED, "ue8m0", DEPTH, request.param)
    with context():
        module = bindings.mlir().Module.parse(text.replace("func.func private", "func.func"))
        run_passes(module, [PassSpec(name, "") for name in (*PASSES, "reconcile-unrealized-casts")])
        artifact = shared_pool().compile(Request(opt_level=3, emit=("object",)), to_llvm_ir(module))
    assert artifact.object is not None
    return load_object(artifact.object, name, {})


def swizzled(matrix: Any) -> Any:
    """Rows of 128 bytes, of which 32 are used, the chunks of each in the order of its number."""
    found = memory(128 * len(matrix))
    for row, numbers in enumerate(matrix):
        for chunk in range(2):
            start = 128 * row + 16 * (chunk ^ row % 8)
            found[start : start + 16] = numbers[16 * chunk : 16 * chunk + 16].view(np.uint8)
    return found


def scale_words(scales: Any) -> Any:
    """Tensor memory whose word of row r, in lane r % 32 of column r / 32, has its scale as the first byte."""
    found = memory(4 * 128 * 16)
    words = found.view(np.uint32).reshape(16, 128)
    for row, scale in enumerate(scales):
        words[row // 32, [row % 32 + 32 * quarter for quarter in range(4)]] = scale
    return found


def product(function: LoadedObject, a: Any, b: Any, scales: tuple[Any, Any]) -> Any:
    """One instruction's, into zeros: (rows, columns)."""
    sums, table, further = memory(4 * 128 * COLUMNS), np.zeros(1, np.int32), np.zeros(2, np.int32)
    held = [swizzled(a), swizzled(b), *map(scale_words, scales)]
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    given: list[Any] = [pointer(sums.ctypes.data), ctypes.c_bool(False), number(COLUMNS // 8), number(1)]
    for matrix in held[:2]:
        given += [pointer(matrix.ctypes.data), pointer(table.ctypes.data), number(1)]
    given += [number(part) for part in (0, 1024, 0, 1024)]
    for words in held[2:]:
        given += [pointer(words.ctypes.data), ctypes.c_int32(0), pointer(further.ctypes.data)]
    ctypes.CFUNCTYPE(None)(function.address)(*given)
    return sums.view(np.float32).reshape(COLUMNS, 128).T


def powers(scales: Any) -> Any:
    """As numbers of 32 bits, of which the first is subnormal and the last is none."""
    return np.where(scales == 255, np.nan, np.ldexp(1.0, scales.astype(np.int32) - 127)).astype(np.float32)


@pytest.mark.parametrize("first", [0, 64, 128, 192])
def test_products_of_all_exponents_are_those_of_numbers(function: LoadedObject, first: int) -> None:
    random = np.random.default_rng(first)
    a, b = (random.integers(-4, 5, (rows, DEPTH)).astype(ml_dtypes.float8_e4m3fn) for rows in (ROWS, COLUMNS))
    of_columns = np.arange(first, first + COLUMNS, dtype=np.uint8)
    sums = a.astype(np.float64) @ b.astype(np.float64).T
    for start in (0, ROWS):
        of_rows = np.arange(start, start + ROWS, dtype=np.uint8)
        with np.errstate(all="ignore"):
            scales = powers(of_rows)[:, None] * powers(of_columns)
            expected = (sums * scales.astype(np.float64)).astype(np.float32)
        found = product(function, a, b, (of_rows, of_columns))
        np.testing.assert_array_equal(found, expected)


def test_exponents_are_added_as_integers() -> None:
    """A product of small scales would be subnormal, for which processors take a hundred times as long."""
    text = scaled_product_function(SWIZZLED, SWIZZLED, "ue8m0", DEPTH, True)
    usual = text.partition("} else {")[2].partition("scf.yield")[0]
    assert usual.count("arith.addi") == usual.count("math.fma") == 16
    assert "mulf" not in usual
