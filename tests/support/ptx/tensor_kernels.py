"""Kernels with tensor memory, written by hand: shared memory as a test fills it, products, and loads of the sums.

`%r2` is the address of the columns that warp 0 has allocated, `%r3` that address in the lanes of the thread's warp,
`%d1` where in the first argument the thread's words are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.ptx.handwritten import Handwritten, first, wait
from triptych.ptxsim.clusters import Order

SHARED = 0x400
"""The address where shared memory begins."""
ADDRESS_AT, A_AT, B_AT, SCALES_AT = 64, 1024, 1024 + 16384, 1024 + 32768
"""Places in shared memory: of the address of the columns, and of factors. The first bytes are for mbarriers."""
BYTES = 1024 + 49152
FENCE_AFTER = "tcgen05.fence::after_thread_sync;"
NO_SWIZZLE, SWIZZLE_128_OF_32, SWIZZLE_128 = 0, 1, 2


def warp(body: str, number: int = 0) -> str:
    """By one warp."""
    asked = f".reg .pred other; .reg .b32 w; shr.u32 w, %r0, 5; setp.ne.u32 other, w, {number};"
    return f"{{ {asked} @other bra past; {body} past: }}"


def leader(body: str) -> str:
    """By thread 0 of the block of rank 0."""
    asked = ".reg .pred odd; .reg .b32 rank; mov.u32 rank, %cluster_ctarank; setp.ne.u32 odd, rank, 0;"
    return f"{{ {asked} @odd bra later; {first(body)} later: }}"


def filled() -> str:
    """Shared memory from 1024 on, out of the second argument: a part for each block of the cluster."""
    return f"""
    ld.param.u64 %d10, [p1]; mov.u32 %r10, %cluster_ctarank; mul.wide.u32 %d11, %r10, {BYTES - 1024};
    add.s64 %d10, %d10, %d11; mul.wide.u32 %d11, %r0, 4; add.s64 %d10, %d10, %d11;
    shl.b32 %r11, %r0, 2; add.u32 %r11, %r11, %r1; mov.u32 %r12, %r0;
fill:
    ld.global.u32 %r13, [%d10]; st.shared.u32 [%r11+1024], %r13;
    mov.u32 %r14, %ntid.x; add.u32 %r12, %r12, %r14; shl.b32 %r14, %r14, 2; add.u32 %r11, %r11, %r14;
    cvt.u64.u32 %d11, %r14; add.s64 %d10, %d10, %d11;
    setp.lt.u32 %p1, %r12, {(BYTES - 1024) // 4}; @%p1 bra fill;
    fence.proxy.async.shared::cta;
    """


def allocated(columns: int, ctas: int = 1) -> str:
    return warp(f"tcgen05.alloc.cta_group::{ctas}.sync.aligned.shared::cta.b32 [%r1+{ADDRESS_AT}], {columns};")


def met(ctas: int = 1) -> str:
    return "bar.sync 0;" if ctas == 1 else "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def freed(columns: int, ctas: int = 1) -> str:
    return warp(f"tcgen05.dealloc.cta_group::{ctas}.sync.aligned.b32 %r2, {columns};")


def begun(columns: int, ctas: int = 1, counts: tuple[int, ...] = (1, 1)) -> str:
    """Mbarriers at 0, 8, ..., columns, and the addresses of this module."""
    barriers = "".join(f"mbarrier.init.shared::cta.b64 [%r1+{8 * i}], {count};" for i, count in enumerate(counts))
    return f"""{first(barriers)} {allocated(columns, ctas)} {met(ctas)} {FENCE_AFTER}
    ld.shared.u32 %r2, [%r1+{ADDRESS_AT}];
    shr.u32 %r4, %r0, 5; and.b32 %r4, %r4, 3; shl.b32 %r4, %r4, 21; add.u32 %r3, %r2, %r4;
    ld.param.u64 %d0, [p0]; mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, %ntid.x; mad.lo.u32 %r4, %r4, %r5, %r0;
    """


def registers(count: int, start: int = 100) -> str:
    return ", ".join(f"%r{start + i}" for i in range(count))


def stored(count: int, start: int = 100) -> str:
    """Registers of each thread, in a row of the first argument."""
    text = f"mul.wide.u32 %d1, %r4, {4 * count}; add.s64 %d1, %d0, %d1;"
    return text + "".join(f"st.global.u32 [%d1+{4 * i}], %r{start + i};" for i in range(count))


def commit(ctas: int = 1, barrier: int = 0) -> str:
    if ctas == 1:
        return f"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+{barrier}];"
    words = "mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
    return f"mov.u16 %h1, 3; tcgen05.commit.cta_group::2.{words} [%r1+{barrier}], %h1;"


def matrix(at: int, leading: int, stride: int, swizzle: int = NO_SWIZZLE) -> int:
    """The descriptor of a matrix at a place in shared memory."""
    return (SHARED + at) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | swizzle << 61


def chunks(rows: Any) -> Any:
    """Rows of bytes as eight rows of 16 bytes below one another, then the next eight, then the next 16 bytes."""
    height, width = rows.shape
    return rows.reshape(height // 8, 8, width // 16, 16).transpose(2, 0, 1, 3).reshape(-1)


def image(*parts: tuple[int, Any]) -> Any:
    """The bytes of shared memory from 1024 on."""
    data = np.zeros(BYTES - 1024, np.uint8)
    for at, values in parts:
        data[at - 1024 : at - 1024 + values.nbytes] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return data


def run(body: str, result: Any, *images: Any, order: Order = "late", blocks: int = 0) -> Any:
    """What the kernel stores, as many words as `result` has; a cluster of a block for each image of shared memory."""
    gpu = Handwritten(order)
    out, data = gpu.array(result), gpu.array(np.concatenate(images) if images else np.zeros(4, np.uint8))
    ctas = max(1, len(images))
    text = f"{filled() if images else ''} {body}"
    gpu.run(text, out, data, threads=128, grid=(blocks or ctas, 1, 1), cluster=(ctas, 1, 1), shared=BYTES)
    return gpu.values(out, result)


def product(mma: str, columns: int, ctas: int = 1, allocation: int = 64) -> str:
    """A kernel of one product into the first columns, loaded by rows."""
    load = (
        f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {{{registers(columns)}}}, [%r3]; tcgen05.wait::ld.sync.aligned;"
    )
    return f"""{begun(allocation, ctas)} {leader(mma + commit(ctas))} {wait()} {FENCE_AFTER}
    {load} {stored(columns)} {met(ctas)} {freed(allocation, ctas)}"""
