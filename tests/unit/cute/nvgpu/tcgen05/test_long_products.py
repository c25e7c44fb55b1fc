"""Products of K = 96 (sm_103a): rows that end in a second buffer, scales that go on in the next word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from tests.unit.cute.nvgpu.tcgen05.test_block_scales import E4, E8, ONE, ROWS, SMEM, THREADS, operand, scales
from triptych import cute, pipeline
from triptych.cute.nvgpu import tcgen05
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import MatrixOperandError, SharedOperandError, UnknownMatrixInstructionError
from triptych.kernel_ir.dialects.smem_operands import SmemOperand
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.config import override
from triptych.utils import TmemAllocator, blockscaled_layout

pytestmark = pytest.mark.cpu
ROW_ELEMENTS, DEPTH, CHUNK_ELEMENTS, FACTORS = 256, 96, 32, 12
OPS: dict[str, Any] = {
    "nvf4": lambda n: tcgen05.SM103MmaMXF4NVF4Op(E4, (ROWS, n, DEPTH), ONE, SMEM),
    "nvf4 by powers of two": lambda n: tcgen05.SM103MmaMXF4NVF4Op(E8, (ROWS, n, DEPTH), ONE, SMEM),
    "mxf4": lambda n: tcgen05.SM103MmaMXF4Op((ROWS, n, DEPTH), ONE, SMEM),
}


def buffers_of(rows: int) -> Any:
    """Two buffers, each rows of 128 bytes, in chunks."""
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, tt.Uint8)
    return tcgen05.tile_to_mma_shape(atom, ((rows, 16), 1, 8, 2), order=(0, 1, 2))


def scale_shape(rows: int, vector: int, factors: int, count: int) -> Any:
    return cute.make_layout(((((32, 4), -(-rows // ROWS)), (vector, factors)), 1, count // factors))


@tt.kernel
def long_kernel(
    x: cute.Tensor,
    w: cute.Tensor,
    sfx: cute.Tensor,
    sfw: cute.Tensor,
    y: cute.Tensor,
    mma: Any,
    chunk: tt.Int32,
    first: tt.Constexpr[int],
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cute.SmemAllocator()
    m, n, _ = mma.shape_mnk
    tiles = []
    for source, rows in ((x, m), (w, n)):
        layout = buffers_of(rows)
        tile = smem.allocate_tensor(tt.Uint8, layout.outer, 1024, layout.inner)
        for i in range(cute.size(source) // THREADS):
            number = thread + i * THREADS
            row, byte = number // 256, number % 256
            tile[(row, byte % 16), 0, byte % 128 // 16, byte // 128] = source[row, byte]
        tiles.append(tile)
    held = []
    for source in (sfx, sfw):
        flat = smem.allocate_tensor(tt.Uint8, cute.make_layout(cute.size(source)), 1024)
        for i in range(cute.size(source) // THREADS):
            flat[thread + i * THREADS] = source[thread + i * THREADS]
        held.append(flat)
    one, everyone = (pipeline.CooperativeGroup(pipeline.Agent.Thread, count) for count in (1, THREADS))
    results = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=one, consumer_group=everyone, barrier_storage=smem.allocate_array(tt.Int64, 2)
    )
    begun, done = results.make_participants()
    columns = TmemAllocator(smem.allocate_array(tt.Int32, 1))
    columns.allocate(512)
    columns.wait_for_alloc()
    cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()
    place = columns.retrieve_ptr(tt.Float32)
    sums = cute.make_tensor(place, mma.make_fragment_C(((m, n), 1, 1)).layout)
    after = tcgen05.find_tmem_tensor_col_offset(sums)
    if warp == 0:
        for flat, rows, field in ((held[0], m, tcgen05.Field.SFA), (held[1], n, tcgen05.Field.SFB)):
            vector, there = mma.op.sf_vec_size, cute.recast_ptr(place + after, dtype=mma.op.sf_dtype)
            count = cute.size(flat) // (ROWS * -(-rows // ROWS))
            copied, used = (
                cute.make_tensor(
                    there,
                    blockscaled_layout.make_tmem_layout_sfa(
                        mma, (0, 0, 0), vector, scale_shape(rows, vector, each, count)
                    ),
                )
                for each in (4, 1)
            )
            shared = cute.make_tensor(cute.recast_ptr(flat.iterator, dtype=mma.op.sf_dtype), chunks_of(rows, count))
            to = cute.filter_zeros(copied)
            copy = tcgen05.make_s2t_copy(cute.make_copy_atom(tcgen05.Cp4x32x128bOp(ONE), mma.op.sf_dtype), to)
            part = copy.get_slice(0)
            cute.copy(copy, part.partition_S(shared), part.partition_D(to))
            mma.set(field, used[None, None, first].iterator)
            after += 64
        a, b = (
            cute.make_tensor(
                tcgen05.make_umma_smem_desc(
                    tile[None, 0, chunk, 0].iterator,
                    tile[None, 0, chunk, 0].layout,
                    "k",
                    next_src=tile[None, 0, 0, 1].iterator,
                ),
                cute.make_layout(1, stride=0),
            )
            for tile in tiles
        )
        result = begun.acquire_and_advance()
        cute.mma_atom_call(mma, sums[None, 0, 0], a, b, sums[None, 0, 0])
        result.commit()
    load = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), tt.Float32), sums)
    mine = load.get_slice(thread)
    of_y = mma.get_slice(0).partition_C(y)
    found = cute.make_rmem_tensor(mine.partition_D(of_y).shape, tt.Float32)
    full = done.wait_and_advance()
    cute.copy(load, mine.partition_S(sums), found)
    cute.basic_copy(found, mine.partition_D(of_y))
    full.release()
    cute.arch.sync_threads()
    columns.free(place)


def chunks_of(rows: int, count: int) -> Any:
    """Scales in shared memory: all words of 128 rows, then the next 128."""
    chunks, words = -(-rows // ROWS), count // 4
    return cute.make_layout(((((32, 4), chunks), (1, 4)), 1, words), stride=((((16, 4), words * 512), (0, 1)), 0, 512))


@tt.jit
def multiply(
    x: cute.Tensor,
    w: cute.Tensor,
    sfx: cute.Tensor,
    sfw: cute.Tensor,
    y: cute.Tensor,
    op: tt.Constexpr[Any],
    chunk: tt.Int32,
    first: tt.Constexpr[int],
) -> None:
    long_kernel(x, w, sfx, sfw, y, cute.make_tiled_mma(op), chunk, first).launch(grid=1, block=THREADS)


def check(kind: str, columns: int, chunks: Sequence[int], first: int) -> None:
    """Products whose rows begin at a chunk of 16 bytes, and whose scales begin at the factor `first`."""
    op = OPS[kind](columns)
    vector = op.sf_vec_size
    (x, x_bytes), (w, w_bytes) = (operand(tt.Float4E2M1FN, rows, 2 * ROW_ELEMENTS, rows) for rows in (ROWS, columns))
    (sx, sx_bytes), (sw, sw_bytes) = (scales(op.sf_dtype, rows, FACTORS, rows) for rows in (ROWS, columns))
    sw_bytes = np.ascontiguousarray(sw_bytes.reshape(FACTORS // 4, -1, 512).transpose(1, 0, 2)).ravel()
    used = slice(first, first + DEPTH // vector)
    for chunk in chunks:
        y = np.zeros((ROWS, columns), np.float32)
        multiply(*(from_dlpack(each) for each in (x_bytes, w_bytes, sx_bytes, sw_bytes, y)), op, chunk, first)
        part = slice(chunk * CHUNK_ELEMENTS, chunk * CHUNK_ELEMENTS + DEPTH)
        left, right = (
            values[:, part] * np.repeat(factors[:, used], vector, axis=1) for values, factors in ((x, sx), (w, sw))
        )
        np.testing.assert_array_equal(y, left @ right.T)


@pytest.mark.parametrize(("kind", "columns", "first"), [("mxf4", 64, 3), ("nvf4", 192, 6)])
def test_rows_go_on_in_the_second_buffer_and_scales_in_the_next_word(kind: str, columns: int, first: int) -> None:
    check(kind, columns, range(8), first)


def test_ptx_computes_the_same() -> None:
    with numpy_gpu("sm_103a"):
        check("nvf4", 192, (6, 7), 6)
        check("mxf4", 64, (7,), 9)


def test_checkers_find_nothing() -> None:
    with override(debug="all"):
        check("nvf4 by powers of two", 64, (6,), 0)


def test_other_gpus_have_no_such_product() -> None:
    with numpy_gpu("sm_100a"), pytest.raises(ArchitectureError, match="sm_100a has no instruction"):
        check("nvf4", 64, (0,), 0)


def test_the_depth_is_that_of_the_operation() -> None:
    with pytest.raises(UnknownMatrixInstructionError, match="K of 96"):
        tcgen05.SM103MmaMXF4Op((ROWS, 64, 64), ONE, SMEM)
    with pytest.raises(UnknownMatrixInstructionError, match="K of 64"):
        tcgen05.MmaMXF4Op((ROWS, 64, DEPTH), ONE, SMEM)


@tt.kernel
def wrong_kernel(how: tt.Constexpr[str]) -> None:
    smem = cute.SmemAllocator()
    layout = buffers_of(ROWS)
    swizzle = None if how == "no swizzle" else layout.inner
    tile = smem.allocate_tensor(tt.Int8 if how == "type" else tt.Uint8, layout.outer, 1024, swizzle)
    part = tile[None, 0, 0, 0]
    if how == "fragment":
        mma = cute.make_tiled_mma(OPS["mxf4"](64))
        view = cute.make_tensor(part.iterator.sliced(SmemOperand(0, 3, 16, 1024)), cute.make_layout(1, stride=0))
        place = cute.make_ptr(tt.Float32, 0, cute.AddressSpace.tmem)
        sums = cute.make_tensor(place, mma.make_fragment_C(((ROWS, 64), 1, 1)).layout)[None, 0, 0]
        scales = cute.recast_ptr(place, dtype=tt.Float8E8M0FNU)
        mma.set(tcgen05.Field.SFA, scales)
        mma.set(tcgen05.Field.SFB, scales)
        cute.mma_atom_call(mma, sums, view, view, sums)
    following = None if how == "no second" else part.iterator
    tcgen05.make_umma_smem_desc(part.iterator, part.layout, "mn" if how == "major" else "k", next_src=following)


@tt.jit
def wrong(how: tt.Constexpr[str]) -> None:
    wrong_kernel(how).launch(grid=1, block=THREADS)


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ("major", MatrixOperandError, "rows along K that go on in a second buffer"),
        ("no second", MatrixOperandError, "rows along K that go on in a second buffer"),
        ("no swizzle", SharedOperandError, "no instruction of K = 96 reads this"),
        ("type", SharedOperandError, "Int8s by"),
        ("fragment", MatrixOperandError, "A of a product of K = 96 lies in two buffers"),
    ],
)
def test_other_operands_are_refused(how: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wrong(how)
