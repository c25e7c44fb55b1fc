"""Copies by atoms: what arrives, what a predicate keeps away, and how wide the accesses are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute
from triptych.cute.nvgpu import CopyG2ROp, CopyR2GOp, CopyUniversalOp, MemoryOrder, MemoryScope
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import TensorShapeError
from triptych.metastage.trace.errors import OperandTypeError


# matrices of any size, by tiles of threads and values -------------------------------------------------------------
@tt.kernel
def add_tiles(
    tiled_a: cute.Tensor,
    tiled_b: cute.Tensor,
    tiled_c: cute.Tensor,
    coordinates: cute.Tensor,
    shape: cute.Shape,
    copy: cute.TiledCopy,
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = ((None, None), block)
    part = copy.get_slice(thread)
    a, b, c = part.partition_S(tiled_a[mine]), part.partition_S(tiled_b[mine]), part.partition_D(tiled_c[mine])
    where = part.partition_S(coordinates[mine])
    inside = cute.make_rmem_tensor(where.shape, tt.Boolean)
    for i in range(cute.size(inside)):
        inside[i] = cute.elem_less(where[i], shape)
    registers_a, registers_b, sums = cute.make_fragment_like(a), cute.make_fragment_like(b), cute.make_fragment_like(c)
    cute.copy(copy, a, registers_a, pred=inside)
    cute.copy(copy, b, registers_b, pred=inside)
    sums.store(registers_a.load() + registers_b.load())
    cute.copy(copy, sums, c, pred=inside)


@tt.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, bits: tt.Constexpr[int]) -> None:
    threads = cute.make_ordered_layout((4, 8), order=(1, 0))
    values = cute.make_ordered_layout((2, 4), order=(1, 0))
    atom = cute.make_copy_atom(CopyUniversalOp(), a.element_type, num_bits_per_copy=bits)
    copy = cute.make_tiled_copy_tv(atom, threads, values)
    tile = copy.tiler_mn
    tiled = cute.zipped_divide(c, tile)
    everywhere = cute.zipped_divide(cute.make_identity_tensor(c.shape), tiler=tile)
    add_tiles(cute.zipped_divide(a, tile), cute.zipped_divide(b, tile), tiled, everywhere, c.shape, copy).launch(
        grid=[cute.size(tiled, mode=[1]), 1, 1], block=[copy.size, 1, 1]
    )


@pytest.mark.parametrize("bits", [0, 32, 128])
@pytest.mark.parametrize("shape", [(8, 32), (1, 1), (3, 12), (17, 33), (40, 100)])
def test_nothing_outside_the_matrices_is_touched(shape: tuple[int, int], bits: int) -> None:
    rows, columns = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
    room = np.full((rows + 8, columns + 32), -1.0, np.float32)
    c = room[:rows, :columns]
    add(a, b, c, bits)
    np.testing.assert_array_equal(c, a + b)
    assert (room[rows:] == -1).all()
    assert (room[:, columns:] == -1).all()


# one row of vectors -----------------------------------------------------------------------------------------------
THREADS, EACH = 32, 8


@tt.kernel
def copy_some(source: cute.Tensor, target: cute.Tensor, limit: tt.Int32, copy: cute.TiledCopy) -> None:
    """Instruction k of a thread is allowed when thread + k is below the limit."""
    thread, _, _ = cute.arch.thread_idx()
    part = copy.get_slice(thread)
    read, write = part.partition_S(source), part.partition_D(target)
    allowed = cute.make_rmem_tensor((cute.size(read, mode=[0, 1]),), tt.Boolean)
    for k in tt.range_constexpr(cute.size(allowed)):
        allowed[k] = thread + k < limit
    registers = cute.make_fragment_like(read)
    registers.fill(-2.0)
    cute.copy(copy, read, registers, pred=allowed)
    cute.copy(copy, registers, write)


@tt.jit
def copy_vectors(source: cute.Tensor, target: cute.Tensor, limit: tt.Int32, bits: tt.Constexpr[int]) -> None:
    atom = cute.make_copy_atom(CopyUniversalOp(), source.element_type, num_bits_per_copy=bits)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(EACH))
    copy_some(source, target, limit, copy).launch(grid=1, block=copy.size)


def row() -> Any:
    room = np.zeros(THREADS * EACH + 4, np.float32)
    start = -(room.ctypes.data // 4) % 4
    return room[start : start + THREADS * EACH]


@pytest.mark.parametrize("bits", [32, 64, 128])
@pytest.mark.parametrize("limit", [0, 7, 100])
def test_predicate_guards_whole_instructions(limit: int, bits: int) -> None:
    source, target = row(), row()
    source[:] = np.arange(source.size)
    copy_vectors(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), limit, bits)
    together = bits // 32
    thread, value = np.divmod(np.arange(source.size), EACH)
    expected = np.where(thread + value // together < limit, source, -2)
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize(("bits", "widths"), [(32, {"f32"}), (64, {"vector<2xf32>"}), (128, {"vector<4xf32>"})])
def test_access_is_as_wide_as_the_instruction(bits: int, widths: set[str]) -> None:
    aligned = from_dlpack(row(), assumed_align=16)
    loads = re.findall(
        r"llvm\.load %\S+ \{.*\} : !llvm\.ptr<1> -> (\S+)", traced_ir(copy_vectors, aligned, aligned, 1, bits)
    )
    assert len(loads) == EACH * 32 // bits
    assert set(loads) == widths


def test_wide_instruction_on_elements_that_are_not_aligned_is_several_accesses() -> None:
    loose = from_dlpack(row())
    text = traced_ir(copy_vectors, loose, loose, 1, 128)
    assert "!llvm.ptr<1> -> f32" in text
    assert "!llvm.ptr<1> -> vector<4xf32>" not in text


# operations -------------------------------------------------------------------------------------------------------
@tt.kernel
def through_registers(source: cute.Tensor, target: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    load = cute.make_copy_atom(CopyG2ROp(), tt.Float32, num_bits_per_copy=64, memory_order=MemoryOrder.RELAXED)
    store = cute.make_copy_atom(CopyR2GOp(), tt.Float32, num_bits_per_copy=64)
    registers = cute.make_rmem_tensor((2, 4), tt.Float32)
    mine = cute.zipped_divide(source, (EACH,))[None, thread]
    cute.copy(load, mine, registers)
    cute.copy(store, registers, cute.zipped_divide(target, (EACH,))[None, thread])


@tt.jit
def launch_through_registers(source: cute.Tensor, target: cute.Tensor) -> None:
    through_registers(source, target).launch(grid=1, block=THREADS)


def test_loads_and_stores_of_global_memory() -> None:
    source, target = row(), row()
    source[:] = np.arange(source.size)
    launch_through_registers(source, target)
    np.testing.assert_array_equal(target, source)


@tt.jit
def copy_where(source: cute.Tensor, target: cute.Tensor, allowed: cute.Tensor) -> None:
    cute.basic_copy_if(allowed, source, target)


def test_elements_are_copied_where_the_predicate_is_true() -> None:
    source, target = np.arange(12, dtype=np.int32).reshape(3, 4), np.full((3, 4), -1, np.int32)
    allowed = np.array([[True, False, True, False]] * 3)
    copy_where(*(from_dlpack(array) for array in (source, target, allowed)))
    np.testing.assert_array_equal(target, np.where(allowed, source, -1))


@tt.jit
def retiled(source: cute.Tensor, target: cute.Tensor, thread: tt.Int32) -> None:
    """Registers filled element by element and written four by four."""
    ones = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=32)
    fours = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
    threads, values = cute.make_layout(THREADS), cute.make_layout(EACH)
    load, store = (cute.make_tiled_copy_tv(atom, threads, values).get_slice(thread) for atom in (ones, fours))
    read, write = load.partition_S(source), store.partition_D(target)
    registers = cute.make_fragment_like(read)
    cute.copy(ones, read, registers)
    view = store.retile(registers)
    print(view.shape, write.shape)
    cute.copy(fours, view, write)


def test_registers_are_seen_in_the_grouping_of_another_copy(capsys: Any) -> None:
    source, target = row(), row()
    source[:] = np.arange(source.size)
    retiled(from_dlpack(source), from_dlpack(target), 3)
    assert capsys.readouterr().out == "((4, 2), 1) ((4, 2), 1)\n"
    expected = np.zeros_like(source)
    expected[3 * EACH : 4 * EACH] = source[3 * EACH : 4 * EACH]
    np.testing.assert_array_equal(target, expected)


@tt.jit
def copy_in_a_loop(source: cute.Tensor, target: cute.Tensor, count: tt.Int32) -> None:
    """A copy and a thread of one are variables that a loop assigns."""
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(EACH))
    part = copy.get_slice(tt.Int32(0))
    for thread in range(count):
        part = copy.get_slice(thread)
        cute.copy(atom, part.partition_S(source), part.partition_D(target))
    cute.prefetch(atom, part.partition_S(source))


def test_copies_cross_loops() -> None:
    source, target = row(), row()
    source[:] = np.arange(source.size)
    copy_in_a_loop(from_dlpack(source), from_dlpack(target), 5)
    np.testing.assert_array_equal(target, np.where(np.arange(source.size) < 5 * EACH, source, 0))


def test_hints_are_kept() -> None:
    order, scope = MemoryOrder.VOLATILE, MemoryScope.SYS
    atom = cute.make_copy_atom(CopyG2ROp(), tt.Float32, num_bits_per_copy=64, memory_order=order, memory_scope=scope)
    assert (atom.memory_order, atom.memory_scope) == (order, scope)
    assert atom.layout_src_tv == atom.layout_dst_tv == cute.make_layout((1, 2), stride=(0, 1))


def test_texts() -> None:
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float16, num_bits_per_copy=64)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(2), cute.make_layout(8))
    assert str(atom) == "CopyUniversalOp<Float16, 64 bits>"
    assert str(copy) == "tiled copy of CopyUniversalOp<Float16, 64 bits> by (2,8):(8,1) on (16)"
    assert copy.layout_src_tv_tiled == cute.make_layout((2, (4, 2)), stride=(8, (1, 4)))
    assert (copy.op, copy.value_type, copy.size, atom.thr_id) == (atom.op, tt.Float16, 2, cute.make_layout(1, stride=0))


# mistakes ---------------------------------------------------------------------------------------------------------
def test_width_is_one_of_whole_elements() -> None:
    with pytest.raises(TensorShapeError, match="whole Float32"):
        cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=48)


def test_operation_is_one() -> None:
    with pytest.raises(OperandTypeError, match="no copy operation"):
        cute.make_copy_atom(tt.Float32, tt.Float32)  # type: ignore[arg-type]


def test_values_fill_instructions() -> None:
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
    with pytest.raises(TensorShapeError, match="whole copy instructions"):
        cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(6))


def test_predicate_fits_the_copy() -> None:
    @tt.jit
    def wrong() -> None:
        atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
        source, target = (cute.make_rmem_tensor((8,), tt.Float32) for _ in range(2))
        allowed = cute.make_rmem_tensor((3,), tt.Boolean)
        cute.copy(atom, source, target, pred=allowed)

    with pytest.raises(TensorShapeError, match="fits neither"):
        wrong()


@pytest.mark.parametrize("bits", [32, 64, 128, 256])
def test_a_predicate_for_each_group_of_a_partition(bits: int) -> None:
    """A partition that a copy of 16 bytes of another type has made: 8 values in a place, 3 places, 2 rows."""

    @tt.jit
    def guarded(x: cute.Tensor, out: cute.Tensor, n: tt.Int32) -> None:
        atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=bits)
        shape = cute.make_layout(((8, 3), 2), stride=((1, 8), 24))
        source = cute.make_tensor(x.iterator.align(32), shape)
        target = cute.make_tensor(out.iterator.align(32), shape)
        allowed = cute.make_rmem_tensor((3, 2), tt.Boolean)
        for i in tt.range_constexpr(6):
            allowed[i] = n == i
        cute.copy(atom, source, target, pred=allowed)

    memory = np.zeros(128, np.float32)
    start = -(memory.ctypes.data // 4) % 8
    x, out = memory[start : start + 48], memory[start + 48 : start + 96]
    for n in range(6):
        x[:], out[:] = np.arange(48), -1
        guarded(x, out, n)
        expected = np.full(48, -1.0)
        expected[8 * n : 8 * n + 8] = np.arange(8 * n, 8 * n + 8)
        assert np.array_equal(out, expected)


def test_copy_is_one_of_whole_instructions() -> None:
    @tt.jit
    def wrong() -> None:
        atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float32, num_bits_per_copy=128)
        source, target = (cute.make_rmem_tensor((6,), tt.Float32) for _ in range(2))
        cute.copy(atom, source, target)

    with pytest.raises(TensorShapeError, match="part of an instruction"):
        wrong()
