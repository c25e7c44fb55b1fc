"""More faults written by hand: named barriers, atomics, releases, bytes of a word, memory that nobody wrote, bounds."""

from __future__ import annotations

from tests.checkers.pairs import Pair

NAMED = [
    Pair(
        "named barrier of two warps",
        """
        s = smem(tt.Float32, 128)
        s[t] = x[t] #<
        if t < 64:
            arch.barrier(barrier_id=1, number_of_threads=64) #!
            out[t] = s[63 - t] #>
        else:
            arch.barrier(barrier_id=2, number_of_threads=64)
            out[t] = s[191 - t]
        """,
        block=128,
    ),
    Pair(
        "named barrier: neighbours of another pair",
        """
        s = smem(tt.Float32, 128)
        s[t] = x[t] #<
        arch.barrier(barrier_id=1 + t // 64, number_of_threads=64)
        out[t] = s[t ^ 32] #>~ out[t] = s[t ^ 64]
        """,
        block=128,
    ),
    Pair(
        "producer arrives, consumer waits",
        """
        s = smem(tt.Float32, 32)
        if t < 32:
            s[t] = x[t] #<
            arch.barrier_arrive(barrier_id=1, number_of_threads=64)
        else:
            arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier_arrive(barrier_id=1, number_of_threads=64)
            out[t] = s[t - 32] #>
        """,
    ),
    Pair(
        "producer arrives before it writes",
        """
        s = smem(tt.Float32, 32)
        if t < 32:
            s[t] = x[t] #<~ arch.barrier_arrive(barrier_id=1, number_of_threads=64); s[t] = x[t]
            arch.barrier_arrive(barrier_id=1, number_of_threads=64) #!
        else:
            arch.barrier(barrier_id=1, number_of_threads=64)
            out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "ring of one stage without the way back",
        """
        s = smem(tt.Float32, 32)
        if t < 32:
            for i in range(4):
                arch.barrier(barrier_id=2, number_of_threads=64) #!
                s[t] = x[i * 32 + t] #>
                arch.barrier_arrive(barrier_id=1, number_of_threads=64)
                arch.barrier(barrier_id=3, number_of_threads=64)
        else:
            for i in range(4):
                arch.barrier_arrive(barrier_id=2, number_of_threads=64) #!
                arch.barrier(barrier_id=1, number_of_threads=64)
                arch.barrier_arrive(barrier_id=3, number_of_threads=64)
                out[t] = s[63 - t] #<
        """,
    ),
    Pair(
        "two stages, one too few",
        """
        s = smem(tt.Float32, 64)
        if t < 32:
            for i in range(4):
                if i >= 2: #~ if i >= 3:
                    arch.barrier(barrier_id=3 + i % 2, number_of_threads=64) #>
                s[(i % 2) * 32 + t] = x[i * 32 + t]
                arch.barrier_arrive(barrier_id=1 + i % 2, number_of_threads=64)
        else:
            for i in range(4):
                arch.barrier(barrier_id=1 + i % 2, number_of_threads=64)
                out[t] = out[t] + s[(i % 2) * 32 + 63 - t]
                if i < 2: #~ if i == 1:
                    arch.barrier_arrive(barrier_id=3 + i % 2, number_of_threads=64)
        """,
        code="TT0622",
    ),
    Pair(
        "named barrier for one of two phases",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        arch.barrier(barrier_id=1, number_of_threads=64)
        v = s[63 - t] #<
        arch.barrier(barrier_id=1, number_of_threads=64) #!
        s[t] = v #>
        out[t] = v
        """,
    ),
    Pair(
        "a barrier of fewer threads than write",
        """
        s = smem(tt.Float32, 96)
        s[t] = x[t] #<
        if t < 64:
            arch.barrier(barrier_id=1, number_of_threads=96) #~ arch.barrier(barrier_id=1, number_of_threads=64)
            out[t] = s[t + 32] #>
        else:
            arch.barrier_arrive(barrier_id=1, number_of_threads=96) #!
        """,
        block=96,
    ),
]
ATOMICS = [
    Pair(
        "atomic, then a plain read",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0
        arch.sync_threads()
        arch.atomic_add(s.iterator, tt.Int32(1)) #<
        arch.sync_threads() #!
        out[t] = tt.Float32(s[0]) #>
        """,
    ),
    Pair(
        "plain write, then atomics",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0 #<
        arch.sync_threads() #!
        arch.atomic_add(s.iterator, tt.Int32(1)) #>
        arch.sync_threads()
        out[t] = tt.Float32(s[0])
        """,
    ),
    Pair(
        "sum without an atomic",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0
        arch.sync_threads()
        if t == 0: #~ if t < 64:
            s[0] = s[0] + 1 #<>
        arch.sync_threads()
        out[t] = tt.Float32(s[0])
        """,
    ),
    Pair(
        "histogram read too early",
        """
        s = smem(tt.Int32, 8)
        if t < 8:
            s[t] = 0
        arch.sync_threads()
        arch.atomic_add(s.iterator + t % 8, tt.Int32(1)) #<
        arch.sync_threads() #!
        if t < 8:
            out[t] = tt.Float32(s[t]) #>
        """,
    ),
    Pair(
        "maximum cleared too late",
        """
        s = smem(tt.Int32, 1)
        if t == 63:
            s[0] = 0 #<
        arch.sync_threads() #!
        arch.atomic_max(s.iterator, tt.Int32(t)) #>
        arch.sync_threads()
        out[t] = tt.Float32(s[0])
        """,
    ),
    Pair(
        "a flag by release and acquire",
        """
        s = smem(tt.Float32, 1)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t == 0:
            s[0] = x[0] #<
            arch.atomic_exch(f.iterator, tt.Int32(1), sem="release") #~ arch.atomic_exch(f.iterator, tt.Int32(1))
        if t == 32:
            p = f.iterator
            while arch.atomic_add(p, tt.Int32(0), sem="acquire") == 0: #~ while arch.atomic_add(p, tt.Int32(0)) == 0:
                pass
            out[t] = s[0] #>
        """,
    ),
    Pair(
        "one lane releases what all have written",
        """
        s = smem(tt.Float32, 32)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t < 32:
            s[t] = x[t] #<
            arch.sync_warp() #!
            if t == 0:
                arch.atomic_exch(f.iterator, tt.Int32(1), sem="release")
        if t == 32:
            while arch.atomic_add(f.iterator, tt.Int32(0), sem="acquire") == 0:
                pass
            for i in range(32):
                out[i] = s[i] #>
        """,
    ),
    Pair(
        "fences and relaxed flags",
        """
        s = smem(tt.Float32, 1)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t == 0:
            s[0] = x[0] #<
            arch.fence_acq_rel_cta() #!
            arch.atomic_exch(f.iterator, tt.Int32(1))
        if t == 32:
            while arch.atomic_add(f.iterator, tt.Int32(0)) == 0:
                pass
            arch.fence_acq_rel_cta() #!
            out[t] = s[0] #>
        """,
    ),
]
BYTES = [
    Pair(
        f"neighbouring {dtype}, one too wide",
        f"""
        s = smem(tt.{dtype}, 64)
        s[t] = tt.{dtype}(t) #<>~ s[t // 2] = tt.{dtype}(t)
        arch.sync_threads()
        out[t] = tt.Float32(s[t // 2])
        """,
    )
    for dtype in ("Int8", "Int16", "Float16")
]
BYTES += [
    Pair(
        "a word over bytes of others",
        """
        s = smem(tt.Int8, 256)
        w = cute.make_tensor(cute.recast_ptr(s.iterator, dtype=tt.Int32), cute.make_layout(64))
        s[t] = tt.Int8(t) #<
        arch.sync_threads() #!
        if t < 16:
            w[t] = 7 #>
        arch.sync_threads()
        out[t] = tt.Float32(s[t])
        """,
    ),
    Pair(
        "two nibbles of a byte",
        """
        s = smem(tt.Uint8, 64)
        s[t] = tt.Uint8(0)
        arch.sync_threads()
        if t < 32: #~ if t < 64:
            s[t // 2 * 2] = s[t // 2 * 2] | tt.Uint8(1) #~ s[t // 2] = s[t // 2] | tt.Uint8(1 << (4 * (t % 2)))
        arch.sync_threads()
        out[t] = tt.Float32(s[t])
        """.replace("| tt.Uint8(1) #~", "#<>~").replace("s[t // 2 * 2] = s[t // 2 * 2]", "s[t] = s[t]"),
    ),
    Pair(
        "vectors of four beside vectors of four",
        """
        s = smem(tt.Float32, 260)
        v = cute.make_rmem_tensor(4, tt.Float32)
        for i in range(4):
            v[i] = x[t * 4 + i]
        d = cute.local_tile(s, (4,), (t,)) #~ d = cute.local_tile(s, (4,), (t // 2,))
        cute.autovec_copy(v, d) #<>
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "vector read of what others write",
        """
        s = smem(tt.Float32, 256)
        for i in range(4):
            s[i * 64 + t] = x[t] #<
        arch.sync_threads() #!
        v = cute.make_rmem_tensor(4, tt.Float32)
        cute.autovec_copy(cute.local_tile(s, (4,), (t,)), v) #>
        out[t] = v[0] + v[3]
        """,
    ),
]
UNSET = [
    Pair(
        f"unset: {name}",
        f"""
        s = smem(tt.Float32, 128)
        s[t] = x[t]
        arch.sync_threads()
        out[t] = s[t] #<>~ out[t] = {wrong}
        """,
        code="TT0631",
    )
    for name, wrong in (
        ("one behind the last", "s[t + 1]"),
        ("the other half", "s[t + 64]"),
        ("far behind", "s[127 - t]"),
        ("by a lane of one warp", "s[t + (t // 63)]"),
    )
]
UNSET += [
    Pair(
        "unset: an accumulator",
        """
        s = smem(tt.Float32, 64)
        s[t] = 0.0 #!
        s[t] = s[t] + x[t] #<>
        out[t] = s[t]
        """,
        code="TT0631",
    ),
    Pair(
        "unset: a counter",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0 #!
        arch.sync_threads()
        arch.atomic_add(s.iterator, tt.Int32(1)) #<>
        arch.sync_threads()
        out[t] = tt.Float32(s[0])
        """,
        code="TT0631",
    ),
    Pair(
        "unset: the edge of a stencil",
        """
        s = smem(tt.Float32, 66)
        s[t + 1] = x[t]
        if t == 0:
            s[0] = 0.0
            s[65] = 0.0 #!
        arch.sync_threads()
        out[t] = s[t + 2] #<>
        """,
        code="TT0631",
    ),
    Pair(
        "unset: a tail of a tile",
        """
        s = smem(tt.Float32, 64)
        if t < 50:
            s[t] = x[t]
        else:
            s[t] = 0.0 #!
        arch.sync_threads()
        out[t] = s[t] #<>
        """,
        code="TT0631",
    ),
    Pair(
        "unset: in the second block too",
        """
        s = smem(tt.Float32, 64)
        if b == 0: #<>~ if b == 0:
            s[t] = x[t]
        else:
            s[t] = x[t] + 1.0 #!
        arch.sync_threads()
        out[t] = s[t] #<>
        """.replace(" #<>~ if b == 0:", ""),
        grid=2,
        code="TT0631",
    ),
    Pair(
        "unset: bytes of a word",
        """
        s = smem(tt.Int8, 256)
        w = cute.make_tensor(cute.recast_ptr(s.iterator, dtype=tt.Int32), cute.make_layout(64))
        for i in range(4): #~ for i in range(3):
            s[t * 4 + i] = tt.Int8(i)
        out[t] = tt.Float32(w[t]) #<>
        """,
        code="TT0631",
    ),
]
BOUNDS = [
    Pair(
        f"outside: {name}",
        f"""
        s = smem(tt.Float32, 64)
        s[t] = 0.0
        {right} #>~ {wrong}
        out[t] = s[t]
        """,
        code="TT0610",
        words="bounds",
    )
    for name, right, wrong in (
        ("one behind the end", "s[t] = 1.0", "s[t + 1] = 1.0"),
        ("one before the start", "s[t] = 1.0", "s[t - 1] = 1.0"),
        ("a read behind the end", "out[t] = s[t]", "out[t] = s[t + 64]"),
        ("a whole tile further", "s[t] = 2.0", "s[t + 64] = 2.0"),
        ("behind the end of the output", "out[t] = 1.0", "out[t + 4033] = 1.0"),
        ("before the start of the output", "out[t] = 1.0", "out[t - 1] = 1.0"),
        ("a read before the start of the input", "out[t] = x[t]", "out[t] = x[t - 1]"),
        ("a read behind the end of the input", "out[t] = x[t]", "out[t] = x[t + 4095]"),
    )
]
BARRIERS = [
    Pair(
        "barrier in a divergent branch",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        if t < 64: #~ if t < 16:
            arch.sync_threads() #>
        out[t] = s[t]
        """,
        code="TT0621",
        words="races",
    ),
    Pair(
        "barrier in a loop of different lengths",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        n = 4 #~ n = t
        i = 0
        while i < n:
            arch.sync_threads() #>
            i = i + 1
        out[t] = s[t]
        """,
        code="TT0621",
        words="races",
    ),
    Pair(
        "two warps that wait for each other",
        """
        if t < 32:
            arch.barrier(barrier_id=1, number_of_threads=64) #>
            arch.barrier(barrier_id=2, number_of_threads=64)
        else:
            arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier(barrier_id=2, number_of_threads=64)
            arch.barrier(barrier_id=2, number_of_threads=64) #~ arch.barrier(barrier_id=1, number_of_threads=64)
        out[t] = x[t]
        """,
        code="TT0622",
        words="races",
    ),
    Pair(
        "a count that never comes",
        """
        arch.barrier(barrier_id=1, number_of_threads=64) #>~ arch.barrier(barrier_id=1, number_of_threads=96)
        out[t] = x[t]
        """,
        code="TT0622",
        words="races",
    ),
]
