"""Tile dialect: matrix instructions of a warp, until a target writes instructions for them or runs them whole.

    tile.mma %d, %a, %b, %c {instruction, tiles = [M, N, K], d, a, b, c} : arrays that each thread has for itself

stands for many matrix instructions at once. `a` says for every instruction (m, k) and each of its registers where the
register begins in the array of A, counted in elements: `a[(m + M * k) * registers + r]`. Likewise `b` for (n, k), `c`
and `d` for (m, n). The meaning: for k, n, m in turn D(m, n) = A(m, k) * B(n, k) + C(m, n), where from the second k on D
takes the place of C.

    tile.mma_block_scale %d, %a, %b, %c, %sfa, %sfb {instruction, tiles, d, a, b, c, sfa, sfb}

is the same with scales: `sfa` and `sfb` say for every (m, k), or (n, k), where the bytes begin that a thread gives.

    %register, ... = tile.load_matrix %row {instruction}
    tile.store_matrix %row, %register, ... {instruction}

move matrices between shared memory, where each thread gives the address of a row, and registers of 32 bits.
`instruction` is the name of an entry among `triptych.kernel_ir.dialects`, which says who holds what.

    %map = tile.tensor_map %base, %dim, ..., %stride, ... {type, box, swizzle}              in host code
    tile.tma_load %map, %shared, %mbarrier, %blocks, %coordinate, ... {box, bytes, swizzle, multicast}
    tile.tma_store %map, %shared, %coordinate, ... {box, bytes, swizzle, kind}
    tile.tma_prefetch %map, %coordinate, ... {box, bytes}

copy boxes of a tensor, by the one thread that executes them. A map is a pointer to 128 bytes that only the target
reads: the extents of all dimensions (i64), the innermost first, then the byte strides of all but the innermost.
Coordinates are those of the box' first element, the innermost first, and may lie outside: there zeros are loaded and
nothing is stored. `box` has the extents of a box, `bytes` is the size of an element, `swizzle` B says that bits 4 to
3+B of a shared address are exchanged by those from 7 on. A load completes the bytes of the whole box on its mbarrier;
with `multicast` it does so at the same place of every block of the cluster whose bit is in `%blocks` (i32), which is 0
without. `kind` is "store" or what is done in memory: add, min, max, inc, dec, and, or, xor; a store that does so also
says the `type` of the elements, as the map does: a word of u8, u16, u32, s32, u64, s64, f16, bf16, f32, tf32, f64. A
kernel receives a map as an argument with the attribute `triptych.tensor_map`. `triptych.cache_policy` (i64) on a copy
is what the caches are to do with it. A load with an empty `box` goes by what the map says, sizes and swizzle too.

    tile.tensormap_prefetch %map    tile.tensormap_replace %map, %base, %dim, ..., %stride, ... {type}
    tile.tensormap_release    tile.tensormap_acquire %map    tile.tensormap_cp_fenceproxy %global, %shared

are of maps that a kernel makes of others, in memory: of one in global or shared memory what the tensor is may change,
for which base, extents and strides are as for `tensor_map`; `tensormap_cp_fenceproxy` copies one to global memory, by
a whole warp, for others to see; `tensormap_release` lets others see changes in place; who copies by such a map has
acquired it before.

    tile.wgmma %d, %a, %b, %accumulate {instruction, tiles = [M, N, K], d, a, b, a_operand, b_operand}
    tile.wgmma_fence    tile.wgmma_commit    tile.wgmma_wait {groups}

are products that the warps of a warpgroup compute together while they go on. `d` says where registers are, as for
`tile.mma`, and so does `a` where `%a` is an array; of an operand in shared memory it is the byte distance from the
pointer for each instruction (m, k), or (n, k), without the swizzle. `a_operand` and `b_operand` say how such an operand
lies: [major (0: K, 1: M or N), swizzle, leading byte offset, stride byte offset]; `[]` for registers. Where
`%accumulate` (i1) is false the first k begins with zero. `wgmma_wait` leaves at most `groups` of the committed groups.

    tile.umma %d, %a, %b, %accumulate [, %sfa, %sfb] {instruction, tiles = [M, N, K], d, a, b, a_operand, b_operand}
    tile.tmem_copy %address, %source {ctas}
    tile.umma_commit %mbarrier, %blocks {ctas, multicast}

are products into tensor memory, whose addresses are numbers (i32: `dialects/tensor_memory.py`). A warp comes to one,
with the same operands in all lanes, and one thread begins it. `d` is what the address of each tile (m, n) is further
than `%d`. Block scales are in tensor memory, too (`dialects/block_scales.py`); the two highest bits of their addresses
are a byte of a word. A copy brings the 512 bytes of a chunk of them there, in order with products. A commit arrives on
the mbarrier, or with `multicast` on that of every block of the cluster in the mask `%blocks`, when what this thread has
begun before is complete.

    tile.tmem_alloc %word, %columns {ctas}    tile.tmem_dealloc %address, %columns {ctas}    tile.tmem_permit {ctas}
    %register, ... = tile.tmem_load %address {shape, repeat, pack}
    %register, ..., %number = tile.tmem_load_reduce %address {shape, repeat, pack, kind = "max" | "min"}
    tile.tmem_store %address, %register, ... {shape, repeat, pack}
    tile.tmem_wait {kind = "load" | "store"}    tile.tmem_fence {kind = "before" | "after"}

are of whole warps: columns for the block, whose address is written to a word of shared memory; columns given back; no
more allocations. Registers are words of 32 bits, distributed as `shape` says; a load has come, or a store is done, when
it was waited for; `%number` is the largest or smallest f32 of a thread's registers. A fence orders what is done with
tensor memory before, or after, a thread meets others.

    tile.clc_try_cancel %response, %mbarrier
    %given, %x, %y, %z = tile.clc_query %response

take a cluster of the grid that has not begun, which then never begins by itself: 16 bytes are written in every block of
the cluster, and complete on its mbarrier; and read them: whether a cluster was given, and the index of its first block.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from triptych.ir.handles import Operation
from triptych.ir.types import GLOBAL_SPACE, SHARED_SPACE, pointer_to
from triptych.kernel_ir.dialects.opdef import (
    ASYNC_TRANSFER,
    AWAITS,
    COUNTED,
    LOADS,
    ONCE,
    STORES,
    Accumulation,
    KernelDialect,
    OpDef,
    Result,
    Scope,
    Traits,
    WgmmaStep,
    one_of,
)

TENSOR_MAP_BYTES = 128
TENSOR_MAP_ARGUMENT = "triptych.tensor_map"
"""Of the argument of a kernel that is a map: not the pointer but the 128 bytes are what the kernel receives."""
CACHE_POLICY = "triptych.cache_policy"
CTA_PAIR = "triptych.cta_pair"
"""Of a load whose bytes the mbarrier of the pair's first block counts, wherever they go in the pair."""

WARP_THREADS = 32
"""Threads that execute an instruction of a warp together: all entries are NVIDIA's, and so is this number.
Machines with other warps have other instructions."""

TILE = KernelDialect("tile")

_POINTER = "!llvm.ptr"
_SHARED, _GLOBAL = pointer_to(SHARED_SPACE), pointer_to(GLOBAL_SPACE)

_op = partial(OpDef, TILE)
_OF_WARP = Traits(Scope.WARP, collective=True, reads=True, writes=True)

# matrices in the registers of a warp ----------------------------------------------------------------------------------
MMA = _op(
    "mma",
    operands=(_POINTER,) * 4,
    attributes=("instruction", "tiles", "d", "a", "b", "c"),
    traits=Traits(Scope.WARP, collective=True, reads=True, writes=True),
    accumulates=Accumulation(3, "c"),
)
MMA_BLOCK_SCALE = _op(
    "mma_block_scale",
    operands=(_POINTER,) * 6,
    attributes=("instruction", "tiles", "d", "a", "b", "c", "sfa", "sfb"),
    traits=Traits(Scope.WARP, collective=True, reads=True, writes=True),
    accumulates=Accumulation(3, "c"),
)
LOAD_MATRIX = _op(
    "load_matrix",
    operands=(_SHARED,),
    results=("i32*",),
    attributes=("instruction",),
    traits=Traits(Scope.WARP, collective=True, reads=True, result=Result.DIVERGENT),
)
STORE_MATRIX = _op(
    "store_matrix",
    operands=(_SHARED, "i32*"),
    attributes=("instruction",),
    traits=Traits(Scope.WARP, collective=True, writes=True),
)


# TMA copies -----------------------------------------------------------------------------------------------------------
def _is_multicast(operation: Operation) -> bool:
    return bool(operation.attributes["multicast"].value)


def _reaches_others(operation: Operation) -> bool:
    return CTA_PAIR in operation.attributes or _is_multicast(operation)


def _is_of_pair(operation: Operation) -> bool:
    return str(operation.attributes["instruction"].value).endswith("cta2")


TMA_LOAD = _op(
    "tma_load",
    operands=(_POINTER, _SHARED, _SHARED, "i32", "i32*"),
    attributes=("box", "bytes", "swizzle", "multicast"),
    traits=ASYNC_TRANSFER,
    read_only=(0,),
    leaves_block=_reaches_others,
    says="begins to load a box",
)
TMA_STORE = _op(
    "tma_store",
    operands=(_POINTER, _SHARED, "i32*"),
    attributes=("box", "bytes", "swizzle", "kind"),
    traits=ASYNC_TRANSFER,
    says="begins to store a box",
)
TMA_PREFETCH = _op(
    "tma_prefetch", operands=(_POINTER, "i32*"), attributes=("box", "bytes"), traits=ONCE, read_only=(0,)
)

# tensor maps ----------------------------------------------------------------------------------------------------------
TENSOR_MAP = _op(
    "tensor_map",
    operands=("T", "i64*"),
    results=(_POINTER,),
    attributes=("type", "box", "swizzle"),
    traits=ONCE,  # of the host
)
TENSORMAP_PREFETCH = _op("tensormap_prefetch", operands=(_POINTER,), traits=ONCE, read_only=(0,))
TENSORMAP_REPLACE = _op(
    "tensormap_replace", operands=(f"{_GLOBAL}|{_SHARED}", "T", "i64*"), attributes=("type",), traits=STORES
)
TENSORMAP_RELEASE = _op("tensormap_release", traits=STORES)
TENSORMAP_ACQUIRE = _op("tensormap_acquire", operands=(_GLOBAL,), traits=Traits(Scope.GRID, reads=True, writes=True))
TENSORMAP_CP_FENCEPROXY = _op(
    "tensormap_cp_fenceproxy", operands=(_GLOBAL, _SHARED), traits=Traits(Scope.GRID, reads=True, writes=True)
)

# WGMMA ----------------------------------------------------------------------------------------------------------------
WGMMA = _op(
    "wgmma",
    operands=(_POINTER, f"{_POINTER}|{_SHARED}", _SHARED, "i1"),
    attributes=("instruction", "tiles", "d", "a", "b", "a_operand", "b_operand"),
    traits=Traits(Scope.BLOCK, suspends=True, reads=True, writes=True),
    says="begins a product",
    accumulates=Accumulation(0, "d", unless=3),
    wgmma=WgmmaStep.BEGIN,
)
WGMMA_FENCE = _op("wgmma_fence", traits=COUNTED, wgmma=WgmmaStep.FENCE)
WGMMA_COMMIT = _op("wgmma_commit", traits=COUNTED, says="closes a group of products", wgmma=WgmmaStep.COMMIT)
WGMMA_WAIT = _op("wgmma_wait", attributes=("groups",), traits=AWAITS, says="waits for products", wgmma=WgmmaStep.WAIT)

WGMMA_STEPS: Mapping[str, WgmmaStep] = {each: each.wgmma for each in TILE.operations if each.wgmma is not None}
"""WGMMAs, and what orders them."""

# UMMA and tensor memory -----------------------------------------------------------------------------------------------
UMMA = _op(
    "umma",
    operands=("i32", f"i32|{_SHARED}", _SHARED, "i1", "i32*"),
    attributes=("instruction", "tiles", "d", "a", "b", "a_operand", "b_operand"),
    traits=ASYNC_TRANSFER,
    leaves_block=_is_of_pair,
    says="begins a product in tensor memory",
)
UMMA_COMMIT = _op(
    "umma_commit",
    operands=(_SHARED, "i32"),
    attributes=("ctas", "multicast"),
    traits=COUNTED,
    leaves_block=_is_multicast,
    says="commits products in tensor memory",
)
TMEM_ALLOC = _op("tmem_alloc", operands=(_SHARED, "i32"), attributes=("ctas",), traits=_OF_WARP)
TMEM_DEALLOC = _op(
    "tmem_dealloc",
    operands=("i32", "i32"),
    attributes=("ctas",),
    traits=_OF_WARP,
    says="gives columns of tensor memory back",
)
TMEM_PERMIT = _op("tmem_permit", attributes=("ctas",), traits=_OF_WARP)
TMEM_LOAD = _op(
    "tmem_load",
    operands=("i32",),
    results=("i32*",),
    attributes=("shape", "repeat", "pack"),
    traits=Traits(Scope.WARP, collective=True, reads=True, result=Result.DIVERGENT),
    says="loads from tensor memory",
)
TMEM_LOAD_REDUCE = _op(
    "tmem_load_reduce",
    operands=("i32",),
    results=("i32*",),
    attributes=("shape", "repeat", "pack", "kind"),
    traits=Traits(Scope.WARP, collective=True, reads=True, result=Result.DIVERGENT),
    says="loads from tensor memory",
)
TMEM_STORE = _op(
    "tmem_store",
    operands=("i32", "i32*"),
    attributes=("shape", "repeat", "pack"),
    traits=_OF_WARP,
    says="stores to tensor memory",
)
TMEM_COPY = _op(
    "tmem_copy",
    operands=("i32", _SHARED),
    attributes=("ctas",),
    traits=ASYNC_TRANSFER,
    says="begins to copy scales to tensor memory",
)
TMEM_WAIT = _op(
    "tmem_wait",
    attributes=(one_of("kind", "load", "store"),),
    traits=_OF_WARP,
    says="waits for loads or stores of tensor memory",
)
TMEM_FENCE = _op("tmem_fence", attributes=(one_of("kind", "before", "after"),), traits=COUNTED)

# cluster launch control -----------------------------------------------------------------------------------------------
CLC_TRY_CANCEL = _op(
    "clc_try_cancel",
    operands=(_SHARED, _SHARED),
    traits=ASYNC_TRANSFER,
    leaves_block=lambda _: True,
    says="asks for another cluster",
)
CLC_QUERY = _op("clc_query", operands=(_SHARED,), results=("i1", "i32", "i32", "i32"), traits=LOADS)
