"""Kernels as data: one compiled kernel whose steps come from a table, so that thousands of programs cost one compile.

A block runs one program: a row of steps, each an access of shared memory by all threads, at the cell of the thread
whose number differs in the bits of `a`, or something that orders threads. `oracle.py` says which programs race.
"""

from __future__ import annotations

from enum import IntEnum

import triptych as tt
from triptych import cute

THREADS = 128
STEPS = 24
FLAGS = 8
arch = cute.arch


class Op(IntEnum):
    """A step; `a` and `k` are its numbers."""

    NOTHING = 0
    WRITE = 1
    READ = 2
    ADD = 3
    WRITE_BYTE = 4
    READ_BYTE = 5
    WRITE_WORD = 6
    READ_WORD = 7
    BLOCK = 8
    WARP = 9
    HALVES = 10
    PAIRS = 11
    """A named barrier for each two warps."""
    NAMED = 12
    ARRIVE = 13
    """Warp `a` arrives at barrier 8 + k and goes on; the others wait there."""
    HAND_OVER = 14
    """Thread `a` releases flag k, and the thread 64 further acquires it."""


@tt.kernel
def interpreter(program: cute.Tensor, out: cute.Tensor) -> None:
    """Run the program of the block's number."""
    t, _, _ = arch.thread_idx()
    b, _, _ = arch.block_idx()
    cells = cute.make_tensor(arch.alloc_smem(tt.Int32, THREADS, 16), cute.make_layout(THREADS))
    octets = cute.make_tensor(arch.alloc_smem(tt.Int8, 4 * THREADS, 16), cute.make_layout(4 * THREADS))
    words = cute.make_tensor(cute.recast_ptr(octets.iterator, dtype=tt.Int32), cute.make_layout(THREADS))
    flags = cute.make_tensor(arch.alloc_smem(tt.Int32, FLAGS, 16), cute.make_layout(FLAGS))
    cells[t] = 0
    words[t] = 0
    if t < FLAGS:
        flags[t] = 0
    arch.sync_threads()
    v = tt.Int32(t)
    for step in range(STEPS):
        op, a, k = program[b, step, 0], program[b, step, 1], program[b, step, 2]
        at = t ^ a
        if op == 1:
            cells[at] = v
        elif op == 2:
            v = v + cells[at]
        elif op == 3:
            arch.atomic_add(cells.iterator + at, tt.Int32(1))
        elif op == 4:
            octets[at * 4 + k] = tt.Int8(v)
        elif op == 5:
            v = v + tt.Int32(octets[at * 4 + k])
        elif op == 6:
            words[at] = v
        elif op == 7:
            v = v + words[at]
        elif op == 8:
            arch.sync_threads()
        elif op == 9:
            arch.sync_warp()
        elif op == 10:
            if t % 32 < 16:
                arch.sync_warp(0xFFFF)
            else:
                arch.sync_warp(0xFFFF0000)
        elif op == 11:
            arch.barrier(barrier_id=1 + t // 64, number_of_threads=64)
        elif op == 12:
            arch.barrier(barrier_id=7, number_of_threads=THREADS)
        elif op == 13:
            if t // 32 == a:
                arch.barrier_arrive(barrier_id=8 + k, number_of_threads=THREADS)
            else:
                arch.barrier(barrier_id=8 + k, number_of_threads=THREADS)
        elif op == 14:
            if t == a:
                arch.atomic_exch(flags.iterator + k, tt.Int32(1), sem="release")
            if t == (a ^ 64):
                while arch.atomic_add(flags.iterator + k, tt.Int32(0), sem="acquire") == 0:
                    pass
    out[b, t] = v


@tt.jit
def interpret(program: cute.Tensor, out: cute.Tensor, blocks: tt.Int32) -> None:
    """Run as many programs as there are blocks."""
    interpreter(program, out).launch(grid=blocks, block=THREADS)
