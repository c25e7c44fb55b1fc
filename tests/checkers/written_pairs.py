"""Faults written by hand: races between the warps of a block, and between the lanes of a warp."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_SPREAD = """
s = smem(tt.{dtype}, {count})
s[t] = tt.{dtype}(x[t]) #<
arch.sync_threads() #!
out[t] = tt.Float32(s[{index}]) #>
"""
_WIDTHS = [
    Pair(f"write then read, {dtype}", _SPREAD.format(dtype=dtype, count=64, index="63 - t"))
    for dtype in ("Float32", "Float16", "BFloat16", "Int8", "Int16", "Int32", "Int64", "Float64")
]
_SHAPES = [
    Pair(f"write then read, block {n}", _SPREAD.format(dtype="Float32", count=1024, index=f"{n} - 1 - t"), block=n)
    for n in (33, 96, 128, 256, 512, 1000, 1024)
]
_PATTERNS = [
    Pair(f"write then read, pattern {index}", _SPREAD.format(dtype="Float32", count=256, index=index), block=128)
    for index in ("(t + 32) % 128", "t ^ 64", "(t * 3) % 128", "127", "t // 2 + 40", "(t + 1) % 128")
]
_BASIC = [
    Pair(
        "read then write",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        arch.sync_threads()
        v = s[63 - t] #<
        arch.sync_threads() #!
        s[t] = v + 1.0 #>
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "write then write",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        arch.sync_threads() #!
        s[63 - t] = x[t] * 2.0 #>
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "several threads write one place",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<> #~ s[t // 2] = x[t]
        arch.sync_threads()
        out[t] = s[t // 2]
        """.replace("#<> #~", "#<>~"),
    ),
    Pair(
        "loop of tiles, end of an iteration",
        """
        s = smem(tt.Float32, 64)
        total = tt.Float32(0.0)
        for i in range(4):
            s[t] = x[i * 64 + t] #>
            arch.sync_threads()
            total = total + s[63 - t] #<
            arch.sync_threads() #!
        out[t] = total
        """,
    ),
    Pair(
        "loop of tiles, middle of an iteration",
        """
        s = smem(tt.Float32, 64)
        total = tt.Float32(0.0)
        for i in range(4):
            s[t] = x[i * 64 + t] #<
            arch.sync_threads() #!
            total = total + s[63 - t] #>
            arch.sync_threads()
        out[t] = total
        """,
    ),
    Pair(
        "tree reduction",
        """
        s = smem(tt.Float32, 128)
        s[t] = x[t]
        arch.sync_threads()
        n = 64
        while n > 0:
            if t < n:
                s[t] = s[t] + s[t + n] #<>
            arch.sync_threads() #!
            n = n // 2
        out[t] = s[0]
        """,
        block=128,
    ),
    Pair(
        "one thread sums for all",
        """
        s = smem(tt.Float32, 65)
        s[t] = x[t] #<
        arch.sync_threads() #!
        if t == 0:
            total = tt.Float32(0.0)
            for i in range(64):
                total = total + s[i] #>
            s[64] = total
        arch.sync_threads()
        out[t] = s[64]
        """,
    ),
    Pair(
        "what one thread writes all read",
        """
        s = smem(tt.Float32, 1)
        if t == 0:
            s[0] = x[0] #<
        arch.sync_threads() #!
        out[t] = s[0] #>
        """,
    ),
    Pair(
        "in blocks of a grid",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[b * 64 + t] #<
        arch.sync_threads() #!
        out[b * 64 + t] = s[63 - t] #>
        """,
        grid=7,
    ),
    Pair(
        "scan by doubling with two buffers",
        """
        s = smem(tt.Float32, 128)
        s[t] = x[t]
        arch.sync_threads()
        for i in range(5):
            step = 1 << i
            here = (i % 2) * 64
            there = 64 - here
            v = s[here + t]
            if t >= step:
                v = v + s[here + t - step] #>
            s[there + t] = v #<
            arch.sync_threads() #!
        out[t] = s[64 + t]
        """,
    ),
    Pair(
        "transpose of a tile",
        """
        s = smem(tt.Float32, 256)
        r = t // 16
        c = t % 16
        s[r * 16 + c] = x[t] #<
        arch.sync_threads() #!
        out[t] = s[c * 16 + r] #>
        """,
        block=256,
    ),
    Pair(
        "barrier in one of two loops",
        """
        s = smem(tt.Float32, 64)
        for i in range(1):
            s[t] = x[t] + tt.Float32(i)
            arch.sync_threads()
            out[t] = s[63 - t] #<
            arch.sync_threads() #~ arch.sync_warp()
        for i in range(2):
            s[t // 2] = x[t // 2] #>
            arch.sync_threads()
            out[t] = s[t]
            arch.sync_threads()
        """,
    ),
    Pair(
        "ping and pong, reused one tile too early",
        """
        s = smem(tt.Float32, 128)
        total = tt.Float32(0.0)
        for i in range(6):
            buffer = (i % 2) * 64
            s[buffer + t] = x[i * 64 + t] #>
            arch.sync_threads()
            total = total + s[buffer + 63 - t] #<
            arch.sync_threads() #~ pass
        out[t] = total
        """.replace("(i % 2) * 64", "(i % 2) * 0"),
    ),
    Pair(
        "halo of a stencil",
        """
        s = smem(tt.Float32, 66)
        s[t + 1] = x[t] #<
        if t == 0:
            s[0] = 0.0
            s[65] = 0.0
        arch.sync_threads() #!
        out[t] = s[t + 2] #>
        """,
    ),
    Pair(
        "in a function that is called",
        """
        def turned(s, t):
            return s[63 - t] #>
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        arch.sync_threads() #!
        out[t] = turned(s, t)
        """,
    ),
    Pair(
        "branch of the block",
        """
        s = smem(tt.Float32, 64)
        if x[0] > 0.0:
            s[t] = x[t] #<
            arch.sync_threads() #!
            out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "two dimensional block",
        """
        _, ty, _ = arch.thread_idx()
        s = smem(tt.Float32, 64)
        s[ty * 8 + t] = x[ty * 8 + t] #<
        arch.sync_threads() #!
        out[ty * 8 + t] = s[t * 8 + ty] #>
        """,
        block=(8, 8),
    ),
]
_WARPS = [
    Pair(
        "in a warp: write then read",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t] #<
        arch.sync_warp() #!
        out[t] = s[31 - t] #>
        """,
        block=32,
    ),
    Pair(
        "in a warp: read then write",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t]
        arch.sync_warp()
        v = s[31 - t] #<
        arch.sync_warp() #!
        s[t] = v #>
        out[t] = v
        """,
        block=32,
    ),
    Pair(
        "in a warp: believing in lockstep",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        arch.sync_threads()
        if t < 32:
            s[t] = s[t] + s[t + 32]
            arch.sync_warp()
            v = s[t] + s[t ^ 16] #<
            arch.sync_warp() #!
            s[t] = v #>
            arch.sync_warp()
        arch.sync_threads()
        out[t] = s[0]
        """,
    ),
    Pair(
        "in a warp: a shuffle orders nothing",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t] #<
        arch.sync_warp() #~ arch.shuffle_sync(x[t], 0)
        out[t] = s[31 - t] #>
        """,
        block=32,
    ),
    Pair(
        "in a warp: a vote orders nothing",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t] #<
        arch.sync_warp() #~ arch.vote_any_sync(x[t] > 0.0)
        out[t] = s[31 - t] #>
        """,
        block=32,
    ),
    Pair(
        "in a warp: a mask of half of it",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t] #<
        arch.sync_warp() #~ arch.sync_warp(0xFFFF)
        out[t] = s[31 - t] #>
        """,
        block=32,
    ),
    Pair(
        "in a warp: masks of both halves, each for itself",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t] #<
        if t < 16:
            arch.sync_warp(0xFFFF)
            out[t] = s[15 - t] #~ out[t] = s[31 - t] #>
        else:
            arch.sync_warp(0xFFFF0000)
            out[t] = s[47 - t]
        """.replace("#~ out[t] = s[31 - t] #>", "#>~ out[t] = s[31 - t]"),
        block=32,
    ),
    Pair(
        "sync_warp does not order warps",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        arch.sync_threads() #~ arch.sync_warp()
        out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "in a warp: many threads to one place",
        """
        s = smem(tt.Float32, 32)
        if t == 0: #~ if t < 32:
            s[0] = x[t] #<>
        arch.sync_warp()
        out[t] = s[0]
        """,
        block=32,
    ),
    Pair(
        "in a warp: broadcast from a lane",
        """
        s = smem(tt.Float32, 2)
        if t % 32 == 5:
            s[t // 32] = x[t] #<
        arch.sync_warp() #!
        out[t] = s[t // 32] #>
        """,
    ),
    Pair(
        "in a warp: prefix in place",
        """
        s = smem(tt.Float32, 32)
        s[t] = x[t]
        arch.sync_warp()
        for i in range(5):
            step = 1 << i
            v = s[t]
            if t >= step:
                v = v + s[t - step] #<
            arch.sync_warp() #!
            s[t] = v #>
            arch.sync_warp()
        out[t] = s[t]
        """,
        block=32,
    ),
]
BETWEEN_WARPS = (*_WIDTHS, *_SHAPES, *_PATTERNS, *_BASIC)
IN_A_WARP = tuple(_WARPS)
