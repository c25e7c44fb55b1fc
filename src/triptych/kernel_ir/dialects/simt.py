"""SIMT dialect: barriers, shuffles, votes, atomics, mbarriers and clocks of threads, on any machine.

Input: what the languages trace. Output: data; each target has its own operations for these. Beside them a kernel has
`tile` for matrices, `gpu` for indices and the barrier of the block, `llvm` for memory, and `arith`, `math`, `vector`
and `scf`.

    lanes     shuffle %members, %value, %offset, %clamp {kind}    vote %members, %predicate {kind}
              reduce %value, %members {kind}    match %members, %value    elect    sync_warp %members
    barriers  barrier %number[, %threads]    barrier_arrive %number, %threads
    copies    async_copy %shared, %global[, %bytes] {size, cache}    async_commit    async_wait {groups}
              prefetch %address
    mbarriers mbarrier_init %barrier, %arrivals    mbarrier_arrive %barrier, %arrivals[, %rank]
              mbarrier_expect %barrier, %bytes[, %rank]    mbarrier_arrive_expect %barrier, %bytes[, %rank]
              mbarrier_complete %barrier, %bytes[, %rank]    async_arrive %barrier
              mbarrier_wait %barrier, %parity    mbarrier_test %barrier, %parity    mbarrier_fence
    boxes     bulk_commit    bulk_wait {groups, kind}    async_fence {space}
    clusters  cluster_arrive {order}    cluster_wait    cluster_address %shared, %rank
              store_async %address, %value, %barrier
    grids     await_previous_grid    launch_dependents
    time      clock    global_timer    sleep %nanoseconds
    registers set_registers {kind, count}
    ranks     is_multicast %address    multicast_ranks    multicast_stride
    numbers   divisor %number {the attributes of a check}

`%members` has a bit for each lane that takes part: an i64 where a warp has more than 32. `%clamp` of a shuffle: bits 0
to 4 bound the lane that is read, bits 8 to 12 say which bits of a lane's number divide the warp into segments (5 and 13
for 64 lanes). A reduction of floats may have `abs` and `nan`.
What follows the first `%bytes` of an asynchronous copy becomes zero; with `cache = "global"` only the cache that all
processors share keeps what is read. `async_wait` leaves at most `groups` of the groups that commits have closed.
A multicast address (i64) stands for one place on all GPUs, which on rank r is `(r + 1) * multicast_stride` after it.
`multicast_ranks` may only be asked after an address that `is_multicast`.
A `divisor` is the number, which is not zero wherever what is divided by it is used (`divisor_checks`).

An mbarrier is eight bytes of shared memory that count arrivals, and bytes under way, of one phase after the other:
`mbarrier_wait` waits until the phase of a parity is over, `mbarrier_test` asks. Every active thread executes its own.
With a rank it is the mbarrier at the same place of that block of the cluster. `async_arrive` arrives when the
asynchronous copies of the thread have landed. TMA stores (`tile`) close groups with `bulk_commit`;
`bulk_wait` with the kind `"read"` waits only until shared memory has been read. `async_fence` makes what the thread
wrote visible to TMA copies and to WGMMA.
"""

from __future__ import annotations

from functools import partial

from triptych.ir.handles import Operation
from triptych.ir.types import CLUSTER_SPACE, GLOBAL_SPACE, SHARED_SPACE, pointer_to
from triptych.kernel_ir.dialects.opdef import (
    ASYNC_TRANSFER,
    AWAITS,
    BLOCK_BARRIER,
    COMPUTES,
    CONVERGENT,
    CONVERGENT_UNIFORM,
    COUNTED,
    OF_THE_MOMENT,
    ONCE,
    KernelDialect,
    OpDef,
    Result,
    Scope,
    Traits,
    one_of,
)
from triptych.kernel_ir.dialects.tile import TILE

SIMT = KernelDialect("simt")
KERNEL_DIALECTS = (SIMT, TILE)
"""Those of our own that a kernel may be made of."""

_LANES = "i32|i64"
"""A mask of lanes."""
_GLOBAL, _SHARED, _CLUSTER = (pointer_to(space) for space in (GLOBAL_SPACE, SHARED_SPACE, CLUSTER_SPACE))
_REDUCTIONS = ("add", "min", "max", "umin", "umax", "and", "or", "xor", "fmin", "fmax")

_op = partial(OpDef, SIMT)


# lanes ----------------------------------------------------------------------------------------------------------------
SHUFFLE = _op(
    "shuffle",
    operands=(_LANES, "T", "i32", "i32"),
    results=("T",),
    attributes=(one_of("kind", "idx", "up", "down", "bfly"),),
    traits=CONVERGENT,
    members=0,
)
VOTE = _op(
    "vote",
    operands=(_LANES, "i1"),
    results=("T",),
    attributes=(one_of("kind", "any", "all", "uni", "ballot"),),
    traits=CONVERGENT_UNIFORM,
    members=0,
)
REDUCE = _op(
    "reduce",
    operands=("T", _LANES),
    results=("T",),
    attributes=(one_of("kind", *_REDUCTIONS),),
    traits=CONVERGENT_UNIFORM,
    members=1,
)
MATCH = _op("match", operands=(_LANES, "T"), results=(_LANES,), traits=CONVERGENT, members=0)
ELECT = _op("elect", results=("i1",), traits=CONVERGENT)
SYNC_WARP = _op("sync_warp", operands=(_LANES,), traits=Traits(Scope.WARP, collective=True, suspends=True), members=0)

# barriers -------------------------------------------------------------------------------------------------------------
BARRIER = _op("barrier", operands=("i32", "i32?"), traits=BLOCK_BARRIER)
BARRIER_ARRIVE = _op("barrier_arrive", operands=("i32", "i32"), traits=Traits(Scope.BLOCK, collective=True))

# copies ---------------------------------------------------------------------------------------------------------------
ASYNC_COPY = _op(
    "async_copy",
    operands=(_SHARED, _GLOBAL, "i32?"),
    attributes=("size", one_of("cache", "all", "global")),
    traits=Traits(Scope.BLOCK, reads=True, writes=True),
    read_only=(1,),
)
ASYNC_COMMIT = _op("async_commit", traits=ONCE)
ASYNC_WAIT = _op("async_wait", attributes=("groups",), traits=Traits(suspends=True))
PREFETCH = _op("prefetch", operands=("T",), traits=ONCE, read_only=(0,))

# grids ----------------------------------------------------------------------------------------------------------------
AWAIT_PREVIOUS_GRID = _op("await_previous_grid", traits=Traits(Scope.GRID, suspends=True))
LAUNCH_DEPENDENTS = _op("launch_dependents", traits=Traits(Scope.GRID, repeatable=False))

# time -----------------------------------------------------------------------------------------------------------------
CLOCK = _op("clock", results=("T",), traits=OF_THE_MOMENT)
GLOBAL_TIMER = _op("global_timer", results=("i64",), traits=OF_THE_MOMENT)
SLEEP = _op("sleep", operands=("i32",), traits=ONCE)

# ranks ----------------------------------------------------------------------------------------------------------------
IS_MULTICAST = _op("is_multicast", operands=("i64",), results=("i1",), pure=True, traits=COMPUTES)
MULTICAST_RANKS = _op("multicast_ranks", results=("i32",), traits=ONCE)
MULTICAST_STRIDE = _op("multicast_stride", results=("i64",), pure=True, traits=COMPUTES)

# numbers --------------------------------------------------------------------------------------------------------------
DIVISOR = _op("divisor", operands=("T",), results=("T",), pure=True, traits=COMPUTES)


# mbarriers ------------------------------------------------------------------------------------------------------------
def _has_rank(operation: Operation) -> bool:
    return len(operation.operands) == len(MBARRIER_ARRIVE.spec.operands)


_counting = partial(_op, operands=(_SHARED, "i32", "i32?"), traits=COUNTED, of_mbarrier=True, leaves_block=_has_rank)
"""An update of an mbarrier, or of the one at the same place of the block that the last operand names."""

MBARRIER_INIT = _op(
    "mbarrier_init", operands=(_SHARED, "i32"), traits=COUNTED, of_mbarrier=True, says="makes an mbarrier"
)
MBARRIER_ARRIVE = _counting("mbarrier_arrive", says="arrives at an mbarrier")
MBARRIER_EXPECT = _counting("mbarrier_expect", says="expects bytes at an mbarrier")
MBARRIER_ARRIVE_EXPECT = _counting("mbarrier_arrive_expect", says="arrives at an mbarrier")
MBARRIER_COMPLETE = _counting("mbarrier_complete", says="counts bytes at an mbarrier")
MBARRIER_WAIT = _op(
    "mbarrier_wait", operands=(_SHARED, "i32"), traits=AWAITS, of_mbarrier=True, says="waits for an mbarrier"
)
MBARRIER_TEST = _op(
    "mbarrier_test",
    operands=(_SHARED, "i32"),
    results=("i1",),
    traits=Traits(Scope.CLUSTER, reads=True, writes=True, result=Result.OF_THE_MOMENT, repeatable=False),
    of_mbarrier=True,
    says="looks at an mbarrier",
)
MBARRIER_FENCE = _op("mbarrier_fence", traits=COUNTED)
ASYNC_ARRIVE = _op("async_arrive", operands=(_SHARED,), traits=COUNTED, of_mbarrier=True, says="arrives at an mbarrier")

# groups of TMA stores, and the fence of their proxy -------------------------------------------------------------------
ASYNC_FENCE = _op(
    "async_fence", attributes=(one_of("space", "shared", "global", "all"),), traits=COUNTED, says="fences"
)
BULK_COMMIT = _op("bulk_commit", traits=ONCE, says="closes a group of stores")
BULK_WAIT = _op(
    "bulk_wait", attributes=("groups", one_of("kind", "all", "read")), traits=AWAITS, says="waits for stores"
)


# clusters -------------------------------------------------------------------------------------------------------------
def _always(operation: Operation) -> bool:
    return True


CLUSTER_ARRIVE = _op(
    "cluster_arrive",
    attributes=(one_of("order", "release", "relaxed"),),
    traits=COUNTED,
    leaves_block=_always,
    says="arrives at the barrier of the cluster",
)
CLUSTER_WAIT = _op("cluster_wait", traits=AWAITS, leaves_block=_always, says="waits for the cluster")
CLUSTER_ADDRESS = _op(
    "cluster_address", operands=(_SHARED, "i32"), results=(_CLUSTER,), traits=COMPUTES, leaves_block=_always
)
STORE_ASYNC = _op(
    "store_async",
    operands=(_CLUSTER, "T", _CLUSTER),
    traits=ASYNC_TRANSFER,
    leaves_block=_always,
    says="begins to store",
)

# registers ------------------------------------------------------------------------------------------------------------
SET_REGISTERS = _op("set_registers", attributes=(one_of("kind", "increase", "decrease"), "count"), traits=ONCE)
