"""Faults by the kinds that public suites of racy programs list, each written anew for a block of threads.

The kinds are those of Indigo (graph codes whose atomic, bound, guard or barrier is missing), DataRaceBench (loops that
carry a dependence, temporaries that should be private, sums without a reduction, work without a barrier behind it) and
of the list of the HiRace paper (which scopes and kinds of accesses meet).
"""

from __future__ import annotations

from tests.checkers.pairs import Pair

GRAPHS = [
    Pair(
        "graph: pull reads neighbours that are still written",
        """
        level = smem(tt.Float32, 64)
        level[t] = x[t]
        arch.sync_threads()
        best = arch.fmax(level[(t + 1) % 64], level[(t + 7) % 64]) #<
        arch.sync_threads() #!
        level[t] = best #>
        arch.sync_threads()
        out[t] = level[t]
        """,
    ),
    Pair(
        "graph: push without an atomic",
        """
        s = smem(tt.Int32, 16)
        if t < 16:
            s[t] = 0
        arch.sync_threads()
        if t < 16: #~ if t < 64:
            s[t % 16] = s[t % 16] + tt.Int32(t) #<>
        arch.sync_threads()
        out[t] = tt.Float32(s[t % 16])
        """,
    ),
    Pair(
        "graph: worklist whose size is read while it grows",
        """
        size = smem(tt.Int32, 1)
        items = smem(tt.Int32, 64)
        items[t] = -1
        if t == 0:
            size[0] = 0
        arch.sync_threads()
        if x[t] > 20.0:
            at = arch.atomic_add(size.iterator, tt.Int32(1)) #<
            items[at] = tt.Int32(t)
        arch.sync_threads() #!
        if t < size[0]: #>
            out[t] = tt.Float32(t)
        """,
    ),
    Pair(
        "graph: worklist items read while they are written",
        """
        size = smem(tt.Int32, 1)
        items = smem(tt.Int32, 64)
        if t == 0:
            size[0] = 0
        arch.sync_threads()
        at = arch.atomic_add(size.iterator, tt.Int32(1))
        items[at] = tt.Int32(t) #<
        arch.sync_threads() #!
        out[t] = tt.Float32(items[63 - t]) #>
        """,
    ),
    Pair(
        "graph: a flag that says goes on, cleared too early",
        """
        goes_on = smem(tt.Int32, 1)
        level = smem(tt.Int32, 64)
        level[t] = tt.Int32(t % 3)
        for i in range(3):
            if t == 40:
                goes_on[0] = 0 #>
            arch.sync_threads()
            if level[t] == i:
                arch.atomic_max(goes_on.iterator, tt.Int32(1))
            arch.sync_threads()
            out[t] = tt.Float32(goes_on[0]) #<
            arch.sync_threads() #!
        """,
    ),
    Pair(
        "graph: a neighbour behind the last vertex",
        """
        level = smem(tt.Float32, 64)
        level[t] = x[t]
        arch.sync_threads()
        out[t] = level[(t + 1) % 64] #>~ out[t] = level[t + 1]
        """,
        code="TT0610",
        words="bounds",
    ),
    Pair(
        "graph: union by paths with a plain read beside a compare and swap",
        """
        parent = smem(tt.Int32, 64)
        parent[t] = tt.Int32(t) #<
        arch.sync_threads() #!
        arch.atomic_min(parent.iterator + t // 2, tt.Int32(t // 2)) #>
        arch.sync_threads()
        out[t] = tt.Float32(parent[t])
        """,
    ),
]
LOOPS = [
    Pair(
        "loop: carried from one element to the next",
        """
        s = smem(tt.Float32, 65)
        s[t] = x[t]
        if t == 0:
            s[64] = 0.0
        arch.sync_threads()
        v = s[t + 1] #<
        arch.sync_threads() #!
        s[t] = v #>
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "loop: a temporary that all threads share",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] * 2.0 #<>~ s[0] = x[t] * 2.0
        out[t] = s[t] #~ out[t] = s[0]
        """,
    ),
    Pair(
        "loop: the last one writes, whoever it is",
        """
        s = smem(tt.Float32, 1)
        if t == 63: #~ if t > 61:
            s[0] = x[t] #<>
        arch.sync_threads()
        out[t] = s[0]
        """,
    ),
    Pair(
        "loop: a maximum by a plain comparison",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0
        arch.sync_threads()
        if t == 0: #~ if s[0] < t:
            s[0] = tt.Int32(t) #<>
        arch.sync_threads()
        out[t] = tt.Float32(s[0])
        """.replace("if t == 0: #~ if s[0] < t:", "if t == 5: #~ if t % 2 == 1:"),
    ),
    Pair(
        "loop: no barrier behind work of the first warp",
        """
        s = smem(tt.Float32, 32)
        if t < 32:
            s[t] = x[t] #<
        arch.sync_threads() #!
        if t >= 32:
            out[t] = s[t - 32] #>
        """,
    ),
    Pair(
        "loop: two in a row without a barrier between them",
        """
        s = smem(tt.Float32, 256)
        for i in range(4):
            s[i * 64 + t] = x[i * 64 + t] #<
        arch.sync_threads() #!
        total = tt.Float32(0.0)
        for i in range(4):
            total = total + s[t * 4 + i] #>
        out[t] = total
        """,
    ),
    Pair(
        "loop: indices from a table that are not all different",
        """
        s = smem(tt.Float32, 64)
        place = (t * 5) % 64 #~ place = (t * 4) % 64
        s[place] = x[t] #<>
        arch.sync_threads()
        out[t] = s[place]
        """,
    ),
    Pair(
        "loop: a step that laps itself",
        """
        s = smem(tt.Float32, 128)
        for i in range(t, 128, 64): #~ for i in range(t, 128, 32):
            s[i] = x[i] + tt.Float32(t) #<>
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "loop: rows of a matrix, eliminated too early",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        for k in range(7):
            arch.sync_threads() #!
            row = t // 8
            v = s[k * 8 + t % 8] #>
            if row > k:
                s[t] = s[t] - v #<
        arch.sync_threads()
        out[t] = s[t]
        """,
    ),
    Pair(
        "loop: odd and even in turn",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t]
        arch.sync_threads()
        for i in range(4):
            left = 2 * t + i % 2
            if left + 1 < 64:
                low = arch.fmin(s[left], s[left + 1]) #>
                s[left] = low #<
            arch.sync_threads() #!
        out[t] = s[t]
        """,
    ),
    Pair(
        "loop: a bound of the loop that others change",
        """
        n = smem(tt.Int32, 1)
        if t == 0:
            n[0] = 4
        arch.sync_threads()
        last = n[0] #<
        arch.sync_threads() #!
        if t == 0:
            n[0] = 8 #>
        total = tt.Float32(0.0)
        for i in range(last):
            total = total + x[i]
        out[t] = total
        """,
    ),
]
SCOPES = [
    Pair(
        "scope: atomic exchange against a plain read of the same warp",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0
        arch.sync_warp()
        if t == 1:
            arch.atomic_exch(s.iterator, tt.Int32(7)) #<
        arch.sync_warp() #!
        out[t] = tt.Float32(s[0]) #>
        """,
        block=32,
    ),
    Pair(
        "scope: compare and swap against a plain write",
        """
        s = smem(tt.Int32, 1)
        if t == 0:
            s[0] = 0
        arch.sync_threads()
        arch.atomic_cas(s.iterator, cmp=tt.Int32(0), val=tt.Int32(1)) #<
        arch.sync_threads() #!
        if t == 33:
            s[0] = 5 #>
        """,
    ),
    Pair(
        "scope: lanes of one warp, the last warp of a block that is not whole",
        """
        s = smem(tt.Float32, 80)
        s[t] = x[t] #<
        arch.sync_threads() #!
        if t >= 64:
            out[t] = s[143 - t] #>
        """,
        block=80,
    ),
    Pair(
        "scope: only between warps 0 and 3",
        """
        s = smem(tt.Float32, 128)
        if t < 32:
            s[t] = x[t] #<
        arch.sync_threads() #!
        if t >= 96:
            out[t] = s[t - 96] #>
        """,
        block=128,
    ),
    Pair(
        "scope: only the last block of a grid",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        if b != 3: #~ if b < 3:
            arch.sync_threads()
        if b == 3:
            arch.sync_threads() #!
        out[b * 64 + t] = s[63 - t] #>
        """,
        grid=4,
    ),
    Pair(
        "scope: a release that one thread too few has seen",
        """
        s = smem(tt.Float32, 1)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t == 0:
            s[0] = x[0] #<
            arch.atomic_exch(f.iterator, tt.Int32(1), sem="release")
        if t >= 32:
            if t == 40:
                while arch.atomic_add(f.iterator, tt.Int32(0), sem="acquire") == 0:
                    pass
            arch.sync_warp() #!
            out[t] = s[0] #>
        """,
    ),
    Pair(
        "scope: what comes after the release",
        """
        s = smem(tt.Float32, 1)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t == 0:
            s[0] = x[0] #<~ arch.atomic_exch(f.iterator, tt.Int32(1), sem="release"); s[0] = x[0]
            arch.atomic_exch(f.iterator, tt.Int32(1), sem="release") #!
        if t == 32:
            while arch.atomic_add(f.iterator, tt.Int32(0), sem="acquire") == 0:
                pass
            out[t] = s[0] #>
        """,
    ),
]

FENCES = (
    Pair(
        "a flag: only who reads has a fence",
        """
        s = smem(tt.Float32, 32)
        flag = smem(tt.Int32, 1)
        if t == 0:
            flag[0] = 0
        arch.sync_threads()
        if t < 32:
            s[t] = x[t] #<
            arch.sync_warp()
            arch.fence_acq_rel_cta() #!
            if t == 0:
                arch.atomic_exch(flag.iterator, tt.Int32(1))
        else:
            while arch.atomic_add(flag.iterator, tt.Int32(0)) != 1:
                arch.nanosleep(10)
            arch.fence_acq_rel_cta()
            out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "a swizzled tensor: one row too many",
        """
        memory = cute.recast_ptr(arch.alloc_smem(tt.Float16, 1024, 128), cute.make_swizzle(3, 4, 3))
        s = cute.make_tensor(memory, cute.make_layout(1024))
        if t < 16: #~ if t < 17:
            s[t * 64] = tt.Float16(1.0) #<>
        """,
        code="TT0610",
        words="bounds",
    ),
)
