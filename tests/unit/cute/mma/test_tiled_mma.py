"""Matrix atoms and their tilings: the layouts of the instructions, and the parts that threads hold, which cover all."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.cute.matrix_operations import WARP_OPERATIONS
from triptych import cute
from triptych.cute.nvgpu import MmaUniversalOp, warp
from triptych.cute.tracing.errors import MatrixTilingError, UnknownMatrixInstructionError
from triptych.kernel_ir.dialects.mma import WARP_MMAS
from triptych.layout import Layout, size
from triptych.metastage.trace.errors import OperandTypeError

HALF = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
FLOAT = MmaUniversalOp(tt.Float32)

# what the headers of the instruction set's own library say ----------------------------------------------------------
ROWS_16X8 = "((4,8),(2,2)):((32,1),(16,8))"
LAYOUTS = {  # shape and bits of a factor: (thread, value) of A, of B
    ((16, 8, 8), 16): (ROWS_16X8, "((4,8),2):((16,1),8)"),
    ((16, 8, 16), 16): ("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))"),
    ((16, 8, 4), 32): ("((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)"),
    ((16, 8, 8), 32): ("((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)"),
    ((16, 8, 16), 8): ("((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)"),
    ((16, 8, 32), 8): ("((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))"),
}


def test_every_instruction_has_an_operation() -> None:
    assert set(WARP_OPERATIONS) == set(WARP_MMAS)


@pytest.mark.parametrize("name", WARP_OPERATIONS)
def test_layouts_of_an_atom(name: str) -> None:
    atom = cute.make_mma_atom(WARP_OPERATIONS[name])
    bits = 32 if atom.op.a_dtype is tt.TFloat32 else atom.op.a_dtype.width
    a, b = LAYOUTS[atom.shape_mnk, bits]
    assert (str(atom.tv_layout_A), str(atom.tv_layout_B), str(atom.tv_layout_C)) == (a, b, ROWS_16X8)
    assert str(atom.thr_id) == "32:1"


def test_layouts_of_the_universal_atom() -> None:
    atom = cute.make_mma_atom(FLOAT)
    assert atom.shape_mnk == (1, 1, 1)
    assert [size(tv) for tv in (atom.thr_id, atom.tv_layout_A, atom.tv_layout_B, atom.tv_layout_C)] == [1] * 4


# facts of the public guide and examples -----------------------------------------------------------------------------
def test_parts_of_the_guide() -> None:
    """A block of 128 x 128 x 32 by atoms 16 x 8 x 16 on 2 x 2 warps, in tiles of 32 x 32 x 16."""
    mma = cute.make_tiled_mma(HALF, (2, 2, 1), permutation_mnk=(32, 32, 16))
    assert mma.size == 128
    assert str(mma.thr_layout_vmnk) == "(32,2,2,1):(1,32,64,0)"
    assert [mma.get_tile_size(mode) for mode in range(3)] == [32, 32, 16]
    assert mma.partition_shape_A((128, 32, 4)) == ((2, 2, 2), 4, 2, 4)
    # Of N each tile of the permutation holds two atoms of a warp: 4 tiles, 8 atoms.
    assert mma.partition_shape_B((128, 32, 4)) == ((2, 2), 4 * 2, 2, 4)
    assert mma.partition_shape_C((128, 128)) == ((2, 2), 4, 4 * 2)


def test_tiles_without_a_permutation() -> None:
    mma = cute.make_tiled_mma(cute.make_mma_atom(HALF), atom_layout_mnk=(2, 2, 1))
    assert [mma.get_tile_size(mode) for mode in range(3)] == [32, 16, 16]
    assert mma.partition_shape_C((128, 128)) == ((2, 2), 4, 8)
    assert cute.make_tiled_mma(HALF).size == 32


def test_parts_of_a_product_without_instructions() -> None:
    """256 threads, four neighbours for each along M and along N."""
    four = cute.make_layout((16, 4), stride=(4, 1))
    mma = cute.make_tiled_mma(FLOAT, cute.make_layout((16, 16, 1), stride=(16, 1, 0)), (four, four, None))
    assert mma.size == 256
    assert mma.partition_shape_A((128, 8, 3)) == (1, (4, 2), 8, 3)
    assert mma.partition_shape_C((128, 128)) == (1, (4, 2), (4, 2))
    part = mma.get_slice(17).partition_C(cute.make_identity_tensor((128, 128)))
    assert [part[0, m, 0] for m in range(8)] == [(m, 4) for m in (4, 5, 6, 7, 68, 69, 70, 71)]


def test_permutation_of_the_guide_makes_neighbours() -> None:
    """Old coordinate i goes where the layout says, so that a thread's rows become one stretch."""
    order = cute.make_layout((4, 4, 2), stride=(1, 8, 4))
    mma = cute.make_tiled_mma(FLOAT, cute.make_layout((4, 1, 1)), (order, None, None))
    part = mma.get_slice(1).partition_C(cute.make_identity_tensor((32, 1)))
    assert [part[0, i, 0][0] for i in range(8)] == [1, 9, 17, 25, 5, 13, 21, 29]


# laws ---------------------------------------------------------------------------------------------------------------
POWERS = st.sampled_from([1, 2])
KINDS: list[Any] = [HALF, warp.MmaTF32Op((16, 8, 4)), warp.MmaI8Op(tt.Int8, tt.Int32, (16, 8, 32)), FLOAT]
"""One operation for each kind of layout."""
few = examples(25)


@st.composite
def tilings(draw: st.DrawFn) -> Any:
    op: Any = draw(st.sampled_from(KINDS))
    atoms = draw(st.tuples(POWERS, POWERS, POWERS))
    order = draw(st.permutations(range(3)))
    layout = cute.make_ordered_layout(atoms, order=tuple(order))
    permutation = tuple(draw(taken(atom * count)) for atom, count in zip(op.shape_mnk, atoms, strict=True))
    return cute.make_tiled_mma(op, layout, permutation)


@st.composite
def taken(draw: st.DrawFn, covered: int) -> Any:
    """None, a multiple of what the atoms cover, or such a multiple in another order."""
    count = covered * draw(POWERS)
    form = draw(st.sampled_from(["none", "number", "layout"]))
    if form == "none" or count == 1:
        return None
    if form == "number":
        return count
    inner = draw(st.sampled_from([2**i for i in range(count.bit_length()) if count % 2**i == 0]))
    return Layout((count // inner, inner), (inner, 1))


OPERANDS = (("A", 0, 2, 1), ("B", 1, 2, 0), ("C", 0, 1, 2))
"""Name, its two modes of (M, N, K), and the mode along which atoms have the same elements."""


@few
@given(tilings(), st.sampled_from(OPERANDS), st.tuples(st.integers(1, 2), st.integers(1, 2)))
def test_threads_together_hold_every_element_once(mma: Any, operand: Any, repeats: tuple[int, int]) -> None:
    name, first, second, shared = operand
    shape = (repeats[0] * mma.get_tile_size(first), repeats[1] * mma.get_tile_size(second))
    everywhere = cute.make_identity_tensor(shape)
    held: Counter[Any] = Counter()
    for thread in range(mma.size):
        part = getattr(mma.get_slice(thread), f"partition_{name}")(everywhere)
        assert part.shape == getattr(mma, f"partition_shape_{name}")(shape)
        held.update(part)
    copies = size(mma.atom_layout_mnk, [shared])
    assert held == Counter({(i, j): copies for i in range(shape[0]) for j in range(shape[1])})


@few
@given(tilings(), st.sampled_from(OPERANDS))
def test_tiled_layouts_say_what_partitions_hold(mma: Any, operand: Any) -> None:
    name, first, second, _ = operand
    shape = (mma.get_tile_size(first), mma.get_tile_size(second))
    tv: Any = getattr(mma, f"tv_layout_{name}_tiled")
    assert size(tv, [0]) == mma.size
    for thread in range(mma.size):
        part = getattr(mma.get_slice(thread), f"partition_{name}")(cute.make_identity_tensor(shape))
        held = [i + shape[0] * j for i, j in part]
        assert held == [tv((thread, value)) for value in range(cute.size(tv, mode=[1]))]


# refusals -----------------------------------------------------------------------------------------------------------
def test_an_unknown_combination_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownMatrixInstructionError, match=r"Float8E5M2 into Float32, \(16, 8, 32\)"):
        warp.MmaFP8Op(tt.Float8E4M3FN, tt.Float16, (16, 8, 32))
    with pytest.raises(UnknownMatrixInstructionError, match="MmaF16BF16Op has no such instruction"):
        warp.MmaF16BF16Op(tt.Int8, tt.Int32, (16, 8, 16))
    with pytest.raises(UnknownMatrixInstructionError, match=r"found: TFloat32 into Float32, \(16, 8, 16\)"):
        warp.MmaTF32Op((16, 8, 16))


def test_only_matrix_operations_make_atoms() -> None:
    with pytest.raises(OperandTypeError, match="no matrix operation"):
        cute.make_tiled_mma(cute.nvgpu.CopyUniversalOp())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("permutation", "title"),
    [
        ((24, 32, 16), "the permutation of M"),
        ((32, 8, 16), "the permutation of N"),
        ((32, 32, 8), "the permutation of K"),
        ((Layout((32, 2), (1, 16)), None, None), "the permutation of M"),
        ((32, 32, 16, 1), "no permutation of M, N and K"),
        (("32",), "no permutation of M, N and K"),
    ],
)
def test_permutations_that_leave_something_out(permutation: Any, title: str) -> None:
    with pytest.raises(MatrixTilingError, match=title):
        cute.make_tiled_mma(HALF, (2, 2, 1), permutation)


@pytest.mark.parametrize("layout", [Layout((2, 2), (1, 4)), Layout((2, 2), (1, 1)), Layout((1, 1, 1, 1), (0, 0, 0, 0))])
def test_atoms_must_lie_on_threads_without_gaps(layout: Layout) -> None:
    with pytest.raises(MatrixTilingError, match="one after another"):
        cute.make_tiled_mma(HALF, layout)


def test_a_thread_beyond_the_last_has_no_part() -> None:
    with pytest.raises(MatrixTilingError, match="from 0 to 31"):
        cute.make_tiled_mma(HALF).get_slice(32)


def test_all_parts_of_a_as_one_layout() -> None:
    """Of two warps along M and a tile that they go over twice each way: what each thread holds, at its coordinate."""
    tiled = cute.make_tiled_mma(HALF, (2, 1, 1))
    matrix = Layout((64, 32), (1, 64))
    threads, held = tiled._thrfrg_A(matrix)
    assert size(threads) == tiled.size
    assert [size(mode) for mode in held] == [8, 4]
    reached = [threads(thread) + held(value) for thread in range(64) for value in range(32)]
    assert sorted(reached) == list(range(64 * 32))
    for thread in range(tiled.size):
        part = tiled.distribute(matrix, (0, 2), tiled.tv_layout_A)
        row, lane = thread // 32, thread % 32
        for value, (m, k) in ((v, rest) for v in range(8) for rest in ((0, 0), (1, 0), (0, 1))):
            assert threads((lane, (row, 0))) + held((value, (m, k))) == part(((lane, value), ((row, m), (0, k))))
