"""Products of fragments: what becomes of `cute.gemm`, what comes out of it, and which operands it refuses."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from tests.unit.cute.array_memory import over
from tests.unit.cute.launched import run
from tests.unit.cute.matrix_operations import WARP_OPERATIONS
from triptych import cute
from triptych.cute.nvgpu import MmaUniversalOp, warp
from triptych.cute.tracing.errors import (
    DeviceOnlyError,
    MatrixOperandError,
    MatrixTilingError,
    RegisterPlaceError,
    StaticTensorError,
)
from triptych.metastage.trace.errors import OperandTypeError

HALF = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
ARRAYS: dict[Any, Any] = {
    tt.Float16: np.float16,
    tt.BFloat16: ml_dtypes.bfloat16,
    tt.TFloat32: np.float32,
    tt.Float8E4M3FN: ml_dtypes.float8_e4m3fn,
    tt.Float8E5M2: ml_dtypes.float8_e5m2,
    tt.Int8: np.int8,
    tt.Uint8: np.uint8,
    tt.Float32: np.float32,
    tt.Float64: np.float64,
    tt.Int32: np.int32,
}


# the whole way: matrices in memory, parts in registers, products ----------------------------------------------------
@tt.kernel
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, step: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    part = mma.get_slice(thread)
    of_a, of_b, of_c = part.partition_A(a), part.partition_B(b), part.partition_C(c)
    held_a, held_b, sums = mma.make_fragment_A(of_a), mma.make_fragment_B(of_b), mma.make_fragment_C(of_c)
    cute.basic_copy(of_a, held_a)
    cute.basic_copy(of_b, held_b)
    sums.fill(0)
    if tt.const_expr(step == 0):
        cute.gemm(mma, sums, held_a, held_b, sums)
    else:
        for k in tt.range_constexpr(cute.size(held_a, mode=[2])):
            cute.gemm(mma, sums, held_a[None, None, k], held_b[None, None, k], sums)
    cute.basic_copy(sums, of_c)


@tt.jit
def host(
    a: tt.Int64, b: tt.Int64, c: tt.Int64, shape: tt.Constexpr[Any], tiling: tt.Constexpr[Any], step: tt.Constexpr[int]
) -> None:
    op, atoms, permutation = tiling
    m, n, k = shape
    mma = cute.make_tiled_mma(op, atoms, permutation)
    matrix_a = over(a, cute.make_layout((m, k), stride=(k, 1)), in_memory(op.a_dtype))
    matrix_b = over(b, cute.make_layout((n, k), stride=(k, 1)), in_memory(op.b_dtype))
    matrix_c = over(c, cute.make_layout((m, n), stride=(n, 1)), op.acc_dtype)
    multiply(matrix_a, matrix_b, matrix_c, mma, step).launch(grid=1, block=mma.size)


def in_memory(dtype: Any) -> Any:
    return tt.Float32 if dtype is tt.TFloat32 else dtype


def product(op: Any, shape: tuple[int, int, int], tiling: Any, step: int) -> tuple[Any, Any]:
    """What the kernel computes, and the same in float64; small integers, so that every type holds every sum."""
    rng = np.random.default_rng(0)
    m, n, k = shape
    lowest = 0 if tt.Uint8 in (op.a_dtype, op.b_dtype) else -2
    a = rng.integers(lowest, 3, (m, k)).astype(ARRAYS[op.a_dtype])
    b = rng.integers(lowest, 3, (n, k)).astype(ARRAYS[op.b_dtype])
    c = np.full((m, n), -1, ARRAYS[op.acc_dtype])
    host(a.ctypes.data, b.ctypes.data, c.ctypes.data, shape, (op, *tiling), step)
    return c, a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize(
    "name",
    [
        "m16n8k8.f16.f16.f16.f16",
        "m16n8k16.f32.bf16.bf16.f32",
        "m16n8k4.f32.tf32.tf32.f32",
        "m16n8k32.s32.s8.u8.s32",
        "m16n8k32.f32.e4m3.e4m3.f32",
    ],
)
def test_instructions_multiply_matrices(name: str) -> None:
    op = WARP_OPERATIONS[name]
    computed, exact = product(op, (32, 32, 2 * op.shape_mnk[2]), ((2, 2, 1), (32, 32, op.shape_mnk[2])), 0)
    np.testing.assert_array_equal(computed.astype(np.float64), exact)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize(
    ("atoms", "permutation", "step"),
    [
        ((1, 1, 1), None, 0),
        ((2, 1, 1), (None, 16, 16), 1),
        ((1, 4, 1), (None, 32, None), 0),
        ((2, 2, 1), (None, cute.make_layout((8, 2, 2), stride=(1, 16, 8)), None), 1),
    ],
)
def test_tilings_change_nothing(atoms: Any, permutation: Any, step: int) -> None:
    computed, exact = product(HALF, (32, 32, 32), (atoms, permutation), step)
    np.testing.assert_array_equal(computed.astype(np.float64), exact)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize(
    ("dtype", "step"), [(tt.Float32, 0), (tt.Float32, 1), (tt.Float64, 0), (tt.Float16, 0), (tt.Int32, 1)]
)
def test_numbers_multiply_matrices(dtype: Any, step: int) -> None:
    four = cute.make_layout((8, 4), stride=(4, 1))
    atoms = cute.make_layout((8, 8, 1), stride=(8, 1, 0))
    computed, exact = product(MmaUniversalOp(dtype), (64, 32, 4), (atoms, (four, four, None)), step)
    np.testing.assert_array_equal(computed.astype(np.float64), exact)


# one instruction: every element is a function of its own coordinates ------------------------------------------------
@tt.kernel
def of_coordinates(target: cute.Tensor, op: tt.Constexpr[Any]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_mma_atom(op)
    a, b, c = (tv[1].shape for tv in (atom.tv_layout_A, atom.tv_layout_B, atom.tv_layout_C))
    held_a, held_b, sums = atom.make_fragment_A((a,)), atom.make_fragment_B((b,)), atom.make_fragment_C((c,))
    for held, tv, factor in (
        (held_a, atom.tv_layout_A, 5),
        (held_b, atom.tv_layout_B, 3),
        (sums, atom.tv_layout_C, 1),
    ):
        for value in tt.range_constexpr(cute.size(held)):
            held[value] = element(cute.crd2idx((thread, value), tv), factor).to(held.element_type)
    cute.mma_atom_call(atom, sums, held_a, held_b, sums)
    for value in tt.range_constexpr(cute.size(sums)):
        target[cute.crd2idx((thread, value), atom.tv_layout_C)] = sums[value]


def element(number: Any, factor: int) -> Any:
    """A small number, another one for neighbours in either direction."""
    return number * factor % 7


@tt.jit
def run_of_coordinates(target: tt.Int64, op: tt.Constexpr[Any]) -> None:
    m, n, _ = op.shape_mnk
    of_coordinates(over(target, cute.make_layout(m * n), op.acc_dtype), op).launch(grid=1, block=32)


@pytest.mark.usefixtures("every_machine")
@pytest.mark.parametrize("name", WARP_OPERATIONS)
def test_every_instruction_multiplies_what_its_layouts_say(name: str) -> None:
    op = WARP_OPERATIONS[name]
    m, n, k = op.shape_mnk
    target = np.full(m * n, -1, ARRAYS[op.acc_dtype])
    run_of_coordinates(target.ctypes.data, op)
    a, b, c = (
        element(np.arange(rows * columns), factor).reshape(columns, rows).T
        for rows, columns, factor in ((m, k, 5), (n, k, 3), (m, n, 1))
    )
    np.testing.assert_array_equal(target.reshape(n, m).T.astype(np.int64), a @ b.T + c)


# what is traced -----------------------------------------------------------------------------------------------------
@tt.kernel
def fragments(op: tt.Constexpr[Any], shapes: tt.Constexpr[Any], use: tt.Constexpr[Any]) -> None:
    atom = cute.make_mma_atom(op)
    a, b, sums = shapes
    use(atom, atom.make_fragment_A(a), atom.make_fragment_B(b), atom.make_fragment_C(sums))


@tt.jit
def in_a_block(
    op: tt.Constexpr[Any], shapes: tt.Constexpr[Any], use: tt.Constexpr[Any], block: tt.Constexpr[int]
) -> None:
    fragments(op, shapes, use).launch(grid=1, block=block)


SHAPES = (((2, 2, 2), 2, 3), ((2, 2), 4, 3), ((2, 2), 2, 4))


def traced(use: Any, op: Any = HALF, shapes: Any = SHAPES, block: int = 32) -> str:
    return traced_ir(in_a_block, op, shapes, use, block)


def numbers(module: str, attribute: str) -> list[int]:
    found = re.search(rf"\b{attribute} = array<i64: ([\d, ]*)>", module)
    assert found
    return [int(number) for number in found[1].split(", ")]


def test_all_atoms_are_one_operation() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(atom, sums, a, b, sums)

    module = traced(use)
    assert module.count("tile.mma") == 1
    assert '"m16n8k16.f32.f16.f16.f32"' in module
    assert numbers(module, "tiles") == [2, 4, 3]
    assert numbers(module, "a") == list(range(0, 2 * 3 * 8, 2))
    assert numbers(module, "b") == list(range(0, 4 * 3 * 4, 2))
    assert numbers(module, "c") == numbers(module, "d") == list(range(2 * 4 * 4))


def test_a_part_of_a_fragment_names_registers_of_the_whole() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(atom, sums, a[None, None, 2], b[None, None, 1], sums)

    module = traced(use)
    assert numbers(module, "tiles") == [2, 4, 1]
    assert numbers(module, "a") == list(range(32, 48, 2))
    assert numbers(module, "b") == list(range(16, 32, 2))


def test_another_destination() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        results = cute.make_fragment_like(sums)
        cute.gemm(atom, results, a, b, sums)

    operands = re.search(r'"tile.mma"\((.*?)\)', traced(use))
    assert operands
    assert len(set(operands[1].split(", "))) == 4


def test_accumulators_of_one_product_are_factors_of_the_next() -> None:
    """Sums (4, M, N) in pairs along N are the factor A ((4, 2), M, N / 2), as attention has it."""

    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        weights = cute.make_fragment_like(sums, tt.Float16)
        divided = cute.logical_divide(weights.layout, (None, None, 2))
        view = cute.make_layout(
            ((divided.shape[0], divided.shape[2][0]), divided.shape[1], divided.shape[2][1]),
            stride=((divided.stride[0], divided.stride[2][0]), divided.stride[1], divided.stride[2][1]),
        )
        again = cute.make_tensor(weights.iterator, view)
        cute.gemm(atom, sums, again[None, None, 1], b[None, None, 0], sums)

    module = traced(use)
    # N 2 and 3 of the sums, M 0 and 1: (m + 2 * n) * 4, two registers of each.
    assert numbers(module, "a") == [16, 18, 24, 26, 20, 22, 28, 30]


def test_products_in_a_loop_name_the_same_registers() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        thread, _, _ = cute.arch.thread_idx()
        cute.gemm(atom, sums, a, b, sums)
        in_a_loop(atom, a, b, sums, cute.arch.make_warp_uniform(thread))

    calls = re.findall(r'"tile.mma"\((.*?)\) \{(.*?)\}', traced(use))
    assert len(calls) == 2
    assert calls[0] == calls[1]


@tt.jit
def in_a_loop(atom: tt.Constexpr[Any], a: Any, b: Any, sums: Any, count: tt.Int32) -> None:
    for _ in range(count):
        cute.gemm(atom, sums, a, b, sums)


def test_one_atom() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.mma_atom_call(atom, sums[None, 1, 2], a[None, 1, 0], b[None, 2, 0], sums[None, 1, 2])

    module = traced(use)
    assert numbers(module, "tiles") == [1, 1, 1]
    assert numbers(module, "d") == [20, 21, 22, 23]
    assert numbers(module, "a") == [8, 10, 12, 14]


def test_one_atom_takes_no_further_modes() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.mma_atom_call(atom, sums, a, b, sums)

    with pytest.raises(MatrixOperandError, match="D has more than the values of one atom"):
        traced(use)


@tt.kernel
def without_values(out: cute.Pointer, of_k: tt.Constexpr[bool]) -> None:
    atom = cute.make_mma_atom(MmaUniversalOp(tt.Float32))
    m, n, k = 3, 4, 2
    a, b = (cute.make_rmem_tensor((size, k) if of_k else size, tt.Float32) for size in (m, n))
    sums = cute.make_rmem_tensor((m, n), tt.Float32)
    for tensor in (a, b, sums):
        for i in tt.range_constexpr(cute.size(tensor)):
            tensor[i] = tt.Float32(i + 1)
    cute.gemm(atom, sums, a, b, sums)
    for i in tt.range_constexpr(m * n):
        (out + i).store(sums[i])


@pytest.mark.parametrize("of_k", [False, True])
def test_the_mode_of_one_value_may_be_left_out(of_k: bool) -> None:
    out = np.zeros(12, np.float32)
    run(without_values, [out], of_k, block=1)
    a, b = (np.arange(1, size * (1 + of_k) + 1).reshape(1 + of_k, size).T for size in (3, 4))
    expected = np.arange(1, 13).reshape(4, 3).T + a @ b.T
    np.testing.assert_array_equal(out.reshape(4, 3).T, expected)


# refusals -----------------------------------------------------------------------------------------------------------
def gemm(atom: Any, a: Any, b: Any, sums: Any) -> None:
    cute.gemm(atom, sums, a, b, sums)


@pytest.mark.parametrize(
    ("shapes", "title"),
    [
        ((((2, 2, 2), 3, 3), ((2, 2), 4, 3), ((2, 2), 2, 4)), "A and D differ in M"),
        ((((2, 2, 2), 2, 3), ((2, 2), 5, 3), ((2, 2), 2, 4)), "B and D differ in N"),
        ((((2, 2, 2), 2, 3), ((2, 2), 4, 2), ((2, 2), 2, 4)), "A and B differ in K"),
        ((((2, 2), 2, 3), ((2, 2), 4, 3), ((2, 2), 2, 4)), r"first mode of A \(values of an atom\)"),
        ((((2, 2, 2), 2, 3), (2, 4, 3), ((2, 2), 2, 4)), r"first mode of B \(values of an atom\)"),
        ((((2, 2, 2), 2), ((2, 2), 4, 3), ((2, 2), 2, 4)), "A of rank 2, B of rank 3, D of rank 3"),
    ],
)
def test_the_mode_that_differs_is_named(shapes: Any, title: str) -> None:
    with pytest.raises(MatrixOperandError, match=title):
        traced(gemm, shapes=shapes)


def test_c_and_d_have_the_same_modes() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(atom, sums, a, b, cute.make_rmem_tensor(((2, 2), 2, 3), tt.Float32))

    with pytest.raises(MatrixOperandError, match="C and D differ in N"):
        traced(use)


def test_another_element_type() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(atom, sums, a, cute.make_fragment_like(b, tt.BFloat16), sums)

    with pytest.raises(MatrixOperandError, match="the elements of B have another type"):
        traced(use)


def test_operands_lie_in_registers() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        shared = cute.arch.alloc_smem(tt.Float16, 4096)
        cute.gemm(atom, sums, cute.make_tensor(shared, a.layout), b, sums)

    with pytest.raises(MatrixOperandError, match="A does not lie in registers"):
        traced(use)


def test_registers_are_known_while_tracing() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        thread, _, _ = cute.arch.thread_idx()
        cute.gemm(atom, sums, a[None, None, thread % 3], b[None, None, 0], sums)

    with pytest.raises(RegisterPlaceError, match="which registers A lies in"):
        traced(use)


def test_a_view_of_wider_registers() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        words = cute.make_rmem_tensor((cute.size(a) // 2,), tt.Int32)
        cute.gemm(atom, sums, cute.make_tensor(cute.recast_ptr(words.iterator, dtype=tt.Float16), a.layout), b, sums)

    with pytest.raises(RegisterPlaceError, match="A is a view of registers of another size"):
        traced(use)


@pytest.mark.parametrize("strides", [((4, 2, 1), 8, 16), ((1, 2, 4), 9, 18)])
def test_elements_of_a_register_are_neighbours(strides: Any) -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        scattered = cute.make_rmem_tensor(cute.make_layout(a.shape, stride=strides), tt.Float16)
        cute.gemm(atom, sums, scattered, b, sums)

    with pytest.raises(RegisterPlaceError, match="do not lie side by side"):
        traced(use)


def test_shapes_are_static() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        thread, _, _ = cute.arch.thread_idx()
        a = cute.make_tensor(a.iterator, cute.make_layout(((2, 2, 2), 2, thread)))
        cute.gemm(atom, sums, a, b, sums)

    with pytest.raises(StaticTensorError, match="known while tracing"):
        traced(use)


@pytest.mark.parametrize(
    ("block", "atoms", "title"),
    [(32, (2, 1, 1), "too few threads"), (48, (1, 1, 1), "not whole"), (64, (2, 2, 1), "too few threads")],
)
def test_blocks_have_the_threads_of_all_atoms(block: int, atoms: Any, title: str) -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(cute.make_tiled_mma(atom, atoms), sums, a, b, sums)

    with pytest.raises(MatrixTilingError, match=title):
        traced(use, block=block)


def test_only_atoms_multiply() -> None:
    def use(atom: Any, a: Any, b: Any, sums: Any) -> None:
        cute.gemm(HALF, sums, a, b, sums)  # type: ignore[arg-type]

    with pytest.raises(OperandTypeError, match="no matrix atom"):
        traced(use)


@tt.jit
def on_the_host() -> None:
    atom = cute.make_mma_atom(HALF)
    a, b, sums = atom.make_fragment_A(SHAPES[0]), atom.make_fragment_B(SHAPES[1]), atom.make_fragment_C(SHAPES[2])
    cute.gemm(atom, sums, a, b, sums)


def test_warp_instructions_exist_only_in_kernels() -> None:
    with pytest.raises(DeviceOnlyError, match="matrix instruction"):
        on_the_host()
