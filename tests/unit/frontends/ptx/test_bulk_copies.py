"""Bulk copies: bytes of global memory into shared memory, counted on an mbarrier, and sums of them back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.tracing.errors import CopyInstructionError, CopyMemoryError
from triptych.metastage.trace.errors import OperandTypeError

COUNT = 64
ADD = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [{$r0}], [{$r1}], {$r2};"


@tt.kernel
def there_and_back(x: cute.Tensor, total: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, COUNT, 16), cute.make_layout(COUNT))
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), tt.Float32)
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, COUNT * 4)
        if wrong == "barrier":
            cute.copy(atom, x, shared)
        elif wrong == "step":
            cute.copy(
                atom, cute.make_tensor(x.iterator, cute.make_layout(COUNT // 2, stride=2)), shared, mbar_ptr=barrier
            )
        else:
            cute.copy(atom, x, shared, mbar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    lane = cute.arch.lane_idx()
    shared[lane] = shared[lane] * 2
    cute.arch.sync_threads()
    with cute.arch.elect_one():
        given = [total.iterator.llvm_ptr, shared.iterator.toint(), tt.Int32(COUNT * 4)]
        if wrong == "registers":
            cute.arch.inline_ptx(ADD, "l,r,r", given, read_only_args=given)
        else:
            cute.arch.inline_ptx(ADD, read_only_args=given)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@tt.jit
def run(x: cute.Tensor, total: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    there_and_back(x, total, wrong).launch(grid=1, block=32)


def tensors() -> tuple[Any, Any, Any]:
    x, total = np.arange(COUNT, dtype=np.float32), np.full(COUNT, 100, np.float32)
    return x, total, [cute.runtime.from_dlpack(each, assumed_align=16) for each in (x, total)]


def test_bytes_come_and_sums_go() -> None:
    x, total, given = tensors()
    run(*given, "")
    assert (total == 100 + np.where(np.arange(COUNT) < 32, 2 * x, x)).all()


@pytest.mark.parametrize(
    ("wrong", "error"), [("barrier", CopyMemoryError), ("step", CopyInstructionError), ("registers", OperandTypeError)]
)
def test_what_no_instruction_does_is_refused(wrong: str, error: type[Exception]) -> None:
    *_, given = tensors()
    with pytest.raises(error):
        run(*given, wrong)
