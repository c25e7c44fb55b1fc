"""Faults written by hand: asynchronous copies that are not waited for, or whose target is used too early."""

from __future__ import annotations

from tests.checkers.pairs import Pair

_COPIES = """
s = smem(tt.Float32, 256)
atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
{rest}
"""
_ONE = "cute.copy(atom, cute.local_tile(x, (1,), (t,)), cute.local_tile(s, (1,), (t,)))"


def _copies(name: str, rest: str, code: str = "TT0633", block: int = 64) -> Pair:
    return Pair(f"cp.async: {name}", _COPIES.format(rest=rest.replace("COPY", _ONE)), code=code, block=block)


COPIES = [
    _copies(
        "no wait",
        """COPY #<
arch.cp_async_commit_group()
arch.cp_async_wait_group(0) #!
arch.sync_threads()
out[t] = s[63 - t] #>""",
    ),
    _copies(
        "no barrier behind the wait",
        """COPY #<
arch.cp_async_commit_group()
arch.cp_async_wait_group(0)
arch.sync_threads() #!
out[t] = s[63 - t] #>""",
        "TT0630",
    ),
    _copies(
        "own element without a wait",
        """COPY #<
arch.cp_async_commit_group()
arch.cp_async_wait_group(0) #!
out[t] = s[t] #>""",
    ),
    _copies(
        "no commit",
        """COPY #<
arch.cp_async_commit_group() #!
arch.cp_async_wait_group(0)
arch.sync_threads()
out[t] = s[63 - t] #>""",
    ),
    _copies(
        "one group too many on its way",
        """COPY #<
arch.cp_async_commit_group()
cute.copy(atom, cute.local_tile(x, (1,), (t + 64,)), cute.local_tile(s, (1,), (t + 64,)))
arch.cp_async_commit_group()
arch.cp_async_wait_group(1) #~ arch.cp_async_wait_group(2)
arch.sync_threads()
out[t] = s[63 - t] #>
arch.cp_async_wait_group(0)""",
    ),
    _copies(
        "target overwritten while it goes on",
        """COPY #<
arch.cp_async_commit_group()
arch.cp_async_wait_group(0) #!
s[t] = 1.0 #>
arch.cp_async_wait_group(0)
arch.sync_threads()
out[t] = s[63 - t]""",
    ),
    _copies(
        "never waited for",
        """COPY #<>
arch.cp_async_commit_group()
arch.cp_async_wait_group(0) #!
out[t] = x[t]""",
    ),
    _copies(
        "stage reused before it was read",
        """total = tt.Float32(0.0)
for i in range(3):
    cute.copy(atom, cute.local_tile(x, (1,), (i * 64 + t,)), cute.local_tile(s, (1,), (t,))) #>
    arch.cp_async_commit_group()
    arch.cp_async_wait_group(0)
    arch.sync_threads()
    total = total + s[63 - t] #<
    arch.sync_threads() #!
out[t] = total""",
        "TT0630",
    ),
    _copies(
        "the wait of another thread",
        """COPY #<
arch.cp_async_commit_group()
if t < 64: #~ if t < 32:
    arch.cp_async_wait_group(0)
arch.sync_threads()
out[t] = s[63 - t] #>
arch.cp_async_wait_group(0)""",
    ),
    _copies(
        "sync_warp in place of a barrier",
        """COPY #<
arch.cp_async_commit_group()
arch.cp_async_wait_group(0)
arch.sync_threads() #~ arch.sync_warp()
out[t] = s[63 - t] #>""",
        "TT0630",
    ),
]
