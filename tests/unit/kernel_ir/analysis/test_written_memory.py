"""`written_memory`: which tensors a program writes, as its compiled signature says it."""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync


@tt.kernel
def copied(source: cute.Tensor, target: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    staged = cute.arch.alloc_smem(tt.Float32, 128, alignment=16)
    shared = cute.make_tensor(staged, cute.make_layout((32, 4), stride=(4, 1)))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=128)
    cute.copy(atom, source[t, None], shared[t, None])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    target[t, 0] = shared[t, 0]


@tt.jit
def launch(source: cute.Tensor, target: cute.Tensor) -> None:
    copied(source, target).launch(grid=1, block=32)


@tt.jit
def swapped(a: cute.Tensor, b: cute.Tensor) -> None:
    a[0, 0], b[0, 0] = b[0, 0], a[0, 0]


@tt.kernel
def shifted(source: cute.Tensor, target: cute.Tensor) -> None:
    """Tensors behind addresses that are computed as integers of 64 bits."""
    t, _, _ = cute.arch.thread_idx()
    x, y = (
        cute.make_tensor(
            cute.make_ptr(tt.Float32, tensor.iterator.toint() + tt.Int64(t) * 16, cute.AddressSpace.gmem), (4,)
        )
        for tensor in (source, target)
    )
    if x.iterator.toint() != 0:
        y[0] = x[0]


@tt.jit
def launch_shifted(source: cute.Tensor, target: cute.Tensor) -> None:
    shifted(source, target).launch(grid=1, block=32)


def written(function: tt.JitFunction) -> list[bool]:
    """Of each tensor argument."""
    arrays = [cute.runtime.from_dlpack(np.zeros((32, 4), np.float32), assumed_align=16) for _ in range(2)]
    traced = tt.compile(function, *arrays)._loaded.compiled.lowered.traced
    return [leaf.memory.written for leaf in traced.parameters if leaf.memory is not None]


def test_an_asynchronous_copy_only_reads_its_source() -> None:
    assert written(launch) == [False, True]


def test_stores_are_found_in_the_host_function_too() -> None:
    assert written(swapped) == [True, True]


def test_addresses_are_followed_as_integers() -> None:
    assert written(launch_shifted) == [False, True]
