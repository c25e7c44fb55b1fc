"""Tiled copies of what products hold: the shapes of their partitions, and both sides are the same elements."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.ir.traced import traced_ir
from tests.support.examples import examples
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp, cpasync, warp
from triptych.cute.tracing.errors import TensorShapeError
from triptych.layout import Layout, crd2idx, make_identity_layout, parse, size
from triptych.layout.thread_values import thread_part


def atom(op: Any, dtype: Any = tt.Float16, bits: int = 0) -> cute.CopyAtom:
    return cute.make_copy_atom(op, dtype, num_bits_per_copy=bits)


def product(atoms: tuple[int, int, int] = (2, 2, 1), tile: Any = (32, 32, 16)) -> cute.TiledMma:
    op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op, cute.make_layout(atoms), permutation_mnk=tile)


# laws -------------------------------------------------------------------------------------------------------------
LOADS = [warp.LdMatrix8x8x16bOp(transposed, count) for transposed in (False, True) for count in (1, 2, 4)]
STORES = [warp.StMatrix8x8x16bOp(transposed, count) for transposed in (False, True) for count in (1, 2, 4)]


@st.composite
def copies(draw: Any) -> cute.TiledCopy:
    """Copies of matrices for an operand of a product, of as many matrices at once as the operand has."""
    atoms = draw(st.sampled_from([(1, 1, 1), (2, 2, 1), (1, 4, 1), (4, 1, 1)]))
    tiled = product(atoms, (atoms[0] * 16 * draw(st.sampled_from([1, 2])), atoms[1] * 8 * 2, 16))
    maker = draw(st.sampled_from([cute.make_tiled_copy_A, cute.make_tiled_copy_B, cute.make_tiled_copy_C]))
    copy: cute.TiledCopy = maker(atom(draw(st.sampled_from(LOADS + STORES))), tiled)
    return copy


@examples(60)
@given(copy=copies())
def test_both_sides_of_each_instruction_are_the_same_elements(copy: cute.TiledCopy) -> None:
    """In each warp the registers of an instruction have each of its elements once, and the rows have all of them."""
    source, target = copy.layout_src_tv_tiled, copy.layout_dst_tv_tiled
    held, rows = (target, source) if copy.atom.op in LOADS else (source, target)
    instructions = size(held, [1, 1])
    assert instructions == size(rows, [1, 1])
    for warp_index in range(copy.size // 32):
        lanes = range(32 * warp_index, 32 * warp_index + 32)
        for index in range(instructions):  # type: ignore[arg-type]
            registers = Counter(held((t, (v, index))) for t in lanes for v in range(size(held, [1, 0])))  # type: ignore[arg-type]
            memory = {rows((t, (v, index))) for t in lanes for v in range(size(rows, [1, 0]))}  # type: ignore[arg-type]
            assert set(registers.values()) == {1}
            assert set(registers) == memory


@examples(30)
@given(copy=copies(), repeats=st.tuples(st.integers(1, 2), st.integers(1, 2)))
def test_threads_move_every_element_of_a_tensor(copy: cute.TiledCopy, repeats: tuple[int, int]) -> None:
    """Every element is held; those that several warps need are held as often by each."""
    shape = tuple(mode.shape * times for mode, times in zip(copy.tiler_mn, repeats, strict=True))
    target = make_identity_layout(shape)
    held: Counter[Any] = Counter()
    side = copy.layout_dst_tv_tiled if copy.atom.op in LOADS else copy.layout_src_tv_tiled
    for thread in range(copy.size):
        part, offset = thread_part(target, side, copy.tiler_mn, thread)
        held.update(cute.tuple_add(offset, crd2idx(i, part)) for i in range(size(part)))  # type: ignore[arg-type]
    assert set(held) == {crd2idx(i, target) for i in range(size(target))}  # type: ignore[arg-type]
    assert len(set(held.values())) == 1


@examples(40)
@given(copy=copies())
def test_registers_are_those_of_the_product(copy: cute.TiledCopy) -> None:
    """A copy for an operand holds, value by value, what the product holds."""
    side = copy.layout_dst_tv_tiled if copy.atom.op in LOADS else copy.layout_src_tv_tiled
    values = size(copy.layout_tv_tiled, [1])
    for thread in range(copy.size):
        mine = [side((thread, v)) for v in range(values)]  # type: ignore[arg-type]
        assert mine == [copy.layout_tv_tiled((thread, v)) for v in range(values)]  # type: ignore[arg-type]


# the public tensor-core program -----------------------------------------------------------------------------------
def shapes(row_major: bool) -> dict[str, Any]:
    """128x128x32 of Float16 in three stages, dealt out as the public program does."""
    found: dict[str, Any] = {}

    @tt.kernel
    def kernel() -> None:
        thread, _, _ = cute.arch.thread_idx()
        memory = cute.SmemAllocator()
        outer = cute.make_layout((8, 32), stride=(32, 1)) if row_major else cute.make_layout((64, 8), stride=(1, 64))
        swizzle = cute.make_swizzle(2 if row_major else 3, 4, 3)
        shared = memory.allocate_tensor(tt.Float16, cute.tile_to_shape(outer, (128, 32, 3), (0, 1, 2)), 16, swizzle)
        tiled = product()
        part = tiled.get_slice(thread)
        for name, make, held in (
            ("A", cute.make_tiled_copy_A, part.make_fragment_A(part.partition_A(shared)[None, None, None, 0])),
            ("B", cute.make_tiled_copy_B, part.make_fragment_B(part.partition_B(shared)[None, None, None, 0])),
        ):
            load = make(atom(warp.LdMatrix8x8x16bOp(not row_major, 4)), tiled).get_slice(thread)
            found[f"tCs{name}_copy_view"] = load.partition_S(shared).shape
            found[f"tCr{name}_copy_view"] = load.retile(held).shape
        if tt.const_expr(row_major):
            order = cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8))
        else:
            order = cute.make_layout((16, 8), stride=(1, 16)), cute.make_layout((8, 1))
        fill = cute.make_tiled_copy_tv(atom(cpasync.CopyG2SOp(), bits=128), *order)
        found["tAsA"] = fill.get_slice(thread).partition_D(shared).shape

    @tt.jit
    def launch() -> None:
        kernel().launch(grid=1, block=128)

    traced_ir(launch)
    return found


def test_shapes_of_the_public_program_with_rows() -> None:
    assert shapes(row_major=True) == {
        "tCsA_copy_view": ((8, 1), 4, 2, (1, 3)),
        "tCrA_copy_view": ((8, 1), 4, 2),
        "tCsB_copy_view": ((8, 1), 4, 2, (1, 3)),
        "tCrB_copy_view": (((4, 2), 1), 4, 2),
        "tAsA": ((8, 1), 4, 1, (1, 3)),
    }


def test_shapes_of_the_public_program_with_columns() -> None:
    assert shapes(row_major=False) == {
        "tCsA_copy_view": ((8, 1), (2, 2), 2, (1, 3)),
        "tCrA_copy_view": ((8, 1), 4, 2),
        "tCsB_copy_view": ((8, 1), (2, 2), 2, (1, 3)),
        "tCrB_copy_view": ((8, 1), 4, 2),
        "tAsA": ((8, 1), 1, 4, (1, 3)),
    }


# copies that follow from others -----------------------------------------------------------------------------------
def test_copies_of_what_another_reads_and_writes() -> None:
    load = cute.make_tiled_copy_A(atom(warp.LdMatrix8x8x16bOp(False, 4)), product((1, 1, 1), None))
    one = atom(CopyUniversalOp(), bits=16)
    assert cute.make_tiled_copy_S(one, load).layout_tv_tiled == load.layout_src_tv_tiled
    assert cute.make_tiled_copy_D(one, load).layout_tv_tiled == load.layout_dst_tv_tiled
    assert cute.make_tiled_copy_S(one, load).tiler_mn == load.tiler_mn == (Layout(16, 1), Layout(16, 1))
    assert load.layout_src_tv_tiled == parse("((16,2),(8,1)):((1,128),(16,256))")


def test_a_thread_of_a_copy_knows_what_the_copy_knows() -> None:
    """Public programs take another thread's part, and the tile, from the thread they have."""
    copy = cute.make_tiled_copy_A(atom(warp.LdMatrix8x8x16bOp(False, 4)), product((1, 1, 1), None))
    thread = copy.get_slice(3)
    assert thread.get_slice(0) == copy.get_slice(0)
    assert [mode.shape for mode in thread.tiler_mn] == [16, 16]
    assert thread.layout_tv_tiled == copy.layout_tv_tiled


def test_smallest_copy_of_a_sum() -> None:
    """One store of four matrices for each warp: 16 rows and 16 columns of the 64x32 that four warps hold."""
    tiled = product((4, 1, 1), (64, 32, 16))
    copy = cute.make_tiled_copy_C_atom(atom(warp.StMatrix8x8x16bOp(False, 4)), tiled)
    assert size(copy.layout_tv_tiled) == 128 * 8
    assert tuple(map(size, copy.tiler_mn)) == (64, 16)
    whole = cute.make_tiled_copy_C(atom(warp.StMatrix8x8x16bOp(False, 4)), tiled)
    tensor = make_identity_layout((64, 32))
    for thread in range(128):
        one, start = thread_part(tensor, copy.layout_src_tv_tiled, copy.tiler_mn, thread)
        all_, same = thread_part(tensor, whole.layout_src_tv_tiled, whole.tiler_mn, thread)
        assert start == same
        assert [crd2idx(i, one) for i in range(8)] == [crd2idx(i, all_) for i in range(8)]


def test_copy_by_addresses() -> None:
    """Threads along the memory of columns, whatever its coordinates are called."""
    data = Layout((8, 16), (16, 1))
    copy = cute.make_cotiled_copy(atom(CopyUniversalOp(), bits=64), Layout((4, 4), (4, 1)), data)
    assert tuple(map(size, copy.tiler_mn)) == (1, 16)
    part, start = thread_part(data, copy.layout_src_tv_tiled, copy.tiler_mn, 2)
    assert (start, [crd2idx(i, part) for i in range(4)]) == (8, [0, 1, 2, 3])
    with pytest.raises(TensorShapeError, match="reaches memory that the data does not"):
        cute.make_cotiled_copy(atom(CopyUniversalOp(), bits=64), Layout((4, 4), (64, 1)), data)


def test_instructions_need_all_their_threads_and_values() -> None:
    load = atom(warp.LdMatrix8x8x16bOp(False, 4))
    with pytest.raises(TensorShapeError, match="the threads are not"):
        cute.make_tiled_copy_tv(load, cute.make_layout(16), cute.make_layout(8))
    with pytest.raises(TensorShapeError, match="the values of a thread are not"):
        cute.make_tiled_copy_B(load, product((1, 1, 1), None))
