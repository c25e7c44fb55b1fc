"""Faults at edges: tiles that are read or written one element too far, vectors off their alignment, barriers that not
all reach or that count others."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_TILE = """
s = smem(tt.Float32, 100)
r = t // 8
c = t % 8
for i in range(t, 100, 64):
    s[i] = 0.0
arch.sync_threads()
s[(r + 1) * 10 + c + 1] = x[t]
arch.sync_threads()
{right} #>~ {wrong}
"""
_SIDES = (
    ("first", "s[t]", "s[t - 1]"),
    ("last", "s[t + 36]", "s[t + 37]"),
    ("row above the first", "s[r * 10 + c]", "s[(r - 1) * 10 + c]"),
    ("row below the last", "s[(r + 2) * 10 + c]", "s[(r + 3) * 10 + c]"),
)
TILES = [
    Pair(
        f"tile: {verb} of the {name}",
        _TILE.format(right=f"out[t] = {right}", wrong=f"out[t] = {wrong}")
        if verb == "read"
        else _TILE.format(right=f"{right} = 1.0", wrong=f"{wrong} = 1.0"),
        code="TT0610",
        words="bounds",
    )
    for name, right, wrong in _SIDES
    for verb in ("read", "write")
]
_HALO = """
s = smem(tt.Float32, 100)
r = t // 8
c = t % 8
s[(r + 1) * 10 + c + 1] = x[t]
if {side}:
    s[{place}] = 0.0 #!
arch.sync_threads()
out[t] = s[{read}] #<>
"""
HALOS = [
    Pair(f"tile: unset halo {name}", _HALO.format(side=side, place=place, read=place), code="TT0631")
    for name, side, place in (
        ("above", "r == 0", "r * 10 + c + 1"),
        ("below", "r == 7", "(r + 2) * 10 + c + 1"),
        ("to the left", "c == 0", "(r + 1) * 10 + c"),
        ("to the right", "c == 7", "(r + 1) * 10 + c + 2"),
    )
]
_VECTOR = """
s = smem(tt.Float32, 512)
for i in range(8):
    s[i * 64 + t] = x[t]
arch.sync_threads()
p = ({source} + {right}).align(16) #~ p = ({source} + {wrong}).align(16)
from_there = cute.make_tensor(p, cute.make_layout(4))
v = cute.make_rmem_tensor(4, tt.Float32)
{copy} #>
out[t] = v[0]
"""
VECTORS = [
    Pair(
        f"vector: {name}",
        _VECTOR.format(
            source=source,
            right=right,
            wrong=wrong,
            copy="cute.autovec_copy(from_there, v)" if reads else "v.fill(0.0); cute.autovec_copy(v, from_there)",
        ),
        code="TT0611",
        words="bounds",
    )
    for name, source, right, wrong, reads in (
        ("shared memory, one element off", "s.iterator", "t * 4", "t * 4 + 1", True),
        ("shared memory, half of it off", "s.iterator", "t * 4", "t * 4 + 2", True),
        ("global memory, a row of odd length", "x.iterator", "t * 4", "t * 5", True),
        ("a store, one element off", "s.iterator", "t * 4", "t * 4 + 1", False),
    )
]
MEETINGS = [
    Pair(
        "meeting: a named barrier that counts one warp of two",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier(barrier_id=1, number_of_threads=32)
        out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "meeting: a named barrier that counts more than arrive",
        """
        if t < 64:
            arch.barrier(barrier_id=1, number_of_threads=64) #>~ arch.barrier(barrier_id=1, number_of_threads=128)
        out[t] = x[t]
        """,
        block=128,
        code="TT0622",
        words="races",
    ),
    Pair(
        "meeting: the other side uses another number",
        """
        if t < 32:
            n = 1 #~ n = 2
            arch.barrier_arrive(barrier_id=n, number_of_threads=64)
        else:
            arch.barrier(barrier_id=1, number_of_threads=64) #>
        out[t] = x[t]
        """,
        code="TT0622",
        words="races",
    ),
    Pair(
        "meeting: one lane arrives for its warp",
        """
        s = smem(tt.Float32, 32)
        f = smem(tt.Int32, 1)
        if t == 0:
            f[0] = 0
        arch.sync_threads()
        if t < 32:
            s[31 - t] = x[t] #<
            arch.sync_warp() #!
            if t == 31:
                arch.fence_acq_rel_cta()
                arch.atomic_add(f.iterator, tt.Int32(1))
        else:
            if t == 63:
                while arch.atomic_add(f.iterator, tt.Int32(0)) == 0:
                    pass
                arch.fence_acq_rel_cta()
            arch.sync_warp()
            out[t] = s[t - 32] #>
        """,
    ),
    Pair(
        "meeting: a loop that is longer for one warp",
        """
        n = 4 #~ n = 4 + t // 32
        i = 0
        while i < n:
            arch.barrier(barrier_id=1, number_of_threads=64) #>
            i = i + 1
        out[t] = x[t]
        """,
        code="TT0622",
        words="races",
    ),
    Pair(
        "meeting: a loop that is longer for one thread",
        """
        n = 4 #~ n = 4 + t // 63
        i = 0
        while i < n:
            arch.sync_threads() #>
            i = i + 1
        out[t] = x[t]
        """,
        code="TT0621",
        words="races",
    ),
    Pair(
        "meeting: a barrier in both branches, not the same one",
        """
        s = smem(tt.Float32, 64)
        s[t] = x[t] #<
        if t < 32:
            arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier(barrier_id=1, number_of_threads=32)
        else:
            arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier(barrier_id=2, number_of_threads=32)
        out[t] = s[63 - t] #>
        """,
    ),
    Pair(
        "meeting: three warps in a circle",
        """
        w = t // 32
        if w == 0:
            arch.barrier(barrier_id=1, number_of_threads=64) #>
            arch.barrier(barrier_id=3, number_of_threads=64)
        elif w == 1:
            arch.barrier(barrier_id=1, number_of_threads=64) #~ arch.barrier(barrier_id=2, number_of_threads=64)
            arch.barrier(barrier_id=2, number_of_threads=64) #~ arch.barrier(barrier_id=1, number_of_threads=64)
        else:
            arch.barrier(barrier_id=2, number_of_threads=64) #~ arch.barrier(barrier_id=3, number_of_threads=64)
            arch.barrier(barrier_id=3, number_of_threads=64) #~ arch.barrier(barrier_id=2, number_of_threads=64)
        out[t] = x[t]
        """,
        block=96,
        code="TT0622",
        words="races",
    ),
]
