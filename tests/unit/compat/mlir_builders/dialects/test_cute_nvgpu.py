"""Loads of tiles that a program makes with builder calls: pages, each of them one box."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders.dialects import cute_nvgpu
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import CopyInstructionError, TensorMapError

PAGE, WIDTH, PAGES = 8, 32, 5
TILE = 2 * PAGE
LOAD = cpasync.CopyBulkTensorTileG2SOp()


@tt.kernel
def load_pages(atom: cute.CopyAtom, tensor: cute.Tensor, table: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    layout = cute.make_layout((PAGE, WIDTH, 2), stride=(WIDTH, 1, PAGE * WIDTH))
    shared = allocator.allocate_tensor(tt.Float16, layout, 128)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 2 * PAGE * WIDTH * 2)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    pages = cute.tiled_divide(tensor, (PAGE, WIDTH))[None, 0, 0, None]
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), pages)
    if thread < 32:
        for k in range(2):
            cute.copy(atom, there[None, table[k]], here[None, k], tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    for k in tt.range_constexpr(2):
        for row in tt.range_constexpr(PAGE):
            out[k * PAGE + row, thread] = shared[row, thread, k]


def atom_of_pages(source: cute.Tensor, op: Any = LOAD, smem: Any = None) -> Any:
    """The atom of one page, as programs make it: of the tile of several pages, and the tensor of coordinates."""
    tile = cute.composition(cute.make_identity_layout(source.shape), (TILE, WIDTH))
    page: Any = cute.select(cute.zipped_divide(tile, (PAGE, WIDTH)), mode=[0])
    shared: Any = cute.make_layout(((PAGE, WIDTH),), stride=((WIDTH, 1),)) if smem is None else smem
    given = getattr(shared, "value", shared)
    return cute_nvgpu.atom_make_non_exec_tiled_tma_load(source.value, given, page, op._to_ir(), num_multicast=1)


@tt.jit
def gathered(source: cute.Tensor, table: cute.Tensor, out: cute.Tensor) -> None:
    paged = cute.make_tensor(source.iterator, cute.select(source.layout, mode=[1, 2, 0]))
    value, coordinates = atom_of_pages(paged)
    atom = cute.CopyAtom(LOAD, cpasync.CopyBulkTensorTileG2SNonExecTrait(value))  # type: ignore[call-arg, arg-type]  # as programs make it
    load_pages(atom, coordinates, table, out).launch(grid=1, block=WIDTH)


def test_a_page_is_one_box_that_a_table_finds() -> None:
    memory = np.arange(PAGES * PAGE * WIDTH, dtype=np.float16).reshape(PAGES, PAGE, WIDTH)
    out = np.zeros((TILE, WIDTH), np.float16)
    gathered(from_dlpack(memory, assumed_align=16), np.array([3, 1], np.int32), out)
    assert np.array_equal(out, np.concatenate([memory[3], memory[1]]))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({"op": cpasync.CopyBulkTensorTileS2GOp()}, "an operation that loads"), ({"smem": 3}, "shared memory")],
)
def test_what_a_load_is_not_made_of(arguments: dict[str, Any], expected: str) -> None:
    @tt.jit
    def make(source: cute.Tensor) -> None:
        atom_of_pages(source, **arguments)

    with pytest.raises(TensorMapError, match="a load of tiles is made of") as raised:
        make(from_dlpack(np.zeros((TILE, WIDTH), np.float16), assumed_align=16))
    assert expected in raised.value.expected


def test_an_atom_is_of_the_operation_of_its_map() -> None:
    @tt.jit
    def make(source: cute.Tensor) -> None:
        trait = cpasync.CopyBulkTensorTileG2SNonExecTrait(atom_of_pages(source)[0])
        assert cute.CopyAtom(LOAD, trait) is trait.value  # type: ignore[call-arg, arg-type] # as programs make it
        cute.CopyAtom(cpasync.CopyBulkTensorTileS2GOp(), trait)  # type: ignore[call-arg, arg-type]

    with pytest.raises(CopyInstructionError, match="of the operation that its tensor map was made for"):
        make(from_dlpack(np.zeros((TILE, WIDTH), np.float16), assumed_align=16))


def test_a_trait_has_a_tensor_map() -> None:
    @tt.jit
    def make() -> None:
        plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tt.Float16)
        cpasync.CopyBulkTensorTileG2SNonExecTrait(plain)  # type: ignore[arg-type] # which is the mistake

    with pytest.raises(CopyInstructionError, match="no tensor map"):
        make()
