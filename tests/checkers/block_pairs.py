"""Faults written by hand: races in global memory, between the blocks of a launch and within one."""

from __future__ import annotations

from tests.checkers.pairs import Pair


def _blocks(name: str, body: str, block: int = 64, grid: int = 4) -> Pair:
    return Pair(f"global: {name}", body, block=block, grid=grid, words="global", dtype="float32")


_LAST = """
s = smem(tt.Int32, 1)
out[b * 64 + t] = x[t] #<
arch.sync_threads()
if t == 0:
    s[0] = arch.atomic_add({flag}, tt.Int32(1), sem="acq_rel", scope="gpu") {wrong}
arch.sync_threads()
if s[0] == 3:
    v = tt.Float32(0.0)
    for i in range(4):
        v = v + out[i * 64 + 63 - t] #>
    out[1024 + t] = v
"""
_FLAG = "cute.recast_ptr(out.iterator + 2048, dtype=tt.Int32)"

BLOCKS = [
    _blocks("blocks write one place", "out[b * 64 + t] = x[t] + tt.Float32(b) #<>~ out[t] = x[t] + tt.Float32(b)"),
    _blocks(
        "a sum of all blocks without an atomic operation",
        "arch.atomic_add(out.iterator + t, x[t]) #<>~ out[t] = out[t] + x[t]",
    ),
    _blocks(
        "reads what another block writes",
        "out[b * 64 + t] = x[t] #<\nv = x[t] #>~ v = out[(b * 64 + t + 64) % 256]\nout[1024 + b * 64 + t] = v",
    ),
    _blocks(
        "writes what another block reads",
        "v = out[b * 64 + t] #<\nout[1024 + b * 64 + t] = v #>~ out[((b + 1) % 4) * 64 + t] = v + 1.0",
    ),
    _blocks(
        "an atomic operation beside a plain read",
        "arch.atomic_add(out.iterator + t, x[t]) #<\nv = x[t] #>~ v = out[t]\nout[1024 + b * 64 + t] = v",
    ),
    _blocks(
        "an edge that two tiles share",
        "if t < 63: #~ if t < 64:\n    out[b * 63 + t] = x[t] + tt.Float32(b) #<>",
    ),
    _blocks(
        "one lane of eight writes, a row for each",
        "v = x[t] + tt.Float32(b)\nif t % 8 < 1:\n"
        "    out[t // 8 * 64 + b * 8 + t % 8] = v #<>~ out[t // 8 * 64 + t % 8] = v",
    ),
    _blocks(
        "the last block without an order",
        _LAST.format(flag=_FLAG, wrong=f"#~ s[0] = arch.atomic_add({_FLAG}, tt.Int32(1))"),
    ),
    _blocks(
        "the last block at the scope of a block",
        _LAST.format(flag=_FLAG, wrong=f'#~ s[0] = arch.atomic_add({_FLAG}, tt.Int32(1), sem="acq_rel", scope="cta")'),
    ),
    _blocks(
        "the last block without the barrier before",
        _LAST.format(flag=_FLAG, wrong="").replace(
            "arch.sync_threads()\nif t == 0", "arch.sync_threads() #!\nif t == 0"
        ),
    ),
    _blocks(
        "the last block without the barrier behind",
        """
if t < 32:
    out[b * 64 + t] = x[t] #<
arch.sync_threads()
n = tt.Int32(0)
if t == 0:
    n = arch.atomic_add(FLAG, tt.Int32(1), sem="acq_rel", scope="gpu")
n = arch.shuffle_sync(n, 0)
if n == 3:
    arch.sync_warp() #!
    out[1024 + t] = out[(t % 4) * 64 + t % 32] #>
""".replace("FLAG", _FLAG),
        block=32,
    ),
    _blocks(
        "within a block, no barrier",
        "out[b * 64 + t] = x[t] #<\narch.sync_threads() #!\nout[1024 + b * 64 + t] = out[b * 64 + 63 - t] #>",
    ),
    _blocks(
        "within a warp, no sync_warp",
        "out[b * 32 + t] = x[t] #<\narch.sync_warp() #!\nout[1024 + b * 32 + t] = out[b * 32 + 31 - t] #>",
        block=32,
    ),
    _blocks(
        "atomic operations that other blocks do not see as one",
        'arch.atomic_add(out.iterator + t, x[t]) #<>~ arch.atomic_add(out.iterator + t, x[t], scope="cta")',
    ),
]
