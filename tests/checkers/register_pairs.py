"""Registers, accumulators and local arrays that a thread has not set, and what is right although it looks like them."""

# ruff: noqa: E501
from __future__ import annotations

from tests.checkers.pairs import Pair

_MADE = "r = cute.make_rmem_tensor({shape}, tt.{dtype})\n"


def _pair(name: str, body: str, *, shape: str = "4", dtype: str = "Float32", **more: object) -> Pair:
    return Pair(f"registers: {name}", _MADE.format(shape=shape, dtype=dtype) + body, 64, 1, "TT0635", **more)  # type: ignore[arg-type]


_MMA = """
mma = cute.make_tiled_mma(cute.make_mma_atom(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))))
a = cute.make_rmem_tensor(mma.partition_shape_A((16, 16)), tt.Float16)
w = cute.make_rmem_tensor(mma.partition_shape_B((8, 16)), tt.Float16)
c = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), tt.Float32)
"""

REGISTERS = [
    _pair("never set", "r[1] = 2.0 #!\nout[t] = r[1] #<>"),
    _pair("a sum without a beginning", "r.fill(0) #!\nfor i in range(4):\n    r[0] += x[t + i] #<\nout[t] = r[0] #>"),
    _pair("one element too few", "for i in range(4): #~ for i in range(3):\n    r[i] = x[i]\nout[t] = r[3] #<>"),
    _pair(
        "set by half of the threads",
        "r[0] = 1.0 #!\nif t < 32:\n    r[0] = x[t]\nout[t] = r[0] #<>",
    ),
    _pair(
        "set on one side of a branch",
        "if x[t] > 30.0:\n    r[2] = 1.0\nelse:\n    r[2] = 2.0 #~ r[1] = 2.0\nout[t] = r[2] + 1.0 #<>",
    ),
    _pair(
        "a loop that may not run",
        "n = tt.Int32(x[0]) - 1\nr[0] = 0.0 #!\nfor i in range(n):\n    r[0] = x[i]\nout[t] = r[0] #<>",
    ),
    _pair("an index of a run", "r.fill(0) #!\nr[tt.Int32(x[0])] = 5.0\nout[t] = r[(t % 2) + 1] #<>"),
    _pair("as an address", "r[0] = t #!\nplace = r[0] % 8 #<\nout[place + t * 8] = 1.0 #>", dtype="Int32"),
    _pair("in a branch", "r[0] = x[t] #!\nif r[0] > 3.0: #<>\n    out[t] = 1.0"),
    _pair("as the end of a loop", "r[0] = 3 #!\nfor i in range(r[0] % 4): #<>\n    out[t] = 1.0", dtype="Int32"),
    _pair("through another tensor", "r.fill(1.0) #!\nq = cute.make_rmem_tensor(4, tt.Float32)\nfor i in range(4):\n"
          "    q[i] = r[i] #<\nout[t] = q[2] #>"),
    _pair("through a vector", "r.fill(1.0) #~ r[0] = 1.0\nv = r.load() * 2.0 #<\nout[t] = v[3] #>"),
    _pair("carried by a loop", "r[0] = 0.0 #!\ns = r[0] #<\nfor i in range(tt.Int32(x[2])):\n    s = s + x[i]\nout[t] = s #>"),
    _pair("a maximum of what is set and not", "r[3] = 0.0 #!\nfor i in range(3):\n    r[i] = x[t + i]\n"
          "m = r[0]\nfor i in range(1, 4):\n    m = arch.fmax(m, r[i]) #<\nout[t] = m #>"),
    _pair("half of a wide element", "h = cute.recast_tensor(r, tt.Float16)\nh[0] = tt.Float16(1.0)\n"
          "h[1] = tt.Float16(1.0) #!\nout[t] = r[0] #<>"),
    _pair("padding that is used", "for i in range(3): #~ for i in range(2):\n    r[i] = x[i]\nv = r.load() + 1.0 #<\n"
          "out[t] = v[0] + v[2] #>"),
    _pair("a store of a whole fragment", "for i in range(4): #~ for i in range(3):\n    r[i] = x[t * 4 + i]\n"
          "cute.autovec_copy(r, cute.local_tile(out, (4,), (t,))) #<>"),
    _pair("a part that nobody sets, to shared memory", "s = smem(tt.Float32, 64)\nfor i in range(4): #~ for i in range(3):\n"
          "    r[i] = x[i]\nv = r.load() * 2.0 #<\ns[t] = v[3] #>\narch.sync_threads()\nout[t] = s[63 - t]"),
    _pair("used where it was not loaded", "r.fill(0) #!\nif t < 20:\n    r[0] = x[t]\ns = r[0] * 2.0 #<\n"
          "if t < 40:\n    out[t] = s #>"),
]  # fmt: skip
ACCUMULATORS = [
    Pair(
        "accumulator: not filled before the first product",
        f"{_MMA}a.fill(1.0)\nw.fill(1.0)\nc.fill(0.0) #!\ncute.gemm(mma, c, a, w, c) #<>\nout[t] = c[0]",
        32,
        1,
        "TT0635",
    ),
    Pair(
        "accumulator: filled in a branch",
        f"{_MMA}a.fill(1.0)\nw.fill(1.0)\nc.fill(0.0) #!\nif x[0] > 100.0:\n    c.fill(0.0)\n"
        "cute.gemm(mma, c, a, w, c)\nout[t] = c[0] #<>",
        32,
        1,
        "TT0635",
    ),
    Pair(
        "accumulator: a factor that nobody loads",
        f"{_MMA}a.fill(1.0) #!\nw.fill(1.0)\nc.fill(0.0)\ncute.gemm(mma, c, a, w, c) #<>\nout[t] = c[0]",
        32,
        1,
        "TT0635",
    ),
    Pair(
        "accumulator: sums of another tensor",
        f"{_MMA}d = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), tt.Float32)\na.fill(1.0)\nw.fill(1.0)\n"
        "c[0] = 0.0\nc[1] = 0.0 #!\nc[2] = 0.0\nc[3] = 0.0\ncute.gemm(mma, d, a, w, c)\nout[t] = d[1] #<>",
        32,
        1,
        "TT0635",
    ),
]
HARMLESS = [
    ("a predicated load, work, a predicated store", "if t < 20:\n    r[0] = x[t]\ns = r[0] * 2.0\nif t < 20:\n    out[t] = s"),
    ("padding that is copied", "for i in range(3):\n    r[i] = x[i]\nq = cute.make_rmem_tensor(4, tt.Float32)\n"
     "q.store(r.load() * 2.0)\nout[t] = q[0] + q[2]"),
    ("a condition that decides alone", "if t < 20:\n    r[0] = x[t]\nif (t < 20) & (r[0] > 1.0):\n    out[t] = 1.0"),
    ("a choice of what is set", "if t < 20:\n    r[0] = x[t]\nout[t] = r[0] if t < 20 else tt.Float32(0.0)"),
    ("set on the first turn", "for i in range(tt.Int32(x[4])):\n    if i == 0:\n        r[0] = 0.0\n    r[0] += x[i]\n"
     "    out[t] = r[0]"),
    ("rows beyond the end through shared memory", "s = smem(tt.Float32, 64)\nif t < 20:\n    r[0] = x[t]\ns[t] = r[0]\n"
     "arch.sync_threads()\nv = s[63 - t] + 1.0\nif t > 43:\n    out[t] = v"),
    ("a loop with a break", "i = tt.Int32(0)\nwhile i < 4:\n    r[i] = x[t + i]\n    i += 1\ni = tt.Int32(0)\nwhile i < 4:\n"
     "    out[t * 4 + i] = r[i]\n    i += 1"),
]  # fmt: skip
"""Right programs in which unset elements are read, and do not matter."""
QUIET = [Pair(f"registers: quiet: {name}", _MADE.format(shape="4", dtype="Float32") + body) for name, body in HARMLESS]
