"""Parts of swizzled tensors over addresses that a program computes, as it does to have strides known while tracing."""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import CopyUniversalOp

ROWS, COLUMNS = 8, 64


@tt.kernel
def by_parts(out: cute.Tensor) -> None:
    """Rows of 128 bytes: the same elements by a swizzled pointer, and by a layout over an address that is swizzled."""
    memory = cute.arch.alloc_smem(tt.Float16, ROWS * COLUMNS, 1024)
    rows = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    by_pointer = cute.make_tensor(cute.recast_ptr(memory, cute.make_swizzle(3, 4, 3)), rows)
    by_layout = cute.make_tensor(memory, cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows))
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float16, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    thread = copy.get_slice(cute.arch.lane_idx())
    begin = thread.partition_D(by_pointer).iterator
    swizzle = begin.type.swizzle_type
    lower = begin.toint() & (((1 << swizzle.num_bits) - 1) << (swizzle.num_base + swizzle.num_shift))
    address = begin.toint() ^ (lower >> swizzle.num_shift)
    pointer = cute.make_ptr(tt.Float16, address, cute.AddressSpace.smem, assumed_align=16)
    target = cute.make_tensor(pointer, thread.partition_D(by_layout).layout)
    held = cute.make_rmem_tensor_like(target)
    cute.copy(copy, thread.partition_S(out), held)
    cute.copy(copy, held, target)
    cute.arch.sync_threads()
    for row in range(ROWS):
        for i in range(2):
            column = cute.arch.lane_idx() + 32 * i
            out[row, column] = by_pointer[row, column] + tt.Float16(1)


@tt.jit
def run(out: cute.Tensor) -> None:
    by_parts(out).launch(grid=1, block=32)


def test_a_part_over_its_own_swizzled_address() -> None:
    out = np.arange(ROWS * COLUMNS, dtype=np.float16).reshape(ROWS, COLUMNS)
    run(cute.runtime.from_dlpack(out, assumed_align=16))
    assert (out == 1 + np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)).all()
