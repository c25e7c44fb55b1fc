"""Faults written by hand: mbarriers, TMA, bulk stores, WGMMA, and clusters."""

from __future__ import annotations

from textwrap import indent

from tests.checkers.pairs import Pair

_BARRIER = """
s = smem(tt.Float32, 256)
bar = arch.alloc_smem(tt.Int64, 2, 8)
if t == 0:
    arch.mbarrier_init(bar, {count})
    arch.mbarrier_init(bar + 1, 32)
    arch.mbarrier_init_fence()
arch.sync_threads()
{rest}
"""


def _phases(name: str, rest: str, count: int = 32, code: str = "TT0630") -> Pair:
    return Pair(f"mbarrier: {name}", _BARRIER.format(count=count, rest=rest), code=code)


PHASES = [
    _phases(
        "nobody waits",
        """if t < 32:
    s[t] = x[t] #<
    arch.mbarrier_arrive(bar)
else:
    arch.mbarrier_wait(bar, 0) #!
    out[t] = s[63 - t] #>""",
    ),
    _phases(
        "one lane arrives for all",
        """if t < 32:
    s[t] = x[t] #<
    arch.sync_warp() #!
    with arch.elect_one():
        arch.mbarrier_arrive(bar)
else:
    arch.mbarrier_wait(bar, 0)
    out[t] = s[63 - t] #>""",
        1,
    ),
    _phases(
        "arrival before the store",
        """if t < 32:
    arch.sync_warp() #~ arch.mbarrier_arrive(bar)
    s[t] = x[t] #<
    arch.mbarrier_arrive(bar) #!
else:
    arch.mbarrier_wait(bar, 0)
    out[t] = s[63 - t] #>""",
    ),
    _phases(
        "one lane waits for all",
        """if t < 32:
    s[t] = x[t] #<
    arch.mbarrier_arrive(bar)
else:
    if t == 32:
        arch.mbarrier_wait(bar, 0)
    arch.sync_warp() #!
    out[t] = s[63 - t] #>""",
    ),
    _phases(
        "waits for the phase that is over",
        """if t < 32:
    s[t] = x[t] #<
    arch.mbarrier_arrive(bar)
else:
    arch.mbarrier_wait(bar, 0) #~ arch.mbarrier_wait(bar, 1)
    out[t] = s[63 - t] #>""",
    ),
    _phases(
        "stage reused before it was read",
        """total = tt.Float32(0.0)
for i in range(3):
    if t < 32:
        arch.mbarrier_wait(bar + 1, (i + 1) % 2) #~ arch.sync_warp()
        s[t] = x[t + i] #>
        arch.sync_warp() #~ arch.mbarrier_wait(bar + 1, (i + 1) % 2)
        arch.mbarrier_arrive(bar)
    else:
        arch.mbarrier_wait(bar, i % 2)
        total = total + s[63 - t] #<
        arch.mbarrier_arrive(bar + 1)
out[t] = total""",
    ),
    _phases(
        "released before it was read",
        """total = tt.Float32(0.0)
for i in range(3):
    if t < 32:
        arch.mbarrier_wait(bar + 1, (i + 1) % 2)
        s[t] = x[t + i] #>
        arch.mbarrier_arrive(bar)
    else:
        arch.mbarrier_wait(bar, i % 2)
        arch.sync_warp() #~ arch.mbarrier_arrive(bar + 1)
        total = total + s[63 - t] #<
        arch.mbarrier_arrive(bar + 1) #!
out[t] = total""",
    ),
    _phases(
        "a look that may not have succeeded",
        """if t < 32:
    s[t] = x[t] #<
    arch.mbarrier_arrive(bar)
else:
    seen = arch.mbarrier_try_wait(bar + 1, 0)
    if not seen:
        arch.mbarrier_wait(bar, 0) #!
    out[t] = s[63 - t] #>""",
    ),
    Pair(
        "mbarrier: used before it is made",
        """
        s = smem(tt.Float32, 64)
        bar = arch.alloc_smem(tt.Int64, 1, 8)
        if t == 0:
            arch.mbarrier_init(bar, 64) #<
            arch.mbarrier_init_fence()
        arch.sync_threads() #!
        s[t] = x[t]
        arch.mbarrier_arrive(bar) #>
        arch.mbarrier_wait(bar, 0)
        out[t] = s[63 - t]
        """,
    ),
]

_BOXES = """
import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
arch = cute.arch

@tt.kernel
def k(load: cute.CopyAtom, xs: cute.Tensor, store: cute.CopyAtom, outs: cute.Tensor, x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    bars = arch.alloc_smem(tt.Int64, 2, 8)
    tile = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(64), 128)
    one = cute.make_layout(1)
    whole = cute.group_modes(tile, 0, 1)
    first, last = [cute.group_modes(cute.local_tile(each, (64,), (0,)), 0, 1) for each in (xs, outs)]
    into, source = cpasync.tma_partition(load, 0, one, whole, first)
    outof, target = cpasync.tma_partition(store, 0, one, whole, last)
    if t == 0:
        arch.mbarrier_init(bars, 1)
        arch.mbarrier_init(bars + 1, 32)
        arch.mbarrier_init_fence()
    arch.sync_threads()
{body}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    load, xs = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, cute.make_layout(64), (64,))
    store, outs = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, cute.make_layout(64), (64,))
    k(load, xs, store, outs, x, out).launch(grid={grid}, block={block})
"""
_LOAD = """if t < 32:
    with arch.elect_one():
        arch.mbarrier_arrive_and_expect_tx(bars, 256)
    cute.copy(load, source, into, tma_bar_ptr=bars) #<
"""
_STORE = """if t < 32:
    cute.copy(store, outof, target) #{mark}
    arch.cp_async_bulk_commit_group()
    arch.cp_async_bulk_wait_group(0) #{wait}
"""


def _boxes(name: str, rest: str, code: str) -> Pair:
    return Pair(f"boxes: {name}", rest, code=code, program=_BOXES)


BOXES = [
    _boxes("nobody waits for a load", _LOAD + "arch.mbarrier_wait(bars, 0) #!\nout[t] = tile[t] #>", "TT0633"),
    _boxes(
        "a barrier in place of the wait",
        _LOAD + "arch.mbarrier_wait(bars, 0) #!\narch.sync_threads()\nout[t] = tile[t] #>",
        "TT0633",
    ),
    _boxes(
        "one warp waits",
        _LOAD + "if t < 64: #~ if t < 32:\n    arch.mbarrier_wait(bars, 0)\nout[t] = tile[t] #>",
        "TT0630",
    ),
    _boxes(
        "a load over what others read",
        """
tile[t] = x[t]
arch.sync_threads()
v = tile[63 - t] #<
arch.sync_threads() #!
if t < 32:
    with arch.elect_one():
        arch.mbarrier_arrive_and_expect_tx(bars, 256)
    cute.copy(load, source, into, tma_bar_ptr=bars) #>
arch.mbarrier_wait(bars, 0)
out[t] = tile[t] + v""",
        "TT0630",
    ),
    _boxes(
        "a second load over the first",
        _LOAD
        + """arch.mbarrier_wait(bars, 0) #!
arch.sync_threads()
if t < 32:
    with arch.elect_one():
        arch.mbarrier_expect_tx(bars + 1, 256)
    cute.copy(load, source, into, tma_bar_ptr=bars + 1) #>
    arch.mbarrier_arrive(bars + 1)
arch.mbarrier_wait(bars, 0)
arch.mbarrier_wait(bars + 1, 0)
out[t] = tile[t]""",
        "TT0633",
    ),
    _boxes(
        "overwritten while it lands",
        _LOAD + "arch.mbarrier_wait(bars, 0) #!\ntile[t] = x[t] #>\narch.mbarrier_wait(bars, 0)\nout[t] = tile[t]",
        "TT0633",
    ),
    _boxes(
        "a store of what is not fenced",
        'tile[t] = x[t] #<\narch.fence_proxy("async.shared", space="cta") #!\narch.sync_threads()\n'
        + _STORE.format(mark=">", wait=""),
        "TT0634",
    ),
    _boxes(
        "one lane fences for all",
        'tile[t] = x[t] #<\nif t < 64: #~ if t == 0:\n    arch.fence_proxy("async.shared", space="cta")\n'
        "arch.sync_threads()\n" + _STORE.format(mark=">", wait=""),
        "TT0634",
    ),
    _boxes(
        "a store without a barrier",
        'tile[t] = x[t] #<\narch.fence_proxy("async.shared", space="cta")\narch.sync_threads() #!\n'
        + _STORE.format(mark=">", wait=""),
        "TT0630",
    ),
    _boxes(
        "overwritten before the store has read",
        'tile[t] = x[t]\narch.fence_proxy("async.shared", space="cta")\narch.sync_threads()\n'
        + _STORE.format(mark="<", wait="!")
        + "arch.sync_threads()\ntile[t] = 0.0 #>\nif t < 32:\n    arch.cp_async_bulk_wait_group(0)",
        "TT0634",
    ),
    _boxes(
        "no barrier behind the wait for a store",
        'tile[t] = x[t]\narch.fence_proxy("async.shared", space="cta")\narch.sync_threads()\n'
        + _STORE.format(mark="<", wait="")
        + "arch.sync_threads() #!\ntile[t] = 0.0 #>",
        "TT0634",
    ),
    _boxes(
        "nobody waits for a store",
        'tile[t] = x[t]\narch.fence_proxy("async.shared", space="cta")\narch.sync_threads()\n'
        + _STORE.format(mark="<>", wait="!"),
        "TT0633",
    ),
    _boxes(
        "a load is stored before it is there",
        _LOAD
        + """if t < 32:
    arch.mbarrier_wait(bars, 0) #!
    cute.copy(store, outof, target) #>
    arch.cp_async_bulk_commit_group()
    arch.cp_async_bulk_wait_group(0)
arch.mbarrier_wait(bars, 0)""",
        "TT0633",
    ),
]

_PRODUCTS = """
import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup
from triptych.utils import LayoutEnum, hopper_helpers
arch = cute.arch
TILE = (64, 32, 64)

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor, mma: cute.TiledMma, layouts: tt.Constexpr):
    t, _, _ = arch.thread_idx()
    storage = cute.SmemAllocator()
    p, q = [storage.allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner) for layout in layouts]
    whole, mine = mma.get_slice(0), mma.get_slice(t)
    a, b = mma.make_fragment_A(whole.partition_A(p)), mma.make_fragment_B(whole.partition_B(q))
    y = cute.make_tensor(out.iterator, cute.make_layout(TILE[:2], stride=(32, 1)))
    part = mine.partition_C(y)
    sums = mma.make_fragment_C(part)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    for i in range(t, 64 * 64, {block}):
        p[i % 64, i // 64, 0] = tt.Float16(x[i % 8])
{body}
    if t < 128:
        cute.autovec_copy(sums, part)

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    m = OperandMajorMode.K
    mma = hopper_helpers.make_trivial_tiled_mma(tt.Float16, tt.Float16, m, m, tt.Float32, (1, 1, 1), TILE[:2])
    makers = (hopper_helpers.make_smem_layout_a, hopper_helpers.make_smem_layout_b)
    k(x, out, mma, [make(LayoutEnum.ROW_MAJOR, TILE, tt.Float16, 1) for make in makers]).launch(
        grid={grid}, block={block})
"""
_FILL = """for j in range(t, 32 * 64, arch.block_dim()[0]):
    q[j % 32, j // 32, 0] = tt.Float16(x[j % 8]) #{mark}
"""
_FENCE = 'arch.fence_proxy("async.shared", space="cta")'
_MULTIPLY = """warpgroup.fence()
for kk in tt.range_constexpr(cute.size(a, mode=[2])):
    cute.gemm(mma, sums, a[None, None, kk, 0], b[None, None, kk, 0], sums) #{mark}
    mma.set(warpgroup.Field.ACCUMULATE, True)
warpgroup.commit_group()
warpgroup.wait_group(0) #{wait}
"""


def _products(name: str, rest: str, code: str, block: int = 128) -> Pair:
    return Pair(f"products: {name}", rest, code=code, program=_PRODUCTS, block=block)


PRODUCTS = [
    _products(
        "factors that are not fenced",
        f"{_FILL.format(mark='<')}{_FENCE} #!\narch.sync_threads()\n{_MULTIPLY.format(mark='>', wait='')}",
        "TT0634",
    ),
    _products(
        "factors without a barrier",
        f"{_FILL.format(mark='<')}{_FENCE}\narch.sync_threads() #!\n{_MULTIPLY.format(mark='>', wait='')}",
        "TT0630",
    ),
    _products(
        "factors overwritten before the product has ended",
        f"{_FILL.format(mark='')}{_FENCE}\narch.sync_threads()\n{_MULTIPLY.format(mark='<', wait='!')}"
        "q[t % 32, t // 32, 0] = tt.Float16(0.0) #>\nwarpgroup.wait_group(0)",
        "TT0634",
    ),
    _products(
        "no barrier behind the wait, for threads of another warpgroup",
        f"{_FILL.format(mark='')}{_FENCE}\narch.sync_threads()\n"
        f"if t < 128:\n{indent(_MULTIPLY.format(mark='<', wait=''), '    ')}"
        "arch.sync_threads() #!\nif t >= 128:\n    q[t % 32, t // 32, 0] = tt.Float16(0.0) #>",
        "TT0634",
        block=256,
    ),
]

_CLUSTER = """
import triptych as tt
from triptych import cute
arch = cute.arch

def smem(dtype, count):
    return cute.make_tensor(arch.alloc_smem(dtype, count, 16), cute.make_layout(count))

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    g, _, _ = arch.block_idx()
    rank = arch.block_idx_in_cluster()
    s = smem(tt.Float32, 64)
    far = cute.make_tensor(arch.map_dsmem_ptr(s.iterator, 1 - rank), cute.make_layout(64))
{body}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block}, cluster=(2, 1, 1))
"""
_MEET = "arch.cluster_arrive()\narch.cluster_wait()\n"


def _clusters(name: str, rest: str) -> Pair:
    return Pair(f"clusters: {name}", rest, program=_CLUSTER, grid=4)


CLUSTERS = [
    _clusters(
        "no barrier before another block is read",
        "s[t] = x[t] #<\narch.cluster_arrive() #!\narch.cluster_wait() #!\nout[g * 64 + t] = far[t] #>\n" + _MEET,
    ),
    _clusters(
        "a barrier of the block in place of the cluster's",
        "s[t] = x[t] #<\narch.cluster_arrive() #~ arch.sync_threads()\narch.cluster_wait() #!\n"
        "out[g * 64 + t] = far[63 - t] #>\n" + _MEET,
    ),
    _clusters(
        "an arrival that releases nothing",
        "s[t] = x[t] #<\narch.cluster_arrive() #~ arch.cluster_arrive_relaxed()\narch.cluster_wait()\n"
        "out[g * 64 + t] = far[t] #>\n" + _MEET,
    ),
    _clusters(
        "written while another block reads",
        f"s[t] = x[t]\n{_MEET}v = far[63 - t] #<\narch.cluster_arrive() #!\narch.cluster_wait() #!\n"
        f"s[t] = v #>\n{_MEET}"
        "out[g * 64 + t] = s[t]",
    ),
    _clusters(
        "the store before the arrival of another block",
        f"far[t] = x[t] #<\narch.cluster_arrive()\narch.cluster_wait() #~ arch.sync_threads()\n"
        f"out[g * 64 + t] = s[63 - t] #>\narch.sync_threads() #~ arch.cluster_wait()\n{_MEET}",
    ),
    _clusters(
        "within a block of a cluster",
        f"s[t] = x[t] #<\narch.sync_threads() #!\nout[g * 64 + t] = s[63 - t] #>\n{_MEET}",
    ),
]
HOPPER: tuple[Pair, ...] = (*PHASES, *BOXES, *PRODUCTS, *CLUSTERS)
